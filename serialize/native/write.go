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
	h := index.NewLayout(entries, plan, c.Meta)
	end := 0
	for k := range h.Offsets {
		n := plan.Storages[k].NBytes()
		h.Offsets[k] = alignUp(end, index.Alignment(n))
		end = h.Offsets[k] + n + sumSize
	}
	digest := &writer{w: bufio.NewWriter(io.Discard)}
	size, err := h.Encode(digest)
	if err != nil {
		return err
	}
	p := preamble{alignment: pageAlignment, header: int64(size), headerDigest: digest.sum}
	p.length = p.data() + int64(alignUp(end, smallAlignment)) + endSize
	if err := serialize.CheckSpace(w, p.length); err != nil {
		return err
	}

	out := &writer{w: bufio.NewWriterSize(w, 1<<20)}
	out.Write(p.encode())
	if _, err := h.Encode(out); err != nil {
		return err
	}
	var sums uint32 // the checksum of the checksums
	for k, offset := range h.Offsets {
		a := plan.Storages[k]
		out.padTo(p.data() + int64(offset))
		out.sum = 0
		if err := cmp.Or(serialize.WriteLittleEndian(out, a), out.err); err != nil {
			return fmt.Errorf("%q: %w", h.NameOf(k), err)
		}
		if out.at != p.data()+int64(offset+a.NBytes()) {
			return fmt.Errorf("%q: %d bytes were read instead of %d: %w", h.NameOf(k), out.at-p.data()-int64(offset), a.NBytes(), storage.ErrState)
		}
		sum := binary.LittleEndian.AppendUint32(nil, out.sum)
		sums = crc32.Update(sums, castagnoli, sum)
		out.Write(sum)
	}
	out.padTo(p.length - endSize)
	out.Write(encodeEnd(p.length, sums))
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
