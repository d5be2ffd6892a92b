package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// check reads the copy and compares every element with the file it was made of.
func (r *repacker) check(name string) error {
	made, err := Open(name, Options{CacheBytes: r.o.Memory / 8})
	if err != nil {
		return err
	}
	defer made.Close()
	for _, c := range r.copied {
		d, err := made.Dataset(c.from.Path)
		if err == nil {
			err = r.same(c, d)
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

func (r *repacker) same(c copied, d *Dataset) error {
	switch {
	case !slices.Equal(c.from.Shape, d.Shape) || c.from.Type.Size != d.Type.Size:
		return fmt.Errorf("shape %v, want %v: %w", d.Shape, c.from.Shape, errDiffers)
	case c.verbatim:
		return r.sameChunks(c.from, d)
	case !c.from.written() && !d.written():
		return nil
	}
	from, err := c.from.raw()
	if err != nil {
		return err
	}
	made, err := d.raw()
	if err != nil || from.total == 0 {
		return err
	}
	unit := slices.Repeat([]int{1}, len(d.Shape))
	if d.Chunks != nil {
		unit = d.Chunks
	}
	unit = r.units(c.from, unit)
	whole := views.Of(d.Shape...)
	var x, y []byte
	for b := range boxesOf(d, unit, r.budget(d)) {
		if x, err = r.read(from, b, whole, x); err != nil {
			return err
		}
		if y, err = r.read(made, b, whole, y); err != nil {
			return err
		}
		if err := sameElements(c.from, d, x, y); err != nil {
			return fmt.Errorf("at %v: %w", b.start, err)
		}
		r.o.Progress(d.Path, len(x))
	}
	return nil
}

// sameElements compares elements, and where they point elsewhere, what they
// point to. References are not compared: they lead to other places by design.
func sameElements(from, made *Dataset, x, y []byte) error {
	if t := from.Type; t.points() || t.refers() {
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
	case !t.points() && !t.refers():
		w.out = append(w.out, b[:t.Size]...)
	case t.Class == ClassSequence:
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
	c := w.f.over("sequence", b)
	n, place := c.u32(), heapPlace{c.address(), c.u32()}
	if w.err = c.err; n == 0 || place.address == 0 || place.address == undefined || w.err != nil {
		n = 0
	}
	var object []byte
	if n > 0 {
		object, w.err = w.f.heapObject(place.address, place.number)
	}
	if w.err == nil && n*t.Base.Size > len(object) || n > maxImage {
		w.err = fmt.Errorf("sequence of %d elements of %d bytes in %d bytes", n, t.Base.Size, len(object))
	}
	switch {
	case w.err != nil:
	case t.Text.Variable:
		w.out = append(append(w.out, cutZeros(object[:n])...), 0)
	default:
		w.out = binary.LittleEndian.AppendUint32(w.out, uint32(n))
		for k := range n {
			w.add(t.Base, object[k*t.Base.Size:(k+1)*t.Base.Size])
		}
	}
}

// sameChunks compares chunks as they are stored, and decodes them: damage that
// was there before is not passed on unseen.
func (r *repacker) sameChunks(from, made *Dataset) error {
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
	decodable := made.Decodable() == nil && size <= maxDecoding
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
			decoded := takeScratch(size)
			err := made.decode(decoded, b.entries[k], made.segmentsOf(b, b.entries[k]))
			giveScratch(decoded)
			if err != nil {
				return fmt.Errorf("chunk %v, as it was: %w; unchecked, it is copied like that", from.origin(a, e), err)
			}
		}
		r.o.Progress(from.Path, size)
	}
	return nil
}
