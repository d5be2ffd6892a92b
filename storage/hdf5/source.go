package hdf5

import (
	"errors"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/parallel"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// A source reads the elements of a dataset that a view selects. If elements are arrays,
// their axes come after those of the dataset.
type source struct {
	d *Dataset
	conversion
	shape        []int // of the dataset and its elements
	stride       []int // in bytes, along the axes of an element
	memberOffset int   // of the number in an element
	count        int   // of numbers
	bytes        int   // of the dataset
}

// newSource returns a source of the numbers that n converts, at an offset in each element.
func (d *Dataset) newSource(n conversion, at int) (*source, error) {
	if d.Shape == nil {
		return nil, errors.New("has no elements (null dataspace)")
	}
	s := &source{d: d, conversion: n, memberOffset: at, shape: slices.Concat(d.Shape, n.dims)}
	if err := format.CheckShape(max(d.Type.Size, n.to.Size()), s.shape...); err != nil {
		return nil, err
	}
	s.count, _ = format.Product(s.shape...)
	s.bytes = d.Type.Size * views.Of(d.Shape...).Len()
	s.stride = make([]int, len(n.dims))
	step := n.size
	for axis := len(n.dims) - 1; axis >= 0; axis-- {
		s.stride[axis] = step
		step *= n.dims[axis]
	}
	return s, d.checkReadable()
}

// checkReadable returns an error if the elements cannot be read.
func (d *Dataset) checkReadable() error {
	switch {
	case d.layout.class == layoutVirtual:
		return d.checkSources()
	case len(d.External) > 0:
		_, err := d.file.resolveName(d.External[0].Name)
		return err
	case d.layout.class == layoutChunked:
		return nil
	}
	size, err := format.Product(append([]int{d.Type.Size}, d.Shape...)...)
	switch {
	case err != nil:
		return err
	case d.layout.class == layoutCompact && len(d.layout.data) < size:
		return fmt.Errorf("%d bytes stored of %d", len(d.layout.data), size)
	case d.layout.class == layoutCompact || d.layout.address == undefined:
		return nil
	case d.layout.size >= 0 && d.layout.size < size:
		return fmt.Errorf("%d bytes stored of %d", d.layout.size, size)
	}
	_, err = d.file.span(d.layout.address, size)
	return err
}

// Array returns the dataset's numbers as an array that reads them on demand. Bools are
// those of h5py; compounds of r and i are complex numbers; enums and bitfields are
// integers. If elements are arrays, their axes come after those of the dataset.
func (d *Dataset) Array() (storage.Array, error) { return d.array(d.Path, d.Type, 0) }

// Member returns one member of a dataset of compounds as an array.
func (d *Dataset) Member(name string) (storage.Array, error) {
	k := slices.IndexFunc(d.Type.Members, func(m Member) bool { return m.Name == name })
	if k < 0 {
		return storage.Array{}, d.file.fail(d.Path, fmt.Errorf("no member %q in %v: %w", name, d.Type, dtype.ErrType))
	}
	return d.array(d.Path+"."+name, d.Type.Members[k].Type, d.Type.Members[k].Offset)
}

// array returns the numbers of a type at an offset of each element.
func (d *Dataset) array(path string, t *Type, at int) (storage.Array, error) {
	n, err := t.conversion()
	var s *source
	if err == nil {
		s, err = d.newSource(n, at)
	}
	if err != nil {
		return storage.Array{}, d.file.fail(path, err)
	}
	return storage.Array{Data: s.arrayStorage(), Type: n.to, View: views.Of(s.shape...)}, nil
}

// View returns the view of all elements, from which smaller ones can be sliced.
func (d *Dataset) View() views.View { return views.Of(d.Shape...) }

// Raw returns the elements that v selects as they are stored.
func (d *Dataset) Raw(v views.View) ([]byte, error) {
	size, err := format.Product(v.Len(), d.Type.Size)
	if err == nil {
		_, err = d.newSource(conversion{size: d.Type.Size}, 0) // which finds that elements are missing
	}
	if err == nil {
		stored, unknown := d.Backing()
		if err = unknown; err == nil {
			err = d.file.options.Budget.Allocate(size, stored)
		}
	}
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	dst := make([]byte, size)
	return dst, d.ReadRaw(dst, v)
}

// ReadRaw reads the elements that v selects, as they are stored, into dst.
func (d *Dataset) ReadRaw(dst []byte, v views.View) error {
	s, err := d.newSource(conversion{size: d.Type.Size}, 0)
	if err != nil {
		return d.file.fail(d.Path, err)
	}
	if !v.Within(s.count) || len(dst) < v.Len()*s.size {
		return d.file.fail(d.Path, fmt.Errorf("view of %v into %d bytes, of shape %v: %w", v.Shape, len(dst), d.Shape, views.ErrShape))
	}
	return s.read(dst, v)
}

// Len implements [storage.Storage].
func (s *source) Len() int { return s.count * s.elemSize() }

var _ storage.Filled = (*source)(nil)

// FillValue implements [storage.Filled].
func (s *source) FillValue(v views.View) ([]byte, bool) {
	if s.to == dtype.Invalid || len(s.dims) > 0 || v.Len() == 0 || !v.Within(s.count) || !s.unwritten(v) {
		return nil, false
	}
	element := make([]byte, s.to.Size())
	if s.d.Fill == nil {
		return element, true
	}
	s.write(element, s.d.Fill[s.memberOffset:][:s.size])
	return element, true
}

// unwritten reports whether no element of v is stored. It returns false for views that are not one
// box of a dataset with some stored chunks.
func (s *source) unwritten(v views.View) bool {
	if s.d.unwritten() {
		return true
	}
	if s.d.layout.class != layoutChunked {
		return false
	}
	index, err := s.d.index()
	for part, box := range views.Boxes(v, v, s.shape) {
		return err == nil && part.Len() == v.Len() && !index.storedWithin(s.d.chunkBounds(box))
	}
	return false
}

// chunkBounds returns the coordinates, in chunks, of the first and the last chunk of a box along each axis.
func (d *Dataset) chunkBounds(b views.Box) (first, last []int) {
	for axis, size := range d.Chunks {
		first = append(first, b.Start[axis]/size)
		last = append(last, (b.Start[axis]+(b.Count[axis]-1)*b.Step[axis])/size)
	}
	return first, last
}

// elemSize returns the size of an element in memory.
func (s *source) elemSize() int {
	if s.to == dtype.Invalid {
		return s.size // raw
	}
	return s.to.Size()
}

// Device implements [storage.Storage].
func (s *source) Device() storage.Device { return storage.File(s.d.file.name) }

// ReadView implements [storage.Source]. It reads only the chunks with selected elements.
func (s *source) ReadView(dst []byte, t dtype.Type, v views.View) error {
	switch {
	case t != s.to:
		return s.d.file.fail(s.d.Path, fmt.Errorf("read as %v, is %v: %w", t, s.to, dtype.ErrType))
	case !v.Within(s.count) || len(dst) < v.Len()*s.elemSize():
		return s.d.file.fail(s.d.Path, fmt.Errorf("view of %v into %d bytes, of %v: %w", v.Shape, len(dst), s.shape, views.ErrShape))
	}
	return s.read(dst, v)
}

func (s *source) read(dst []byte, v views.View) error {
	err := s.readTo(dst, views.Of(v.Shape...), v)
	if s.d.file.closed.Load() { // before or during the read
		err = errClosed
	}
	if err != nil {
		return s.d.file.fail(s.d.Path, err)
	}
	return nil
}

// readTo reads the elements that v selects to where a view of the same shape selects them in dst.
func (s *source) readTo(dst []byte, to, v views.View) error {
	for part, box := range views.Boxes(v, to, s.shape) {
		if err := s.readBox(dst, transfer{box, part}); err != nil {
			return err
		}
	}
	return nil
}

func (s *source) readBox(dst []byte, p transfer) error {
	if err := s.d.file.err(); err != nil {
		return err
	}
	switch {
	case s.d.layout.class == layoutChunked:
		return s.readChunks(dst, p)
	case s.d.layout.class == layoutVirtual:
		return s.readVirtual(dst, p)
	case len(s.d.External) > 0:
		return s.readBuffered(dst, p, s.d.readExternal)
	}
	from := s.viewOf(p.from)
	switch l := s.d.layout; {
	case l.class == layoutCompact:
		s.gather(dst, l.data, p.to, from)
		return nil
	case l.address == undefined:
		s.writeFill(dst, p)
		return nil
	case s.d.file.file == nil:
		return s.readBuffered(dst, p, func(buf []byte, at int) error { return s.d.file.readAt(buf, l.address+uint64(at)) })
	default:
		return s.readContiguous(dst, p.to, from)
	}
}

// readContiguous reads a view of a mapped contiguous dataset, in bytes, in parallel.
func (s *source) readContiguous(dst []byte, to, from views.View) error {
	axis := slices.IndexFunc(to.Shape, func(n int) bool { return n > 1 })
	if axis < 0 {
		at := from.Offset
		from.Offset = 0
		return s.copyStored(dst, s.d.layout.address+uint64(at), s.size, to, from)
	}
	n := to.Shape[axis]
	jobs := s.workers(n, to.Len())
	return parallel.Do(jobs, jobs, func(job int) error {
		first, end := n*job/jobs, n*(job+1)/jobs
		to, from := to.Narrow(axis, first, end), from.Narrow(axis, first, end)
		lo, hi := from.Bounds()
		from.Offset -= lo
		return s.copyStored(dst, s.d.layout.address+uint64(lo), hi-lo+s.size, to, from)
	})
}

// Consecutive bytes are read by system calls from a number on: that is no slower than copying them from the mapping, whose
// pages would then count as memory of the process. Of a dataset that is too large to stay mapped, they are read so from a page
// on, because its pages would be mapped again each time. So are datasets that are read as a whole: a file of many small ones
// would be in memory as a whole, too.
const (
	largeRead = 64 << 10
	pageRead  = 4 << 10
)

// readsBySystemCall reports whether n consecutive bytes are not copied from the mapping.
func (s *source) readsBySystemCall(n, elements int) bool {
	return n >= largeRead || elements == s.count || n >= pageRead && s.bytes > maxMapped
}

// copyStored copies elements from n bytes of the file at an address, which are stored there
// without filters.
func (s *source) copyStored(dst []byte, address uint64, n int, to, from views.View) error {
	read := from.Len() * s.size
	if !contiguous(from, s.size) || !contiguous(to, 1) || !s.readsBySystemCall(read, from.Len()) {
		m, err := s.d.file.mapped(address, n)
		if err != nil {
			return err
		}
		return m.Scan(int64(s.d.header.address), s.bytes, n, func(b []byte) error {
			s.gather(dst, b, to, from)
			return nil
		})
	}
	all, err := s.d.file.mapping.of(s.d.file.file)
	if err != nil {
		return err
	}
	all.ReleaseReadInOrder(int64(s.d.header.address), read)
	address += uint64(from.Offset)
	size := s.elemSize()
	dst = dst[to.Offset*size:][:to.Len()*size]
	if s.convert == nil {
		return s.d.file.readAt(dst, address)
	}
	most := max(1, largeRead/s.size) * s.size
	buffer := scratch.Get(min(most, read))
	defer scratch.Put(buffer)
	for at := 0; at < read; at += most {
		b := buffer[:min(most, read-at)]
		if err := s.d.file.readAt(b, address+uint64(at)); err != nil {
			return err
		}
		s.convert(dst[at/s.size*size:][:len(b)/s.size*size], b)
	}
	return nil
}

// viewOf returns the view of a box in bytes of the whole dataset.
func (s *source) viewOf(b views.Box) views.View {
	return b.Of(views.View{Offset: s.memberOffset, Stride: s.byteStrides(s.d.Shape)})
}

// byteStrides returns the strides, in bytes, of a dataset or chunk of a shape, and of its elements.
func (s *source) byteStrides(shape []int) []int {
	strides := slices.Concat(shape, s.stride)
	unit := s.d.Type.Size
	for axis := len(shape) - 1; axis >= 0; axis-- {
		strides[axis] = unit
		unit *= shape[axis]
	}
	return strides
}
