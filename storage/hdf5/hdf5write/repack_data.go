package hdf5write

import (
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
	"github.com/h5dnn/h5dnn/views"
)

// fill copies the elements of a dataset.
func (r *repacker) fill(t *target) error {
	if t.Shape == nil || slices.Contains(t.Shape, 0) || t.virtual || r.w == nil && !t.Type.HasReferences() {
		return nil
	}
	var err error
	switch {
	case t.reorder != nil && r.w != nil:
		err = r.reorder(t)
	case t.verbatim:
		err = r.copyStoredChunks(t)
	case hasPointers(t.Type) || t.Dataset.Layout == "compact" && t.layout.Chunks == nil:
		err = r.copyImages(t)
	case t.layout.Chunks != nil:
		err = r.copyChunks(t)
	case t.offset >= 0:
		err = r.copyContiguous(t)
	}
	return r.fail(t.Path, err)
}

// copyStoredChunks copies chunks without decoding them.
func (r *repacker) copyStoredChunks(t *target) error {
	chunks, err := t.StoredChunks()
	if err == nil {
		err = t.CheckChunks()
	}
	if err != nil {
		return err
	}
	size, err := chunkSize(t.Dataset)
	if err != nil {
		return err
	}
	for _, c := range chunks {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.copyStored(t, c); err != nil {
			return err
		}
		r.o.Progress(t.Path, size)
	}
	return nil
}

// memoryOfStored is where stored chunks are read to. That of large ones goes back to the system after each.
var memoryOfStored = storage.NewPool(storage.CPU)

// largeStored is the number of stored bytes of a large chunk.
const largeStored = 16 << 20

// copyStored copies a chunk as it is stored.
func (r *repacker) copyStored(t *target, c hdf5.Chunk) error {
	if err := checkPlace(r.f, c); err != nil {
		return err
	}
	memory, err := memoryOfStored.Get(c.Size)
	if err != nil {
		return err
	}
	if c.Size > largeStored {
		defer memoryOfStored.Drop()
	}
	defer memoryOfStored.Put(memory)
	stored := memory.(storage.Host).Bytes()[:c.Size]
	if _, err := r.f.ReadAt(stored, int64(c.Offset)); err != nil {
		return err
	}
	return r.writeChunk(t, c.Coord, stored, c.FilterMask)
}

// checkPlace returns an error for a chunk beyond the end of its file.
func checkPlace(f *hdf5.File, c hdf5.Chunk) error {
	if c.Offset < 0 || c.Size < 0 || c.Offset > f.Size() || c.Size > f.Size()-c.Offset {
		return fmt.Errorf("chunk %v: %d bytes at %d are beyond the end of the file", c.Coord, c.Size, c.Offset)
	}
	return nil
}

// chunkSize returns the size of a chunk without filters, in bytes.
func chunkSize(d *hdf5.Dataset) (int, error) {
	return format.Product(append([]int{d.Type.Size}, d.Chunks...)...)
}

func (r *repacker) writeChunk(t *target, start []int, stored []byte, mask uint32) error {
	return r.do("write", t.at, func() error { return t.id.WriteChunk(start, mask, stored) })
}

// budget is the number of elements that are read at once. Their memory is an eighth of
// the limit, as they are also divided into chunks, encoded and compared, beside a quarter
// for the cache of decoded chunks. It is less beside a decoded chunk that takes more than the cache.
func (r *repacker) budget(d *hdf5.Dataset) int {
	memory := r.o.Memory / 8
	if size, err := chunkSize(d); err == nil && d.Chunks != nil && size > r.o.Memory/4 {
		memory /= 4
	}
	return max(1, memory/max(1, d.Type.Size))
}

// readUnit returns the unit of the blocks that are best read from a dataset: whole
// chunks of the source, rounded up to whole chunks of the copy, unless that is too large.
func (r *repacker) readUnit(d *hdf5.Dataset, chunk []int) []int {
	if d.Chunks == nil {
		return chunk
	}
	unit := slices.Clone(chunk)
	for axis, n := range d.Chunks {
		n = min(n, d.Shape[axis])
		unit[axis] *= (n + chunk[axis] - 1) / chunk[axis]
	}
	if n, err := format.Product(unit...); err != nil || n > r.budget(d) {
		return chunk
	}
	return unit
}

