// Package storage is where bytes live: host memory, a mapped file, a GPU.
package storage

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// A Storage is a run of bytes on one device. Many arrays may view it.
//
// A Storage may implement more: [Host] if Go can address its bytes, [Source]
// if they have to be fetched or decoded first.
type Storage interface {
	Len() int // in bytes
	Device() Device
}

// Host is a Storage whose bytes Go can read and write in place.
type Host interface {
	Storage
	Bytes() []byte
}

// Source is a Storage that produces elements on demand, such as a chunked and
// compressed HDF5 dataset. It is addressed as if it were stored row-major.
type Source interface {
	Storage
	// ReadView writes the elements v selects to dst, in v's row-major order.
	ReadView(dst []byte, t dtype.Type, v views.View) error
}

// A Device owns storages. It may only hold data, as a file does; one that can
// also compute implements kernels.Runner.
type Device interface {
	String() string // "cpu", "cuda:0", "file:train.h5"
	Alloc(size int) (Storage, error)
	// Upload and Download move bytes between host memory and a storage of this device.
	Upload(dst Storage, offset int, src []byte) error
	Download(dst []byte, src Storage, offset int) error
	Sync() error // waits for everything issued so far
}

// An Array is elements of one type, laid out by a view over a storage.
// It is what files hold, kernels compute on and tensors wrap.
type Array struct {
	Data Storage
	Type dtype.Type
	views.View
}

// With returns the array that sees the same storage through v.
func (a Array) With(v views.View) Array {
	a.View = v
	return a
}

func (a Array) String() string {
	return fmt.Sprintf("%v%v on %v", a.Type, a.Shape, a.Data.Device())
}

// Make allocates a row-major array on d.
func Make(d Device, t dtype.Type, shape ...int) (Array, error) {
	v := views.Of(shape...)
	data, err := d.Alloc(v.Len() * t.Size())
	return Array{data, t, v}, err
}

// From returns a row-major array that shares elems.
func From[T dtype.Go](elems []T, shape ...int) Array {
	a := Array{hostOf(elems), dtype.Of[T](), views.Of(shape...)}
	if a.Len() != len(elems) {
		panic(fmt.Sprintf("storage: %d elements do not fill %v", len(elems), shape))
	}
	return a
}

// Elements returns all elements of a's storage, which a's positions index.
func Elements[T dtype.Go](a Array) []T {
	return dtype.Cast[T](a.Data.(Host).Bytes())
}
