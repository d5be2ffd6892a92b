package storage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// The sizes of buffers, in bytes, through which elements are converted or read: what
// fits into a cache, what makes the cost of each request to a file small, and what does so
// for a device and for files that are read in another order.
const (
	smallBlock  = 256 << 10
	mediumBlock = 4 << 20
	largeBlock  = 16 << 20
)

// To copies the elements a selects, and only those, to d, laid out row-major.
// An array already there and row-major is returned as it is.
func (a Array) To(d Device) (Array, error) {
	if d == nil {
		return Array{}, fmt.Errorf("move %v%v: no device; want one, such as storage.CPU: %w", a.Type, a.Shape, ErrDevice)
	}
	err := CheckAlive(a.Data)
	if err == nil && a.Len() == 0 {
		a.View, err = views.New(a.Shape, 0) // an empty view may have any offset
	}
	if err == nil && a.Data.Device() == d && a.Contiguous() {
		return a, nil
	}
	if d == CPU {
		d = uninitialized{}
	}
	var moved Array
	if err == nil {
		moved, err = Make(d, a.Type, a.Shape...)
	}
	if err == nil {
		err = a.transfer(moved, dtype.Convert)
	}
	if err != nil {
		return Array{}, acting(err, "move %v%v to %v", a.Type, a.Shape, d)
	}
	return moved, nil
}

// CopyTo writes a's elements to dst, whose memory the caller owns: equally
// shaped, of any layout, on any device, and converted to dst's type as
// [dtype.Convert] and NumPy's astype do: integers out of range wrap, fractions are
// cut off. The two may overlap.
//
// A dst on a device that is neither [CPU] nor a [Peer] must be contiguous.
func (a Array) CopyTo(dst Array) error {
	if err := a.copyTo(dst, dtype.Convert); err != nil {
		return acting(err, "copy %v%v to %v%v", a.Type, a.Shape, dst.Type, dst.Shape)
	}
	return nil
}

// buffers are those that elements went through, until the next garbage collection but one.
var buffers sync.Pool // of *[]byte

// borrow returns n bytes of undefined content, to be given back.
func borrow(n int) []byte {
	if b, _ := buffers.Get().(*[]byte); b != nil && cap(*b) >= n {
		return (*b)[:n]
	}
	return make([]byte, n)
}

func giveBack(b []byte) { buffers.Put(&b) }

// A converter is [dtype.Convert] or [dtype.ConvertChecked].
type converter func(dst []byte, to dtype.Type, src []byte, from dtype.Type) error

func (a Array) copyTo(dst Array, convert converter) error {
	if err := cmp.Or(CheckAlive(a.Data), CheckAlive(dst.Data)); err != nil {
		return err
	}
	switch {
	case !slices.Equal(a.Shape, dst.Shape):
		return fmt.Errorf("shapes differ; broadcast or slice one first: %w", views.ErrShape)
	case dst.MayOverlapItself():
		return fmt.Errorf("elements share memory, as after broadcasting or in overlapping windows; they cannot be written: %w", views.ErrShape)
	case a.Overlaps(dst):
		copied, err := a.packed()
		if err != nil {
			return err
		}
		return copied.transfer(dst, convert)
	}
	return a.transfer(dst, convert)
}

// Overlaps reports whether writing to dst may change elements of a.
func (a Array) Overlaps(dst Array) bool {
	x, here := address(a.Data)
	y, there := address(dst.Data)
	switch {
	case a.Len() == 0 || here != there:
		return false
	case here != nil && (x+uint64(a.Data.Len()) <= y || y+uint64(dst.Data.Len()) <= x):
		return false
	case here == nil:
		return a.Data == dst.Data
	}
	from, to := a.Type.Size(), dst.Type.Size()
	if apart := int(y - x); from == to && apart%to == 0 {
		dst.Offset += apart / to
		return views.Overlap(a.View, dst.View)
	}
	aLo, aHi := a.Bounds()
	dLo, dHi := dst.Bounds()
	return x+uint64(aLo*from) < y+uint64((dHi+1)*to) && y+uint64(dLo*to) < x+uint64((aHi+1)*from)
}