// copyContiguous copies elements to their place in the file, in blocks.
func (r *repacker) copyContiguous(t *target) error {
	unit := slices.Repeat([]int{1}, len(t.Shape))
	if t.Chunks != nil {
		rows := append([]int{t.Chunks[0]}, t.Shape[1:]...)
		if n, err := format.Product(rows...); err == nil && n <= r.budget(t.Dataset) {
			unit = rows
		}
	}
	if err := checkBudget(t.Dataset, unit, r.budget(t.Dataset), nil); err != nil {
		return err
	}
	at := t.offset
	var buf []byte
	var err error
	for b := range blocks(t.Dataset, unit, r.budget(t.Dataset)) {
		if buf, err = r.read(t.Dataset, b, buf); err != nil {
			return err
		}
		if _, err := r.w.out.WriteAt(buf, at); err != nil {
			return err
		}
		at += int64(len(buf))
		r.o.Progress(t.Path, len(buf))
	}
	return nil
}

// blocks divides a dataset into hyperslabs of whole units; a scalar is one hyperslab.
func blocks(d *hdf5.Dataset, unit []int, budget int) iter.Seq[hyperslab] {
	if len(d.Shape) == 0 {
		return func(yield func(hyperslab) bool) { yield(hyperslab{[]int{}, []int{}}) }
	}
	return hyperslabs(d.Shape, unit, budget)
}

