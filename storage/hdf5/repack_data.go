package hdf5

// #include "shim.h"
import "C"

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// fill copies the elements of a dataset into the one made for them.
func (r *repacker) fill(t *target) error {
	if t.Shape == nil || slices.Contains(t.Shape, 0) {
		return nil
	}
	err := t.checkReadable()
	if err == nil {
		switch {
		case t.verbatim:
			err = r.copyStoredChunks(t)
		case t.Type.hasVarLen() || t.Type.hasReferences() || t.Dataset.layout.class == layoutCompact && t.layout.Chunks == nil:
			err = r.copyImages(t)
		case t.layout.Chunks != nil:
			err = r.copyChunks(t)
		case t.offset != undefined:
			err = r.copyContiguous(t)
		}
	}
	if err != nil && !strings.HasPrefix(err.Error(), r.f.name+": ") {
		return r.f.fail(t.Path, err)
	}
	return err
}

// copyStoredChunks copies chunks without decoding them.
func (r *repacker) copyStoredChunks(t *target) error {
	index, err := t.index()
	if err != nil {
		return err
	}
	if err := checkOverlap(index.entries); err != nil {
		return err
	}
	size, err := t.chunkSize()
	if err != nil {
		return err
	}
	for _, e := range index.entries {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if _, err := r.f.span(e.address, e.size); err != nil {
			return err
		}
		raw := scratch.Get(e.size)
		if err := r.f.readAt(raw, e.address); err != nil {
			return err
		}
		if err := r.writeChunk(t, t.origin(index, e), raw, t.maskOf(index, e)); err != nil {
			return err
		}
		scratch.Put(raw)
		r.o.Progress(t.Path, size)
	}
	return nil
}

// maskOf returns which filters a stored chunk has not passed.
func (d *Dataset) maskOf(index *index, e chunkEntry) uint32 {
	if d.layout.index.unfilteredEdges && d.isPartial(d.gridPlace(index, e)) {
		return 1<<len(d.Filters) - 1
	}
	return e.mask
}

func (r *repacker) writeChunk(t *target, start []int, raw []byte, mask uint32) error {
	_, err := r.w.call("write", t.Path, func(msg *C.char, size C.size_t) C.int64_t {
		return C.shim_write_chunk(C.int64_t(t.id), sizes(start), C.uint32_t(mask), pointer(raw), C.size_t(len(raw)), msg, size)
	})
	return err
}

// raw returns a source of elements as they are stored.
func (d *Dataset) raw() (*source, error) {
	s, err := d.newSource(conversion{size: d.Type.Size}, 0)
	if err == nil && s.count*s.size > 4<<30 && s.count*s.size/1000 > d.file.size {
		err = fmt.Errorf("%d bytes from a file of %d are not believed", s.count*s.size, d.file.size)
	}
	return s, err
}

// budget is how many elements are held at once: an eighth of the memory, as
// they are cut to chunks, encoded and compared, beside a quarter of decoded chunks.
func (r *repacker) budget(d *Dataset) int { return max(1, r.o.Memory/8/max(1, d.Type.Size)) }

// readUnit returns in which units boxes of a dataset are best read: whole chunks
// of the source, rounded up to those of the copy, unless that is too much.
func (r *repacker) readUnit(d *Dataset, chunk []int) []int {
	if d.Chunks == nil {
		return chunk
	}
	unit := slices.Clone(chunk)
	for axis, n := range d.Chunks {
		n = min(n, d.Shape[axis])
		unit[axis] *= (n + chunk[axis] - 1) / chunk[axis]
	}
	if n, err := multiply(unit...); err != nil || n > r.budget(d) {
		return chunk
	}
	return unit
}

// copyContiguous copies elements to a stretch of the file, some rows at a time.
func (r *repacker) copyContiguous(t *target) error {
	s, err := t.raw()
	if err != nil {
		return err
	}
	unit := slices.Repeat([]int{1}, len(t.Shape))
	if t.Chunks != nil {
		band := append([]int{t.Chunks[0]}, t.Shape[1:]...)
		if n, err := multiply(band...); err == nil && n <= r.budget(t.Dataset) {
			unit = band
		}
	}
	at, whole := int64(t.offset), views.Of(t.Shape...)
	var buf []byte
	for b := range hyperslabsOf(t.Dataset, unit, r.budget(t.Dataset)) {
		if buf, err = r.read(s, b, whole, buf); err != nil {
			return err
		}
		if _, err := r.w.out.File.WriteAt(buf, at); err != nil {
			return err
		}
		at += int64(len(buf))
		r.o.Progress(t.Path, len(buf))
	}
	return nil
}

// hyperslabsOf cuts a dataset into boxes of whole units; a scalar is one box.
func hyperslabsOf(d *Dataset, unit []int, budget int) iter.Seq[hyperslab] {
	if len(d.Shape) == 0 {
		return func(yield func(hyperslab) bool) { yield(hyperslab{[]int{}, []int{}}) }
	}
	return hyperslabs(d.Shape, unit, budget)
}

// read returns the elements of a box, in a buffer if that is large enough.
func (r *repacker) read(s *source, b hyperslab, whole views.View, buf []byte) ([]byte, error) {
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	v := subview(whole, b.start, b.count)
	n, err := multiply(v.Len(), s.size)
	if err != nil {
		return nil, err
	}
	if cap(buf) < n {
		buf = make([]byte, n)
	}
	err = s.read(buf[:n], v)
	if s.d.layout.class == layoutContiguous {
		r.releasePages(s.d.file, n)
	}
	return buf[:n], err
}