// address returns the address of a storage and the memory that it is in, or nil if
// that is unknown.
func address(s Storage) (at uint64, memory Device) {
	switch s := s.(type) {
	case Host:
		return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(s.Bytes())))), CPU
	case Addressed:
		return s.Address(), s.Device()
	}
	return 0, nil
}

// packed returns a contiguous copy of a, on its device if that can copy, or else in
// host memory.
func (a Array) packed() (Array, error) {
	var d Device = uninitialized{}
	if peer, ok := a.Data.Device().(Peer); ok {
		d = peer
	}
	p, err := Make(d, a.Type, a.Shape...)
	if err == nil {
		err = a.transfer(p, dtype.Convert)
	}
	return p, err
}

// transfer copies a to dst, which has a's shape and does not overlap it.
func (a Array) transfer(dst Array, convert converter) error {
	if !a.Type.Valid() || !dst.Type.Valid() {
		return dtype.ErrType
	}
	if !a.Within(a.Data.Len() / a.Type.Size()) {
		return fmt.Errorf("the view reaches outside %d bytes: %w", a.Data.Len(), views.ErrShape)
	}
	if !dst.Within(dst.Data.Len() / dst.Type.Size()) {
		return fmt.Errorf("the view written through reaches outside %d bytes: %w", dst.Data.Len(), views.ErrShape)
	}
	if a.Len() == 0 {
		a.Offset, dst.Offset = 0, 0 // an empty view may have any
	}
	defer dst.BumpVersion()
	if a.Type == dst.Type {
		if done, err := a.direct(dst); done {
			return err
		}
	}
	block := largeBlock
	switch {
	case isHost(a) && isHost(dst):
		block = smallBlock
	case isHost(dst):
		block = mediumBlock
	}
	most := min(a.Len(), block/max(a.Type.Size(), dst.Type.Size()))
	buffer := borrow(most * a.Type.Size())
	defer giveBack(buffer)
	same := a.Type == dst.Type
	var converted []byte
	if !same {
		converted = borrow(most * dst.Type.Size())
		defer giveBack(converted)
	}
	for part, into := range parts(a.View, dst.View, most) {
		from := buffer[:part.Len()*a.Type.Size()]
		if err := a.With(part).read(from); err != nil {
			return err
		}
		to := from
		if !same {
			to = converted[:part.Len()*dst.Type.Size()]
			if err := convert(to, dst.Type, from, a.Type); err != nil {
				return err
			}
		}
		if err := dst.With(into).write(to); err != nil {
			return err
		}
	}
	return nil
}

func isHost(a Array) bool {
	_, ok := a.Data.(Host)
	return ok
}

// direct copies a to dst of the same type without a buffer, if possible.
func (a Array) direct(dst Array) (done bool, err error) {
	size := a.Type.Size()
	to, toHost := dst.Data.(Host)
	from, fromHost := a.Data.(Host)
	switch {
	case toHost && dst.Contiguous():
		return true, a.read(to.Bytes()[dst.Offset*size:][:a.Len()*size])
	case toHost && fromHost:
		transpose(to.Bytes(), dst.View, from.Bytes(), a.View, size)
		return true, nil
	case fromHost && a.Contiguous() && dst.Contiguous():
		return true, dst.Data.Device().Upload(dst.Data, dst.Offset*size, from.Bytes()[a.Offset*size:][:a.Len()*size])
	case !fromHost && !toHost:
		return a.copyPeers(dst)
	}
	return false, nil
}

