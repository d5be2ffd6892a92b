package arrow

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
)

// A viewReader reads strings that have views of 16 bytes:
//
//	int32 length, up to 12 bytes of the string, or its first 4, int32 buffer, int32 offset
type viewReader struct {
	buffers []viewed
	stored  int64  // bytes of the buffers
	total   int64  // bytes of strings
	over    int64  // of these, beyond what the stored ones expand to
	last    string // the last string, and its place
	place   [3]uint32
}

// A viewed buffer is a buffer of strings, and a part of it that was read.
type viewed struct {
	io.ReaderAt
	size int64
	at   int64
	part string
}

const viewSize, inlineSize = 16, 12

// viewedTexts appends strings that have views.
func (r *partReader) viewedTexts(d *column.Values) error {
	v := &r.views
	if r.row == 0 {
		if err := r.openViews(); err != nil {
			return err
		}
	}
	n, err := r.next(8 * viewSize)
	if err != nil {
		return err
	}
	if err := r.each(d, n, func(i int) error {
		view := r.block[i*viewSize:]
		length := binary.LittleEndian.Uint32(view)
		if length <= inlineSize {
			d.Texts = append(d.Texts, string(view[4:4+length]))
			return nil
		}
		text, err := v.text([3]uint32{binary.LittleEndian.Uint32(view[8:]), binary.LittleEndian.Uint32(view[12:]), length})
		d.Texts = append(d.Texts, text)
		return err
	}); err != nil {
		return err
	}
	// Many views may select one string.
	over := max(0, v.total-v.stored*storage.ExpansionRatio)
	err = r.in.Budget.Make(int(over-v.over), 0)
	v.over = over
	return err
}

// openViews opens the buffers of strings. Those that are compressed go to a Scratch.
func (r *partReader) openViews() error {
	r.views = viewReader{stored: int64(r.rows) * viewSize}
	for i := 2; i < len(r.buffers); i++ {
		b, err := r.open(r.part, i, -1)
		if err != nil {
			return err
		}
		buffer := viewed{size: b.size, ReaderAt: io.NewSectionReader(r.in, b.at, b.size)}
		if b.compressed {
			spool := r.table.Scratch.Bytes()
			if _, err := io.Copy(spool, b); err != nil {
				return err
			}
			buffer.ReaderAt = spool
		}
		r.views.buffers = append(r.views.buffers, buffer)
		r.views.stored += b.size
	}
	r.step = stepOf(r.rows, r.views.stored)
	return nil
}

// text returns the string of a number of bytes at an offset of a buffer.
func (v *viewReader) text(place [3]uint32) (string, error) {
	const ahead = 64 << 10
	i, start, length := int64(place[0]), int64(place[1]), int64(place[2])
	v.total += length
	if place == v.place {
		return v.last, nil
	}
	if i >= int64(len(v.buffers)) || start+length > v.buffers[i].size {
		return "", fmt.Errorf("a string of %d bytes from byte %d of buffer %d, of %d: %w", length, start, i, len(v.buffers), storage.ErrState)
	}
	b := &v.buffers[i]
	if start < b.at || start+length > b.at+int64(len(b.part)) {
		n := length
		if start >= b.at && start-b.at < 2*ahead { // in order
			n = min(max(ahead, length), b.size-start)
		}
		part := make([]byte, n)
		if m, err := b.ReadAt(part, start); m < len(part) {
			return "", err
		}
		b.at, b.part = start, string(part)
	}
	v.last, v.place = b.part[start-b.at:][:length], place
	return v.last, nil
}
