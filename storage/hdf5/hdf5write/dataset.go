package hdf5write

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	grid "github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A Layout describes how a dataset is stored. The zero value is contiguous: aligned to
// pages unless the dataset is tiny, so that readers can map it.
type Layout struct {
	Chunks   []int           // chunk shape; nil selects one if filters or growth require chunks
	Filters  []filter.Filter // applied to each chunk in this order
	MaxShape []int           // the largest shape, [hdf5.Unlimited] for axes without a limit; nil: the dataset cannot grow
}

func (l Layout) contiguous(shape []int) bool {
	return l.Chunks == nil && l.Filters == nil && (l.MaxShape == nil || slices.Equal(l.MaxShape, shape))
}

// Write creates a contiguous dataset with the elements of a.
func (w *Writer) Write(path string, a storage.Array) error { return w.WriteWith(path, a, Layout{}) }

// WriteWith creates a dataset with the elements of a.
func (w *Writer) WriteWith(path string, a storage.Array, layout Layout) error {
	d, err := w.CreateDataset(path, a.Type, a.Shape, layout)
	if err != nil {
		return err
	}
	if fill, ok := storage.Unwritten(a); ok && !layout.contiguous(a.Shape) && !slices.ContainsFunc(fill, func(b byte) bool { return b != 0 }) {
		return d.Close() // elements that are never written are zero
	}
	return errors.Join(d.WriteAt(make([]int, a.Rank()), a), d.Close())
}

// A DatasetWriter writes a dataset in parts, with bounded memory. Complete chunks are
// encoded in parallel and written. Partial chunks are kept until they are complete, too
// many, or the dataset is closed. Elements that are never written are zero.
type DatasetWriter struct {
	w      *Writer
	path   string
	t      dtype.Type
	size   int   // of an element in bytes
	max    []int // largest shape
	layout Layout
	id     libhdf5.ID
	offset int64 // of contiguous data in the file, or -1

	mu      sync.Mutex
	shape   []int
	rows    int                      // written by Append
	partial map[string]*partialChunk // by start
	last    lastChunk
	closed  bool
}