// A sourceError is the error of a Source, which names the file and the data itself.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// acting returns an error with the act in front, or as it is if it is the error of a Source.
func acting(err error, format string, args ...any) error {
	if source, ok := err.(*sourceError); ok {
		return source.error
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}

// read writes a's elements to dst, in row-major order.
func (a Array) read(dst []byte) error {
	switch data := a.Data.(type) {
	case Source:
		if err := data.ReadView(dst, a.Type, a.View); err != nil {
			return &sourceError{err}
		}
		return nil
	case Host:
		Gather(dst, data.Bytes(), a.Type, a.View)
		return nil
	}
	return a.download(dst)
}

// download reads the range of a device's memory that a spans, and gathers the elements
// that a selects; it reads in parts if most of the range is not needed.
func (a Array) download(dst []byte) error {
	size := a.Type.Size()
	if a.Contiguous() {
		return a.Data.Device().Download(dst, a.Data, a.Offset*size)
	}
	lo, hi := a.Bounds()
	span := (hi - lo + 1) * size
	if span > smallBlock && span > 2*a.Len()*size && a.Len() > 1 {
		for part := range parts(a.View, a.View, (a.Len()+1)/2) {
			n := part.Len() * size
			if err := a.With(part).download(dst[:n]); err != nil {
				return err
			}
			dst = dst[n:]
		}
		return nil
	}
	buffer := make([]byte, span)
	if err := a.Data.Device().Download(buffer, a.Data, lo*size); err != nil {
		return err
	}
	v := a.View
	v.Offset -= lo
	Gather(dst, buffer, a.Type, v)
	return nil
}

// write writes elements given in row-major order to a.
func (a Array) write(src []byte) error {
	if host, ok := a.Data.(Host); ok {
		Scatter(host.Bytes(), src, a.Type, a.View)
		return nil
	}
	if !a.Contiguous() {
		return a.spread(src)
	}
	return a.Data.Device().Upload(a.Data, a.Offset*a.Type.Size(), src)
}

// parts yields corresponding parts of two views of the same shape, of at most n
// elements each, in row-major order.
func parts(v, w views.View, n int) func(yield func(v, w views.View) bool) {
	return func(yield func(v, w views.View) bool) { halve(v, w, max(1, n), yield) }
}

func halve(v, w views.View, n int, yield func(v, w views.View) bool) bool {
	if v.Len() <= n {
		return v.Len() == 0 || yield(v, w)
	}
	axis := slices.IndexFunc(v.Shape, func(size int) bool { return size > 1 })
	half, size := v.Shape[axis]/2, v.Shape[axis]
	return halve(v.Narrow(axis, 0, half), w.Narrow(axis, 0, half), n, yield) &&
		halve(v.Narrow(axis, half, size), w.Narrow(axis, half, size), n, yield)
}

// Fill sets every element of a to x, which a's type must be able to hold; see
// [dtype.ConvertChecked].
func Fill[T dtype.Go](a Array, x T) error {
	one := make([]byte, a.Type.Size())
	err := dtype.ConvertChecked(one, a.Type, dtype.Bytes([]T{x}), dtype.Of[T]())
	if err == nil {
		constant := Array{Wrap(one), a.Type, views.Of()}
		constant.View, _ = constant.Broadcast(a.Shape...)
		err = constant.copyTo(a, dtype.Convert)
	}
	if err != nil {
		return fmt.Errorf("fill %v%v: %w", a.Type, a.Shape, err)
	}
	return nil
}

// BumpVersion counts a write to a's storage, if that is [Versioned].
func (a Array) BumpVersion() {
	if data, ok := a.Data.(Versioned); ok {
		data.BumpVersion()
	}
}

// WriteTo writes the bytes of a's elements to w, in row-major order, through a buffer
// of limited size: large enough to decode each chunk of a file once, if it can be.
func (a Array) WriteTo(w io.Writer) (int64, error) {
	if err := CheckAlive(a.Data); err != nil {
		return 0, fmt.Errorf("write %v: %w", a, err)
	}
	if b, ok := a.Bytes(); ok {
		n, err := w.Write(b)
		return int64(n), err
	}
	if !a.Type.Valid() || !a.Within(a.Data.Len()/a.Type.Size()) {
		return 0, fmt.Errorf("write %v: the view reaches outside %d bytes: %w", a, a.Data.Len(), views.ErrShape)
	}
	if b, ok := bandsOf(a, mostBand()); ok {
		return a.writeBands(w, b)
	}
	var total int64
	most := min(a.Len(), largeBlock/a.Type.Size())
	borrowed := borrow(most * a.Type.Size())
	defer giveBack(borrowed)
	for part := range parts(a.View, a.View, most) {
		buffer := borrowed[:part.Len()*a.Type.Size()]
		if err := a.With(part).read(buffer); err != nil {
			return total, fmt.Errorf("write %v%v: %w", a.Type, a.Shape, err)
		}
		n, err := w.Write(buffer)
		if total += int64(n); err != nil {
			return total, err
		}
	}
	return total, nil
}
