package filter

import (
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
)

// Bzip2, filter 307: one bzip2 stream.

// Bzip2ID is the number of the bzip2 filter.
const Bzip2ID = 307

func init() { Register(Codec{ID: Bzip2ID, Name: "bzip2", Plugin: "hdf5plugin", Decode: decodeBzip2}) }

func decodeBzip2(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	r := bzip2.NewReader(bytes.NewReader(src))
	n, err := io.ReadFull(r, dst)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return dst[:n], nil
	case err != nil:
		return nil, err
	}
	var more [1]byte
	if _, err := io.ReadFull(r, more[:]); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("data decodes to more than %d bytes", len(dst))
	}
	return dst, nil
}