// CreateDataset creates a dataset that Append or WriteAt fill.
func (w *Writer) CreateDataset(path string, t dtype.Type, shape []int, layout Layout) (*DatasetWriter, error) {
	d := &DatasetWriter{w: w, path: path, t: t, size: t.Size(), shape: slices.Clone(shape), offset: -1, partial: map[string]*partialChunk{}}
	id, err := libhdf5.Type(t)
	if err == nil {
		d.layout, d.max, err = layout.complete(shape, t)
	}
	if err != nil {
		return nil, d.fail("create", err)
	}
	err = w.do("create", path, func() (err error) {
		if layout.contiguous(shape) {
			if d.id, d.offset, err = w.file.Contiguous(path, id, shape); err == nil {
				err = d.clearReused()
			}
		} else {
			d.id, err = w.file.Chunked(path, id, shape, d.max, d.layout.Chunks, filterWords(d.layout.Filters, t.Size()))
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[d] = w.number
	w.number++
	return d, nil
}

// clearReused writes zeros to the part of a contiguous dataset's place that the file already
// has: it is space that chunks had before they were stored with another size.
func (d *DatasetWriter) clearReused() error {
	info, err := d.w.out.Stat()
	if err != nil || d.offset < 0 {
		return err
	}
	end := min(info.Size(), d.offset+int64(views.Of(d.shape...).Len()*d.size))
	zeros := make([]byte, max(0, min(end-d.offset, 1<<20)))
	for at := d.offset; at < end && err == nil; at += int64(len(zeros)) {
		_, err = d.w.out.WriteAt(zeros[:min(int64(len(zeros)), end-at)], at)
	}
	return err
}

func (d *DatasetWriter) fail(act string, err error) error {
	return fmt.Errorf("%s %s: %w", act, d.path, err)
}

// filterWords encodes a pipeline for package libhdf5.
func filterWords(pipeline []filter.Filter, elemSize int) []uint32 {
	var words []uint32
	for _, f := range pipeline {
		params := f.Params
		if f.ID == filter.ShuffleID { // its parameter in the file is the element size
			params = []uint32{uint32(elemSize)}
		}
		words = append(append(words, uint32(f.ID), uint32(f.Flags), uint32(len(params))), params...)
	}
	return words
}

// complete checks a layout and fills in the chunk shape. It also returns the largest
// shape of the dataset.
func (l Layout) complete(shape []int, t dtype.Type) (Layout, []int, error) {
	for _, n := range shape {
		if n < 0 {
			return l, nil, fmt.Errorf("shape %v: %w", shape, views.ErrShape)
		}
	}
	if err := format.CheckShape(t.Size(), shape...); err != nil || len(shape) > format.MaxRank {
		return l, nil, fmt.Errorf("shape %v is too large: %w", shape, views.ErrShape)
	}
	if l.contiguous(shape) {
		return l, shape, nil
	}
	if len(shape) == 0 {
		return l, nil, fmt.Errorf("a scalar has no chunks; leave the layout empty: %w", views.ErrShape)
	}
	maxShape, err := l.maxShape(shape)
	if err != nil {
		return l, nil, err
	}
	if _, _, err := filter.Encode(make([]byte, t.Size()), l.Filters, t.Size()); err != nil {
		return l, nil, err
	}
	if l.Chunks, err = l.chunkShape(shape, maxShape, t.Size()); err != nil {
		return l, nil, err
	}
	return l, maxShape, nil
}

// maxShape returns the largest shape of the dataset.
func (l Layout) maxShape(shape []int) ([]int, error) {
	if l.MaxShape == nil {
		return shape, nil
	}
	if len(l.MaxShape) != len(shape) {
		return nil, fmt.Errorf("largest shape %v for a dataset of shape %v: %w", l.MaxShape, shape, views.ErrShape)
	}
	for axis, size := range l.MaxShape {
		if size != hdf5.Unlimited && size < shape[axis] {
			return nil, fmt.Errorf("shape %v exceeds the largest shape %v: %w", shape, l.MaxShape, views.ErrShape)
		}
	}
	return slices.Clone(l.MaxShape), nil
}

// defaultChunkBytes is the approximate size of chunks if no shape is given: some
// hundred rows of common data, decoded in well under a millisecond.
const defaultChunkBytes = 256 << 10

// chunkShape returns the given chunk shape, clipped to the largest shape of the
// dataset, or else a shape of about defaultChunkBytes, of whole rows if they fit.
func (l Layout) chunkShape(shape, maxShape []int, size int) ([]int, error) {
	limit := slices.Clone(maxShape)
	for axis, n := range limit {
		if n == hdf5.Unlimited {
			limit[axis] = math.MaxInt32
			if l.Chunks == nil && axis > 0 { // usually only the first axis grows far
				limit[axis] = max(shape[axis], 64)
			}
		}
		limit[axis] = max(1, limit[axis])
	}
	if l.Chunks == nil {
		ones := slices.Repeat([]int{1}, len(shape))
		return grid.BoxShape(limit, ones, max(1, defaultChunkBytes/max(1, size))), nil
	}
	if len(l.Chunks) != len(shape) {
		return nil, fmt.Errorf("chunks %v for a dataset of shape %v: %w", l.Chunks, shape, views.ErrShape)
	}
	for axis, n := range l.Chunks {
		if n < 1 {
			return nil, fmt.Errorf("chunks %v: %w", l.Chunks, views.ErrShape)
		}
		limit[axis] = min(limit[axis], n)
	}
	if bytes, err := format.Product(append([]int{size}, limit...)...); err != nil || bytes > math.MaxUint32 {
		return nil, fmt.Errorf("chunks %v of elements of %d bytes exceed 4 GiB: %w", l.Chunks, size, views.ErrShape)
	}
	return limit, nil
}

// Shape returns the current shape of the dataset.
func (d *DatasetWriter) Shape() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.shape)
}

// Extend enlarges the dataset, up to its largest shape.
func (d *DatasetWriter) Extend(shape ...int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.extend(shape)
}

func (d *DatasetWriter) extend(shape []int) error {
	if slices.Equal(shape, d.shape) {
		return nil
	}
	if len(shape) != len(d.shape) {
		return d.fail("extend", fmt.Errorf("from %v to %v: %w", d.shape, shape, views.ErrShape))
	}
	for axis, n := range shape {
		if n < d.shape[axis] || d.max[axis] != hdf5.Unlimited && n > d.max[axis] {
			return d.fail("extend", fmt.Errorf("from %v to %v, where at most %v was declared: %w", d.shape, shape, d.max, views.ErrShape))
		}
	}
	err := d.w.do("extend", d.path, func() error { return d.id.Extend(shape) })
	if err == nil {
		d.shape = slices.Clone(shape)
	}
	return err
}

// Append writes the rows of a after those appended before, and extends the dataset if
// they do not fit. A single row may lack the first axis.
func (d *DatasetWriter) Append(a storage.Array) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.Rank() == len(d.shape)-1 {
		a.Shape, a.Stride = append([]int{1}, a.Shape...), append([]int{0}, a.Stride...)
	}
	if a.Rank() != len(d.shape) || a.Rank() == 0 || !slices.Equal(a.Shape[1:], d.shape[1:]) {
		return d.fail("append", fmt.Errorf("rows of shape %v to a dataset of shape %v: %w", a.Shape, d.shape, views.ErrShape))
	}
	if end := d.rows + a.Shape[0]; end > d.shape[0] {
		if err := d.extend(append([]int{end}, d.shape[1:]...)); err != nil {
			return err
		}
	}
	start := make([]int, a.Rank())
	start[0] = d.rows
	if err := d.write(start, a); err != nil {
		return err
	}
	d.rows += a.Shape[0]
	return nil
}