// releasePages lets go of mapped pages once they are an eighth of the memory.
func (r *repacker) releasePages(f *File, n int) {
	if r.mapped += n; r.mapped > r.o.Memory/8 {
		r.mapped = 0
		f.releasePages()
	}
}

// copyChunks copies elements into other chunks: boxes of them are read, cut and
// encoded side by side, and stored in order.
func (r *repacker) copyChunks(t *target) error {
	s, err := t.raw()
	if err != nil {
		return err
	}
	chunk := t.layout.Chunks
	size, err := multiply(append([]int{t.Type.Size}, chunk...)...)
	if err == nil && size > r.o.Memory/2 {
		err = fmt.Errorf("chunks %v take %d bytes each, more than half of the %d there are to work with; allow more memory or smaller chunks", chunk, size, r.o.Memory)
	}
	if err != nil {
		return err
	}
	var buf []byte
	whole := views.Of(t.Shape...)
	for b := range hyperslabs(t.Shape, r.readUnit(t.Dataset, chunk), r.budget(t.Dataset)) {
		stored, err := r.hasStoredChunks(t.Dataset, b)
		if err != nil {
			return err
		}
		if !stored { // and need not be in the copy
			r.o.Progress(t.Path, views.Of(b.count...).Len()*t.Type.Size)
			continue
		}
		if buf, err = r.read(s, b, whole, buf); err != nil {
			return err
		}
		if err := r.cut(t, b, buf, size); err != nil {
			return err
		}
		r.o.Progress(t.Path, len(buf))
	}
	return nil
}

// hasStoredChunks reports whether any element of a box was ever written.
func (r *repacker) hasStoredChunks(d *Dataset, b hyperslab) (bool, error) {
	if d.layout.class != layoutChunked {
		return d.layout.class == layoutCompact || d.layout.address != undefined, nil
	}
	index, err := d.index()
	if err != nil {
		return false, err
	}
	n := 1
	at := slices.Clone(b.start)
	for axis := range at {
		at[axis] -= at[axis] % d.Chunks[axis]
		n *= (b.start[axis]+b.count[axis]-at[axis]-1)/d.Chunks[axis] + 1
	}
	if n > 2*len(index.entries) || n > 1<<20 {
		return len(index.entries) > 0, nil
	}
	first, span := slices.Clone(at), make([]int, len(at))
	for axis := range span {
		span[axis] = b.start[axis] + b.count[axis] - first[axis]
	}
	for step := make([]int, len(at)); ; {
		conversion := 0
		for axis := range step {
			conversion = conversion*index.grid[axis] + (first[axis]+step[axis])/d.Chunks[axis]
		}
		if _, ok := index.find(conversion); ok {
			return true, nil
		}
		if !next(step, span, d.Chunks) {
			return false, nil
		}
	}
}

// cut makes the chunks of a box from its elements.
func (r *repacker) cut(t *target, b hyperslab, elems []byte, size int) error {
	type transfer struct {
		start, inBox, count []int
		raw                 []byte
		mask                uint32
	}
	var all []*transfer
	for at := make([]int, len(b.start)); ; {
		p := &transfer{make([]int, len(at)), slices.Clone(at), make([]int, len(at)), nil, 0}
		for axis := range at {
			p.start[axis] = b.start[axis] + at[axis]
			p.count[axis] = min(t.layout.Chunks[axis], b.count[axis]-at[axis])
		}
		all = append(all, p)
		if !next(at, b.count, t.layout.Chunks) {
			break
		}
	}
	err := parallel(slices.Values(all), func(p *transfer) (err error) {
		chunk := make([]byte, size)
		from, to := subview(views.Of(b.count...), p.inBox, p.count), subview(views.Of(t.layout.Chunks...), make([]int, len(p.count)), p.count)
		n := t.Type.Size
		views.Walk(func(at, step []int, run int) {
			copyStrided(chunk, elems, at[0]*n, at[1]*n, step[0]*n, step[1]*n, run, n)
		}, to, from)
		p.raw, p.mask, err = filter.Encode(chunk, t.layout.Filters, n)
		return err
	})
	for _, p := range all {
		if err == nil {
			err = r.writeChunk(t, p.start, p.raw, p.mask)
		}
	}
	return err
}

// copyImages copies elements that only the library can write: those that point to
// values elsewhere, and compact ones.
func (r *repacker) copyImages(t *target) error {
	if !t.written() {
		return nil
	}
	s, err := t.raw()
	if err != nil {
		return err
	}
	id, err := r.typeOf(t.Type)
	if err != nil {
		return err
	}
	defer r.drop(id)
	unit := slices.Repeat([]int{1}, len(t.Shape))
	if t.layout.Chunks != nil {
		unit = t.layout.Chunks
	}
	elements := max(1, min(r.budget(t.Dataset), math.MaxInt/max(1, t.Type.Size))/8) // what they point to takes room, too
	var buf []byte
	for b := range hyperslabsOf(t.Dataset, unit, elements) {
		if buf, err = r.read(s, b, views.Of(t.Shape...), buf); err != nil {
			return err
		}
		image := r.image()
		if err := image.elements(t.Type, buf, len(buf)/t.Type.Size); err != nil {
			return err
		}
		image.noteLost(t.Path)
		_, err := r.w.call("write", t.Path, func(msg *C.char, size C.size_t) C.int64_t {
			return C.shim_write_image(C.int64_t(t.id), C.int64_t(id), C.int(len(t.Shape)), sizes(b.start), sizes(b.count),
				pointer(image.out), C.size_t(len(image.out)), uint64s(image.pointers), C.size_t(len(image.pointers)),
				C.size_t(memSize(t.Type)), msg, size)
		})
		if err != nil {
			return err
		}
		r.o.Progress(t.Path, len(buf))
	}
	return nil
}
