// Package storage holds the bytes of arrays, in host memory, mapped files or the
// memory of a device, and copies arrays between them.
//
// It does no arithmetic. Element types belong to package dtype, shapes and strides to
// package views, files of named arrays to package serialize.
//
// # Lifetimes
//
// An [Array] keeps its storage alive, and a storage its resources: memory is not
// reused and a file not unmapped while an array refers to it. Nothing has to be closed
// for safety; after closing early, reads return an error of kind [ErrState]. Memory from a [Pool] is the exception: it is reused once it is put
// back, and reading or writing an array that still shows it is an error as well.
package storage

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A Storage is a number of bytes on one device. Many arrays may share it.
//
// A Storage may implement more: [Host] if Go can address its bytes, [Addressed] if
// a device can, [Source] if they have to be read or decoded first, [Versioned] if
// it counts changes, [Recyclable] if its memory can be reused by another Storage.
// Storages are compared with ==, so implementations are pointers.
type Storage interface {
	Len() int // in bytes
	Device() Device
}

// Host is a Storage whose bytes Go can read and write in place.
type Host interface {
	Storage
	Bytes() []byte
}

// Addressed is a Storage at a known address of its device's memory, by which overlaps
// are detected.
type Addressed interface {
	Storage
	Address() uint64
}

// Source is a Storage that produces elements on demand, such as a chunked and
// compressed HDF5 dataset. It is addressed as if it were stored row-major.
type Source interface {
	Storage
	// ReadView writes the elements that v selects to dst, in row-major order. It is
	// safe for use by several goroutines, checks that v is in range, and keeps neither
	// dst nor v.
	ReadView(dst []byte, t dtype.Type, v views.View) error
}

// Versioned is a Storage that counts its changes, so that code that relies on its
// elements can tell whether they are still the same.
type Versioned interface {
	Storage
	Version() uint64
	BumpVersion() // must be called after elements were changed
}

// A Device allocates storages. Some devices only hold data, such as files; those that
// compute implement kernels.Runner.
type Device interface {
	String() string // "cpu", "cuda:0", "file:train.h5"
	// Alloc returns size bytes, aligned for every type; their content is undefined.
	Alloc(size int) (Storage, error)
	// Upload and Download copy bytes between host memory and a storage of this device.
	// The host memory may be reused when they return.
	Upload(dst Storage, offset int, src []byte) error
	Download(dst []byte, src Storage, offset int) error
	Sync() error // waits for all work issued so far
}

// An Array is elements of one type, laid out by a view over a storage. Files contain
// arrays, kernels compute on them, and tensors wrap them.
type Array struct {
	Data Storage
	Type dtype.Type
	views.View
}

// With returns the array with the same storage and the view v.
func (a Array) With(v views.View) Array {
	a.View = v
	return a
}

// String describes a without its elements: "float32[2 3] on cpu".
func (a Array) String() string {
	if a.Data == nil {
		return fmt.Sprintf("%v%v nowhere", a.Type, a.Shape)
	}
	return fmt.Sprintf("%v%v on %v", a.Type, a.Shape, a.Data.Device())
}

// NBytes returns how many bytes the elements take, as NumPy's nbytes: those of a's storage may be
// fewer or more.
func (a Array) NBytes() int { return a.Len() * a.Type.Size() }

// Make allocates a row-major array on d. Its content is undefined.
func Make(d Device, t dtype.Type, shape ...int) (Array, error) {
	if !t.Valid() {
		return Array{}, fmt.Errorf("array of %v: %w", t, dtype.ErrType)
	}
	v, err := views.New(shape, math.MaxInt/t.Size())
	if err != nil {
		return Array{}, fmt.Errorf("array of %v: %w", t, err)
	}
	data, err := d.Alloc(v.Len() * t.Size())
	if err != nil {
		return Array{}, fmt.Errorf("%v%v on %v: %w", t, v.Shape, d, err)
	}
	return Array{data, t, v}, nil
}

// From returns a row-major array that shares elems. It panics if they do not
// fill the shape.
func From[T dtype.Go](elems []T, shape ...int) Array {
	a := Array{Wrap(dtype.Bytes(elems)), dtype.Of[T](), views.Of(shape...)}
	if a.Len() != len(elems) {
		panic(fmt.Sprintf("storage: %d elements do not fill %v", len(elems), shape))
	}
	return a
}

// Elements returns all elements of a's storage, which a's positions index. It
// shares them: they are valid as long as the storage is, which is until the end of
// the step for memory of a step. It panics if they are not in host memory, not of
// type T, or if the memory was recycled.
func Elements[T dtype.Go](a Array) []T {
	if err := CheckAlive(a.Data); err != nil {
		panic(fmt.Sprintf("storage: elements of %v: %v", a, err))
	}
	if a.Type != dtype.Of[T]() {
		panic(fmt.Sprintf("storage: %v seen as %v", a, dtype.Of[T]()))
	}
	return dtype.Cast[T](a.Data.(Host).Bytes())
}

// Bytes returns the bytes of a's elements, sharing them, if a is contiguous and
// in host memory that was not recycled: as [Array.To] of [CPU] makes it.
func (a Array) Bytes() ([]byte, bool) {
	host, ok := a.Data.(Host)
	if !ok || !a.Contiguous() || CheckAlive(a.Data) != nil {
		return nil, false
	}
	n := a.NBytes()
	if n == 0 {
		return nil, true
	}
	return host.Bytes()[a.Offset*a.Type.Size():][:n:n], true
}

// Read returns a copy of a's elements, row-major, wherever they live, converted
// to T as [dtype.ConvertChecked] does: an element that T cannot hold is an error.
// [Array.CopyTo] converts without that check.
func Read[T dtype.Go](a Array) ([]T, error) {
	t := dtype.Of[T]()
	v, err := views.New(a.Shape, math.MaxInt/t.Size())
	if err == nil {
		err = fits(v.Len() * t.Size())
	}
	if err == nil {
		elems := make([]T, v.Len())
		if err = a.copyTo(Array{Wrap(dtype.Bytes(elems)), t, v}, dtype.ConvertChecked); err == nil {
			return elems, nil
		}
	}
	return nil, acting(err, "read %v%v as %v", a.Type, a.Shape, t)
}