// WriteAt writes a to the hyperslab of the dataset that begins at start.
func (d *DatasetWriter) WriteAt(start []int, a storage.Array) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.write(start, a)
}

func (d *DatasetWriter) write(start []int, a storage.Array) error {
	if err := d.check(start, a); err != nil {
		return d.fail("write", err)
	}
	if a.Len() == 0 {
		return nil
	}
	write := d.writeChunks
	if d.offset >= 0 {
		write = d.writeContiguous
	}
	if err := write(start, a); err != nil {
		return d.w.setErr(d.fail("write", err))
	}
	return nil
}

// check returns an error if a cannot be written at start.
func (d *DatasetWriter) check(start []int, a storage.Array) error {
	if d.closed {
		return fmt.Errorf("the dataset is closed: %w", storage.ErrState)
	}
	if a.Type != d.t {
		return fmt.Errorf("%v elements into a dataset of %v; convert them first: %w", a.Type, d.t, dtype.ErrType)
	}
	fits := a.Rank() == len(d.shape) && len(start) == len(d.shape)
	for axis := range start {
		fits = fits && start[axis] >= 0 && start[axis] <= d.shape[axis] && a.Shape[axis] <= d.shape[axis]-start[axis]
	}
	if !fits {
		return fmt.Errorf("an array of shape %v at %v of a dataset of shape %v: %w", a.Shape, start, d.shape, views.ErrShape)
	}
	return nil
}

// Close writes the partial chunks. [Writer.Close] closes all open datasets.
func (d *DatasetWriter) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	err := d.flush()
	closing := d.w.do("close", d.path, d.id.Close)
	d.w.mu.Lock()
	delete(d.w.open, d)
	d.w.mu.Unlock()
	return d.w.setErr(errors.Join(err, closing))
}

// writeContiguous writes a to its place in the file, in blocks.
func (d *DatasetWriter) writeContiguous(start []int, a storage.Array) error {
	place := subview(views.Of(d.shape...), start, a.Shape)
	ones := slices.Repeat([]int{1}, a.Rank())
	if a.Rank() == 0 {
		return withBytes(a, func(data []byte) error { return d.writeRuns(data, place) })
	}
	return each(slices.Collect(hyperslabs(a.Shape, ones, blockBytes/d.size)), func(b hyperslab) error {
		return withBytes(a.With(subview(a.View, b.start, b.count)), func(data []byte) error {
			return d.writeRuns(data, subview(place, b.start, b.count))
		})
	})
}

// writeRuns writes row-major elements to where v places them in the file, one
// contiguous run at a time.
func (d *DatasetWriter) writeRuns(data []byte, v views.View) (err error) {
	size := d.size
	views.Walk(func(at, step []int, n int) {
		run := n
		if step[0] != 1 { // along a column of the dataset
			run = 1
		}
		for k := 0; k < n && err == nil; k += run {
			from := at[1] + k*step[1]
			_, err = d.w.out.WriteAt(data[from*size:(from+run)*size], d.offset+int64((at[0]+k*step[0])*size))
		}
	}, v, views.Of(v.Shape...))
	return err
}
