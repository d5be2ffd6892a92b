package native

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/index"
	"github.com/h5dnn/h5dnn/storage"
)

func save(w io.Writer, c serialize.Contents) error {
	entries, err := index.Collect(format, c)
	if err != nil {
		return err
	}
	plan := serialize.NewPlan(entries)
	h := index.Layout(entries, plan, c.Meta)
	end := 0
	for i := range h.Storages {
		s := &h.Storages[i]
		s.Offset = alignUp(end, alignmentOf(s.Bytes))
		end = s.Offset + s.Bytes + sumSize
	}
	text, err := h.Encode()
	if err != nil {
		return err
	}
	p := preamble{alignment: pageAlignment, header: int64(len(text)), headerDigest: checksum(text)}
	p.length = p.data() + int64(alignUp(end, smallAlignment)) + endSize
	if err := serialize.CheckSpace(w, p.length); err != nil {
		return err
	}

	out := &writer{w: bufio.NewWriterSize(w, 1<<20)}
	out.Write(p.encode())
	out.Write(text)
	var sums []byte
	for i, s := range h.Storages {
		out.padTo(p.data() + int64(s.Offset))
		out.sum = 0
		if err := cmp.Or(serialize.WriteLittleEndian(out, plan.Storages[i]), out.err); err != nil {
			return fmt.Errorf("%q: %w", h.NameOf(i), err)
		}
		if out.at != p.data()+int64(s.Offset+s.Bytes) {
			return fmt.Errorf("%q: %d bytes were read instead of %d: %w", h.NameOf(i), out.at-p.data()-int64(s.Offset), s.Bytes, storage.ErrState)
		}
		sum := binary.LittleEndian.AppendUint32(nil, out.sum)
		sums = append(sums, sum...)
		out.Write(sum)
	}
	out.padTo(p.length - endSize)
	out.Write(encodeEnd(p.length, checksum(sums)))
	return cmp.Or(out.err, out.w.Flush())
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