// read returns the stored elements of a hyperslab, in buf if it is large enough.
func (r *repacker) read(d *hdf5.Dataset, b hyperslab, buf []byte) ([]byte, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	v := subview(d.View(), b.start, b.count)
	n, err := format.Product(v.Len(), d.Type.Size)
	if err != nil {
		return nil, err
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	err = d.ReadRaw(buf[:n], v)
	if d.Layout == "contiguous" {
		r.releasePages(d.File(), n)
	}
	return buf[:n], err
}

// releasePages releases the mapped pages of a file after every eighth of the memory limit.
func (r *repacker) releasePages(f *hdf5.File, n int) {
	if r.resident += n; r.resident > r.o.Memory/8 {
		r.resident = 0
		f.ReleasePages()
	}
}

// maxBlocks is the largest number of blocks that are asked whether they are stored.
const maxBlocks = 1 << 20

// checkBudget takes the elements that are about to be read and were not stored out of the
// budget of the file. hasStored is nil if the copy stores elements that were never written.
func checkBudget(d *hdf5.Dataset, unit []int, elements int, hasStored func(hyperslab) bool) error {
	stored, err := d.Backing()
	if err != nil {
		return err
	}
	total, err := d.Len()
	if err != nil {
		return err
	}
	n := total
	if hasStored != nil && total/max(1, elements) < maxBlocks {
		n = 0
		for b := range blocks(d, unit, elements) {
			if hasStored(b) {
				n += views.Of(b.count...).Len()
			}
		}
	}
	return d.File().Budget().Make(n*d.Type.Size, stored)
}

// copyChunks copies elements into chunks of another shape or encoding.
func (r *repacker) copyChunks(t *target) error {
	w, err := r.chunkWriter(t)
	if err != nil {
		return err
	}
	hasStored, err := storedIn(t.Dataset)
	if err != nil || !hasStored(hyperslab{make([]int, len(t.Shape)), t.Shape}) {
		return err
	}
	unit := r.readUnit(t.Dataset, t.layout.Chunks)
	if err := checkBudget(t.Dataset, unit, r.budget(t.Dataset), hasStored); err != nil {
		return err
	}
	var buf []byte
	for b := range hyperslabs(t.Shape, unit, r.budget(t.Dataset)) {
		if !hasStored(b) { // the copy does not store it either
			r.o.Progress(t.Path, views.Of(b.count...).Len()*t.Type.Size)
			continue
		}
		if buf, err = r.read(t.Dataset, b, buf); err != nil {
			return err
		}
		if err := w.writeBlock(b.start, buf, views.Of(b.count...)); err != nil {
			return err
		}
		r.o.Progress(t.Path, len(buf))
	}
	return w.flush()
}

// chunkWriter returns a writer of the chunks of a dataset.
func (r *repacker) chunkWriter(t *target) (*DatasetWriter, error) {
	size, err := format.Product(append([]int{t.Type.Size}, t.layout.Chunks...)...)
	if err == nil && size > r.o.Memory/2 {
		err = fmt.Errorf("chunks %v take %d bytes each, more than half of the memory limit of %d bytes; raise the limit or use smaller chunks", t.layout.Chunks, size, r.o.Memory)
	}
	return &DatasetWriter{w: r.w, path: t.at, size: t.Type.Size, max: t.layout.MaxShape, layout: t.layout, id: t.id, partial: map[string]*partialChunk{}}, err
}

// sink returns a function that writes blocks of whole rows to a dataset of the copy, and one that ends writing.
func (r *repacker) sink(t *target) (write func(b hyperslab, elems []byte) error, flush func() error, err error) {
	switch {
	case hasPointers(t.Type) || t.Dataset.Layout == "compact" && t.layout.Chunks == nil:
		id, err := openType(t.Type)
		write = func(b hyperslab, elems []byte) error {
			for k := range hyperslabs(b.count, slices.Repeat([]int{1}, len(b.count)), r.imageElements(t.Dataset)) {
				n := views.Of(k.count...).Len() * t.Type.Size
				for axis := range k.start {
					k.start[axis] += b.start[axis]
				}
				if err := r.writeImage(t, id, k, elems[:n]); err != nil {
					return err
				}
				elems = elems[n:]
			}
			return nil
		}
		return write, id.Close, err
	case t.layout.Chunks != nil:
		w, err := r.chunkWriter(t)
		return func(b hyperslab, elems []byte) error { return w.writeBlock(b.start, elems, views.Of(b.count...)) }, w.flush, err
	}
	row, err := format.Product(append([]int{t.Type.Size}, t.Shape[1:]...)...)
	write = func(b hyperslab, elems []byte) error {
		_, err := r.w.out.WriteAt(elems, t.offset+int64(b.start[0]*row))
		return err
	}
	return write, func() error { return nil }, err
}

// storedIn returns a function that reports whether any element of a hyperslab was written.
func storedIn(d *hdf5.Dataset) (func(hyperslab) bool, error) {
	if d.Layout != "chunked" {
		return func(hyperslab) bool { return d.Allocated() || len(d.External) > 0 }, nil
	}
	chunks, err := d.StoredChunks()
	if err != nil {
		return nil, err
	}
	if len(chunks) == 0 {
		return func(hyperslab) bool { return false }, nil
	}
	return func(b hyperslab) bool {
		n, first, extent := 1, slices.Clone(b.start), make([]int, len(b.start))
		for axis := range first {
			first[axis] -= first[axis] % d.Chunks[axis]
			extent[axis] = b.start[axis] + b.count[axis] - first[axis]
			n *= (extent[axis]-1)/d.Chunks[axis] + 1
		}
		if n > 2*len(chunks) || n > 1<<20 {
			return len(chunks) > 0
		}
		coord := make([]int, len(first))
		for step := make([]int, len(first)); ; {
			for axis := range coord {
				coord[axis] = first[axis] + step[axis]
			}
			_, found := slices.BinarySearchFunc(chunks, coord, func(c hdf5.Chunk, coord []int) int { return slices.Compare(c.Coord, coord) })
			if found || !next(step, extent, d.Chunks) {
				return found
			}
		}
	}, nil
}

// copyImages copies elements that only the library can write: those with pointers, and
// compact ones.
func (r *repacker) copyImages(t *target) error {
	hasStored, err := storedIn(t.Dataset)
	if err != nil || !hasStored(hyperslab{make([]int, len(t.Shape)), t.Shape}) {
		return err
	}
	id, err := openType(t.Type)
	if err != nil {
		return err
	}
	defer id.Close()
	unit := slices.Repeat([]int{1}, len(t.Shape))
	if t.layout.Chunks != nil {
		unit = t.layout.Chunks
	}
	elements := r.imageElements(t.Dataset)
	if err := checkBudget(t.Dataset, unit, elements, hasStored); err != nil {
		return err
	}
	var buf []byte
	for b := range blocks(t.Dataset, unit, elements) {
		if !hasStored(b) {
			continue
		}
		if buf, err = r.read(t.Dataset, b, buf); err != nil {
			return err
		}
		if err := r.writeImage(t, id, b, buf); err != nil {
			return err
		}
		r.o.Progress(t.Path, len(buf))
	}
	return nil
}

// imageElements is the number of elements of an image: the values they point to take memory, too.
func (r *repacker) imageElements(d *hdf5.Dataset) int {
	return max(1, min(r.budget(d), math.MaxInt/max(1, d.Type.Size))/8)
}

// writeImage writes a hyperslab of elements of a type with pointers.
func (r *repacker) writeImage(t *target, id libhdf5.ID, b hyperslab, elems []byte) error {
	image := r.newImage()
	if err := image.elements(t.Type, elems, len(elems)/t.Type.Size); err != nil {
		return err
	}
	image.countLost(t.Path, "elements")
	return r.do("write", t.at, func() error { return t.id.WriteImage(id, b.start, b.count, image.of(t.Type)) })
}
