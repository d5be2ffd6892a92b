package hdf5

// #include "shim.h"
import "C"

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"unsafe"

	h5 "gonum.org/v1/hdf5"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/views"
)

// A Layout says how a dataset is stored. The zero value is contiguous: aligned
// to pages, unless tiny, so that readers can map it.
type Layout struct {
	Chunks   []int           // shape of a chunk; nil chooses one where filters or growth need chunks
	Filters  []filter.Filter // applied to every chunk in this order: [Shuffle], [Deflate], [LZ4], [Zstd], [Fletcher32]
	MaxShape []int           // how far the dataset may grow, -1 for without end; nil for not at all
}

func (l Layout) contiguous(shape []int) bool {
	return l.Chunks == nil && l.Filters == nil && (l.MaxShape == nil || slices.Equal(l.MaxShape, shape))
}

// Write makes a contiguous dataset of a's elements.
func (w *Writer) Write(path string, a storage.Array) error { return w.WriteWith(path, a, Layout{}) }

// WriteWith makes a dataset of a's elements.
func (w *Writer) WriteWith(path string, a storage.Array, layout Layout) error {
	d, err := w.CreateDataset(path, a.Type, a.Shape, layout)
	if err != nil {
		return err
	}
	return errors.Join(d.WriteAt(make([]int, a.Rank()), a), d.Close())
}

// WriteStrings makes a dataset of UTF-8 strings of any length.
func (w *Writer) WriteStrings(path string, list []string, shape ...int) error {
	blob, err := terminated(list)
	if err == nil && views.Of(shape...).Len() != len(list) {
		err = fmt.Errorf("%d strings do not fill %v: %w", len(list), shape, views.ErrShape)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = w.call("write", path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_strings(C.int64_t(w.file.ID()), cString(path), C.int(len(shape)), sizes(shape),
			(*C.char)(pointer(blob)), C.size_t(len(blob)), msg, size)
	})
	return err
}

// A DatasetWriter fills a dataset piece by piece, in bounded memory: chunks
// that are complete are encoded, in parallel, and written; those begun are kept
// until they are complete, too many or closed. What is never written is zero.
type DatasetWriter struct {
	w      *Writer
	path   string
	t      dtype.Type
	max    []int
	layout Layout
	id     *h5.Dataset
	offset int64 // of contiguous data in the file, -1 if there is none

	mu      sync.Mutex
	shape   []int
	rows    int                      // that Append has filled
	partial map[string]*partialChunk // chunks not complete yet
	closed  bool
}

// CreateDataset makes a dataset to be filled by Append or WriteAt.
func (w *Writer) CreateDataset(path string, t dtype.Type, shape []int, layout Layout) (*DatasetWriter, error) {
	d := &DatasetWriter{w: w, path: path, t: t, shape: slices.Clone(shape), offset: -1, partial: map[string]*partialChunk{}}
	id, err := typeOf(t)
	if err == nil {
		d.layout, d.max, err = layout.fit(shape, t)
	}
	if err != nil {
		return nil, d.fail("create", err)
	}
	if layout.contiguous(shape) {
		err = d.createContiguous(id)
	} else {
		err = d.createChunked(id)
	}
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[d] = true
	return d, nil
}

func (d *DatasetWriter) fail(act string, err error) error {
	return fmt.Errorf("%s %s: %w", act, d.path, err)
}

func (d *DatasetWriter) createContiguous(t *h5.Datatype) error {
	var offset C.uint64_t
	id, err := d.w.call("create", d.path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_contiguous(C.int64_t(d.w.file.ID()), cString(d.path), C.int64_t(t.ID()),
			C.int(len(d.shape)), sizes(d.shape), &offset, msg, size)
	})
	if err != nil {
		return err
	}
	d.id = wrap[h5.Dataset](id)
	if offset != math.MaxUint64 {
		d.offset = int64(offset)
	}
	return nil
}

func (d *DatasetWriter) createChunked(t *h5.Datatype) error {
	words := filterWords(d.layout.Filters, d.t.Size())
	id, err := d.w.call("create", d.path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_chunked(C.int64_t(d.w.file.ID()), cString(d.path), C.int64_t(t.ID()),
			C.int(len(d.shape)), sizes(d.shape), sizes(d.max), sizes(d.layout.Chunks),
			(*C.uint32_t)(unsafe.Pointer(unsafe.SliceData(words))), C.size_t(len(words)), msg, size)
	})
	if err == nil {
		d.id = wrap[h5.Dataset](id)
	}
	return err
}

// filterWords flattens a pipeline as the shim takes it.
func filterWords(pipeline []filter.Filter, elemSize int) []uint32 {
	var words []uint32
	for _, f := range pipeline {
		params := f.Params
		if f.ID == filter.ShuffleID { // which says the size of elements in the file
			params = []uint32{uint32(elemSize)}
		}
		words = append(append(words, uint32(f.ID), uint32(f.Flags), uint32(len(params))), params...)
	}
	return words
}

