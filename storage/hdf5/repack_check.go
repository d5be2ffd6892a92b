package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/scratch"
	"github.com/h5dnn/h5dnn/views"
)

// verify reads the copy and compares every element with the file it was made of.
func (r *repacker) verify(name string) error {
	made, err := Open(name, Options{CacheBytes: r.o.Memory / 8})
	if err != nil {
		return err
	}
	defer made.Close()
	for _, c := range r.copied {
		d, err := made.Dataset(c.from.Path)
		if err == nil {
			err = r.compare(c, d)
		}
		if err != nil {
			return fmt.Errorf("check %s: %w", c.from.Path, err)
		}
	}
	return nil
}

var errDiffers = errors.New("the copy differs from the file; nothing was kept of it")

// written reports whether elements have a place in the file.
func (d *Dataset) written() bool {
	return d.layout.class == layoutCompact || d.layout.address != undefined
}

func (r *repacker) compare(c copied, d *Dataset) error {
	switch {
	case !slices.Equal(c.from.Shape, d.Shape) || c.from.Type.Size != d.Type.Size:
		return fmt.Errorf("shape %v, want %v: %w", d.Shape, c.from.Shape, errDiffers)
	case c.verbatim:
		return r.compareChunks(c.from, d)
	case !c.from.written() && !d.written():
		return nil
	}
	from, err := c.from.raw()
	if err != nil {
		return err
	}
	made, err := d.raw()
	if err != nil || from.count == 0 {
		return err
	}
	unit := slices.Repeat([]int{1}, len(d.Shape))
	if d.Chunks != nil {
		unit = d.Chunks
	}
	unit = r.readUnit(c.from, unit)
	whole := views.Of(d.Shape...)
	var x, y []byte
	for b := range hyperslabsOf(d, unit, r.budget(d)) {
		if x, err = r.read(from, b, whole, x); err != nil {
			return err
		}
		if y, err = r.read(made, b, whole, y); err != nil {
			return err
		}
		if err := compareElements(c.from, d, x, y); err != nil {
			return fmt.Errorf("at %v: %w", b.start, err)
		}
		r.o.Progress(d.Path, len(x))
	}
	return nil
}

// compareElements compares elements, and where they point elsewhere, what they
// point to. References are not compared: they lead to other places by design.
func compareElements(from, made *Dataset, x, y []byte) error {
	if t := from.Type; t.hasVarLen() || t.hasReferences() {
		a, b := &flattener{f: from.file}, &flattener{f: made.file}
		for at := 0; at < len(x); at += t.Size {
			a.add(t, x[at:at+t.Size])
			b.add(made.Type, y[at:at+t.Size])
			if err := errors.Join(a.err, b.err); err != nil {
				return err
			}
			if !bytes.Equal(a.out, b.out) {
				return errDiffers
			}
			a.out, b.out = a.out[:0], b.out[:0]
		}
		return nil
	}
	if !bytes.Equal(x, y) {
		return errDiffers
	}
	return nil
}

// A flattener gathers elements with what they point to in their place.
type flattener struct {
	f   *File
	out []byte
	err error
}

func (w *flattener) add(t *Type, b []byte) {
	switch {
	case w.err != nil || t.Class == ClassReference:
	case !t.hasVarLen() && !t.hasReferences():
		w.out = append(w.out, b[:t.Size]...)
	case t.Class == ClassVarLen:
		w.sequence(t, b)
	case t.Class == ClassArray:
		for at := 0; at < t.Size; at += t.Base.Size {
			w.add(t.Base, b[at:at+t.Base.Size])
		}
	default:
		for _, m := range t.Members {
			w.add(m.Type, b[m.Offset:m.Offset+m.Type.Size])
		}
	}
}

func (w *flattener) sequence(t *Type, b []byte) {
	c := w.f.newCursor("sequence", b)
	n, coord := c.u32(), heapID{c.address(), c.u32()}
	if w.err = c.err; n == 0 || coord.address == 0 || coord.address == undefined || w.err != nil {
		n = 0
	}
	var object []byte
	if n > 0 {
		object, w.err = w.f.heapObject(coord.address, coord.index)
	}
	if w.err == nil && n*t.Base.Size > len(object) || n > maxImage {
		w.err = fmt.Errorf("sequence of %d elements of %d bytes in %d bytes", n, t.Base.Size, len(object))
	}
	switch {
	case w.err != nil:
	case t.Text.Variable:
		w.out = append(append(w.out, trimNUL(object[:n])...), 0)
	default:
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(n))
		for k := range n {
			w.add(t.Base, object[k*t.Base.Size:(k+1)*t.Base.Size])
		}
	}
}

// compareChunks compares chunks as they are stored, and decodes them: damage that
// was there before is not passed on unseen.
func (r *repacker) compareChunks(from, made *Dataset) error {
	a, err := from.index()
	if err != nil {
		return err
	}
	b, err := made.index()
	if err != nil {
		return err
	}
	if !slices.EqualFunc(from.Filters, made.Filters, sameFilter) {
		return fmt.Errorf("filters %v, want %v: %w", made.Filters, from.Filters, errDiffers)
	}
	if len(a.entries) != len(b.entries) {
		return fmt.Errorf("%d chunks, want %d: %w", len(b.entries), len(a.entries), errDiffers)
	}
	size, err := from.chunkSize()
	if err != nil {
		return err
	}
	decodable := made.CheckDecodable() == nil && size <= maxDecoding
	for k, e := range a.entries {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		want, got := make([]byte, e.size), make([]byte, b.entries[k].size)
		if err := errors.Join(from.file.readAt(want, e.address), made.file.readAt(got, b.entries[k].address)); err != nil {
			return err
		}
		if e.number != b.entries[k].number || from.maskOf(a, e) != b.entries[k].mask || !bytes.Equal(want, got) {
			return fmt.Errorf("chunk %v: %w", from.origin(a, e), errDiffers)
		}
		if decodable {
			decoded := scratch.Get(size)
			err := made.decode(decoded, b.entries[k], made.gridPlace(b, b.entries[k]))
			scratch.Put(decoded)
			if err != nil {
				return fmt.Errorf("chunk %v, as it was: %w; unchecked, it is copied like that", from.origin(a, e), err)
			}
		}
		r.o.Progress(from.Path, size)
	}
	return nil
}
