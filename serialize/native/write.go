package native

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func save(w io.Writer, c serialize.Contents) error {
	h, storages, err := layOut(c)
	if err != nil {
		return err
	}
	text, err := h.encode()
	if err != nil {
		return err
	}
	p := preamble{alignment: pageAlignment, header: int64(len(text)), headerDigest: checksum(text)}
	end := int64(0)
	for _, s := range h.storages {
		end = int64(s.offset + s.nbytes + sumSize)
	}
	p.length = p.data() + alignUp(end, smallAlignment) + endSize

	out := &writer{w: bufio.NewWriterSize(w, 1<<20)}
	out.Write(p.encode())
	out.Write(text)
	var sums []byte
	for i, s := range h.storages {
		out.padTo(p.data() + int64(s.offset))
		out.sum = 0
		if err := errors.Join(serialize.WriteLittleEndian(out, storages[i]), out.err); err != nil {
			return fmt.Errorf("%q: %w", h.nameOf(i), err)
		}
		if out.at != p.data()+int64(s.offset+s.nbytes) {
			return fmt.Errorf("%q: %d bytes were read instead of %d: %w", h.nameOf(i), out.at-p.data()-int64(s.offset), s.nbytes, storage.ErrState)
		}
		sum := binary.LittleEndian.AppendUint32(nil, out.sum)
		sums = append(sums, sum...)
		out.Write(sum)
	}
	out.padTo(p.length - endSize)
	out.Write(encodeEnd(p.length, checksum(sums)))
	return errors.Join(out.err, out.w.Flush())
}

// nameOf returns the first tensor of a storage.
func (h *header) nameOf(storage int) string {
	for _, t := range h.tensors {
		if t.storage == storage {
			return t.name
		}
	}
	return ""
}

// layOut returns the header of a file and the elements of its storages.
func layOut(c serialize.Contents) (*header, []storage.Array, error) {
	h := &header{meta: c.Meta}
	for key, value := range c.Meta {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, nil, fmt.Errorf("metadata %q is not UTF-8: %w", key, storage.ErrState)
		}
	}
	var entries []serialize.Entry
	names := map[string]bool{}
	for e, err := range c.Entries {
		if err == nil {
			err = errors.Join(format.Check(e), checkName(e.Name, names))
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", e.Name, err)
		}
		names[e.Name] = true
		entries = append(entries, e)
	}
	if len(entries) > maxTensors {
		return nil, nil, fmt.Errorf("%d tensors; the native format allows %d: %w", len(entries), maxTensors, storage.ErrState)
	}
	plan := serialize.NewPlan(entries)
	at := int64(0)
	for _, a := range plan.Storages {
		n := int64(a.Len() * a.Type.Size())
		at = alignUp(at, alignmentOf(n))
		h.storages = append(h.storages, storedArray{a.Type.String(), int(at), int(n)})
		at += n + sumSize
	}
	for i, e := range entries {
		v := plan.Views[i].View
		t := tensor{name: e.Name, storage: plan.Views[i].Storage, shape: v.Shape, attrs: e.Attrs}
		if v.Len() > 0 {
			t.offset = v.Offset
			if !slices.Equal(v.Stride, views.Of(v.Shape...).Stride) {
				t.strides = v.Stride
			}
		}
		h.tensors = append(h.tensors, t)
	}
	return h, plan.Storages, nil
}

func checkName(name string, taken map[string]bool) error {
	switch {
	case len(name) > maxName:
		return fmt.Errorf("a name of %d bytes; the native format allows %d: %w", len(name), maxName, storage.ErrState)
	case !utf8.ValidString(name):
		return fmt.Errorf("the name is not UTF-8: %w", storage.ErrState)
	case taken[name]:
		return fmt.Errorf("the name is used twice: %w", storage.ErrState)
	}
	return nil
}

// A writer counts what is written and keeps the CRC-32C of it. It writes nothing after an
// error.
type writer struct {
	w   *bufio.Writer
	at  int64
	sum uint32
	err error
}

func (w *writer) Write(b []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.w.Write(b)
	w.at += int64(n)
	w.sum = crc32.Update(w.sum, castagnoli, b[:n])
	w.err = err
	return n, err
}

// padTo writes zeros up to a position.
func (w *writer) padTo(at int64) {
	var zeros [512]byte
	for w.err == nil && w.at < at {
		w.Write(zeros[:min(int64(len(zeros)), at-w.at)])
	}
}