// fit completes a layout for a dataset and checks it: the chunk shape and the
// largest shape are filled in.
func (l Layout) fit(shape []int, t dtype.Type) (Layout, []int, error) {
	for _, n := range shape {
		if n < 0 {
			return l, nil, fmt.Errorf("shape %v: %w", shape, views.ErrShape)
		}
	}
	if _, ok := product(shape, t.Size()); !ok || len(shape) > maxRank {
		return l, nil, fmt.Errorf("shape %v is too large: %w", shape, views.ErrShape)
	}
	if l.contiguous(shape) {
		return l, shape, nil
	}
	if len(shape) == 0 {
		return l, nil, fmt.Errorf("a scalar has no chunks; leave the layout empty: %w", views.ErrShape)
	}
	limits, err := l.limits(shape)
	if err != nil {
		return l, nil, err
	}
	if _, _, err := filter.Encode(make([]byte, t.Size()), l.Filters, t.Size()); err != nil {
		return l, nil, err
	}
	if l.Chunks, err = l.chunkShape(shape, limits, t); err != nil {
		return l, nil, err
	}
	return l, limits, nil
}

const maxRank = 32 // H5S_MAX_RANK

// product returns unit times all dims, and whether an int holds it.
func product(dims []int, unit int) (int, bool) {
	n := unit
	for _, size := range dims {
		if size != 0 && n > math.MaxInt/size {
			return 0, false
		}
		n *= size
	}
	return n, true
}

// limits returns the largest shape the dataset may get.
func (l Layout) limits(shape []int) ([]int, error) {
	if l.MaxShape == nil {
		return shape, nil
	}
	if len(l.MaxShape) != len(shape) {
		return nil, fmt.Errorf("largest shape %v for a dataset of shape %v: %w", l.MaxShape, shape, views.ErrShape)
	}
	for axis, most := range l.MaxShape {
		if most != -1 && most < shape[axis] {
			return nil, fmt.Errorf("shape %v exceeds the largest shape %v: %w", shape, l.MaxShape, views.ErrShape)
		}
	}
	return slices.Clone(l.MaxShape), nil
}

// chunkBytes is the size aimed at where no chunk shape is given: some hundred
// rows of common data, decoded in well under a millisecond.
const chunkBytes = 256 << 10

// chunkShape returns the chunk shape given, cut to what may be filled, or one of
// about chunkBytes that holds whole rows if they fit.
func (l Layout) chunkShape(shape, limits []int, t dtype.Type) ([]int, error) {
	room := slices.Clone(limits)
	for axis, most := range room {
		if most == -1 {
			room[axis] = math.MaxInt32
			if l.Chunks == nil && axis > 0 { // only rows are likely to come without end
				room[axis] = max(shape[axis], 64)
			}
		}
		room[axis] = max(1, room[axis])
	}
	if l.Chunks == nil {
		ones := slices.Repeat([]int{1}, len(shape))
		return blockShape(room, ones, max(1, chunkBytes/t.Size())), nil
	}
	if len(l.Chunks) != len(shape) {
		return nil, fmt.Errorf("chunks %v for a dataset of shape %v: %w", l.Chunks, shape, views.ErrShape)
	}
	for axis, n := range l.Chunks {
		if n < 1 {
			return nil, fmt.Errorf("chunks %v: %w", l.Chunks, views.ErrShape)
		}
		room[axis] = min(room[axis], n)
	}
	if bytes, ok := product(room, t.Size()); !ok || bytes > math.MaxUint32 {
		return nil, fmt.Errorf("chunks %v of %v exceed 4 GiB: %w", l.Chunks, t, views.ErrShape)
	}
	return room, nil
}

// Shape returns the dataset's shape so far.
func (d *DatasetWriter) Shape() []int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.shape)
}

// Extend changes the dataset's shape, within its largest shape.
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
		if n < d.shape[axis] || d.max[axis] != -1 && n > d.max[axis] {
			return d.fail("extend", fmt.Errorf("from %v to %v, where at most %v was declared: %w", d.shape, shape, d.max, views.ErrShape))
		}
	}
	_, err := d.w.call("extend", d.path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_extend(C.int64_t(d.id.ID()), sizes(shape), msg, size)
	})
	if err == nil {
		d.shape = slices.Clone(shape)
	}
	return err
}

// Append writes a's rows after those appended before, and extends the dataset
// where they do not fit. A single row may come without its first axis.
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

// WriteAt writes a to the box of the dataset that begins at start.
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

// Close writes what is still held back. The Writer's Close does it too.
func (d *DatasetWriter) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	err := d.flush()
	_, closing := d.w.call("close", d.path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_close(C.int64_t(d.id.ID()), msg, size)
	})
	d.w.mu.Lock()
	delete(d.w.open, d)
	d.w.mu.Unlock()
	return d.w.setErr(errors.Join(err, closing))
}

// writeContiguous copies a to its place in the file, some blocks at a time.
func (d *DatasetWriter) writeContiguous(start []int, a storage.Array) error {
	place := subview(views.Of(d.shape...), start, a.Shape)
	if a.Len() <= blockBytes/d.t.Size() {
		data, err := bytesOf(a)
		if err != nil {
			return err
		}
		return d.writeRuns(data, place)
	}
	ones := slices.Repeat([]int{1}, a.Rank())
	return parallel(hyperslabs(a.Shape, ones, blockBytes/d.t.Size()), func(b hyperslab) error {
		data, err := bytesOf(a.With(subview(a.View, b.start, b.count)))
		if err != nil {
			return err
		}
		return d.writeRuns(data, subview(place, b.start, b.count))
	})
}

// writeRuns writes row-major elements to where v has them in the file, run by run.
func (d *DatasetWriter) writeRuns(data []byte, v views.View) (err error) {
	size := d.t.Size()
	views.Walk(func(at, _ []int, n int) {
		if err == nil {
			_, err = d.w.out.File.WriteAt(data[at[1]*size:(at[1]+n)*size], d.offset+int64(at[0]*size))
		}
	}, v, views.Of(v.Shape...))
	return err
}
