package filter

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/zlib"
)

// Streams reports whether [DecodeStream] decodes chunks of a pipeline: deflate alone, or after shuffle.
// The mask is that of [Decode].
func Streams(pipeline []Filter, mask uint32) bool {
	return mask == 0 && (hasIDs(pipeline, DeflateID) || hasIDs(pipeline, ShuffleID, DeflateID))
}

func hasIDs(pipeline []Filter, ids ...int) bool {
	return slices.EqualFunc(pipeline, ids, func(f Filter, id int) bool { return f.ID == id })
}

// DecodeStream is [Decode] of stored bytes that are read from r as they are needed, which takes the
// memory of dst only, and more time: libdeflate decodes bytes that are in memory. An error of r is returned
// as it is.
func DecodeStream(dst []byte, r io.Reader, pipeline []Filter, elemSize int) error {
	source := &failingReader{r: r}
	err := decodeStream(dst, source, pipeline, elemSize)
	if source.err != nil {
		return source.err
	}
	if err != nil {
		return fmt.Errorf("%v: %w", pipeline[len(pipeline)-1], err)
	}
	return nil
}

// A failingReader keeps the error of r, unless it is io.EOF: package zlib replaces it.
type failingReader struct {
	r   io.Reader
	err error
}

func (r *failingReader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

func decodeStream(dst []byte, r io.Reader, pipeline []Filter, elemSize int) error {
	stream, err := zlib.NewReader(bufio.NewReaderSize(r, 64<<10))
	if err != nil {
		return errCorrupt
	}
	defer stream.Close()
	width := 1
	if pipeline[0].ID == ShuffleID {
		width = shuffleWidth(pipeline[0].Params, elemSize)
	}
	if width <= 1 {
		err = inflateAll(dst, stream)
	} else {
		err = inflateShuffled(dst, stream, width)
	}
	if err != nil {
		return err
	}
	switch n, err := io.ReadFull(stream, make([]byte, 1)); { // the end, with its checksum
	case n > 0:
		return fmt.Errorf("data decodes to more than %d bytes", len(dst))
	case err != io.EOF:
		return errCorrupt
	}
	return nil
}

// inflateAll fills dst.
func inflateAll(dst []byte, stream io.Reader) error {
	n, err := io.ReadFull(stream, dst)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("chunk decodes to %d bytes, want %d: %w", n, len(dst), errCorrupt)
	}
	return errCorrupt
}

// inflateShuffled fills dst with elements of width bytes, whose bytes are grouped by significance in the
// stream.
func inflateShuffled(dst []byte, stream io.Reader, width int) error {
	count := len(dst) / width
	block := make([]byte, min(max(1, count), 1<<20))
	for plane := range width {
		for at := 0; at < count; at += len(block) {
			b := block[:min(len(block), count-at)]
			if err := inflateAll(b, stream); err != nil {
				return err
			}
			for i, k := 0, at*width+plane; i < len(b); i, k = i+1, k+width {
				dst[k] = b[i]
			}
		}
	}
	return inflateAll(dst[count*width:], stream) // an incomplete element
}
