//go:build !cgo

package filter

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The parts of filters that are written in C where there is a C compiler.

// unshuffle undoes shuffle.
func unshuffle(dst, src []byte, width int) {
	n := len(src) / width
	for b := range min(width, n*width) { // none, if an element is longer than all data
		for e := range n {
			dst[e*width+b] = src[b*n+e]
		}
	}
	copy(dst[n*width:], src[n*width:])
}

// shuffle groups the bytes of equal significance of src's elements of width bytes. dst
// is as long as src, which is not empty.
func shuffle(dst, src []byte, width int) {
	n := len(src) / width
	for b := range min(width, n*width) { // none, if an element is longer than all data
		for e := range n {
			dst[b*n+e] = src[e*width+b]
		}
	}
	copy(dst[n*width:], src[n*width:])
}

// bitunshuffle reverses the transposition of src into dst. Both hold the same
// multiple of 8 elements. It needs no tmp.
func bitunshuffle(dst, src []byte, elemSize int, _ []byte) {
	clear(dst)
	plane := len(dst) / elemSize / 8 // bytes that hold one bit of every element
	for bit := range elemSize * 8 {
		for i, packed := range src[bit*plane : (bit+1)*plane] {
			for e := range 8 {
				dst[(8*i+e)*elemSize+bit/8] |= packed >> e & 1 << (bit % 8)
			}
		}
	}
}

// An inflater decodes zlib streams, one after the other.
type inflater struct {
	src bytes.Reader
	io.ReadCloser
}

var inflaters = sync.Pool{New: func() any { return &inflater{} }}

func (r *inflater) reset(src []byte) (err error) {
	r.src.Reset(src)
	if r.ReadCloser == nil {
		r.ReadCloser, err = zlib.NewReader(&r.src)
		return err
	}
	return r.ReadCloser.(zlib.Resetter).Reset(&r.src, nil)
}

func decodeDeflate(dst, src []byte, _ []uint32, _ int) ([]byte, error) {
	r := inflaters.Get().(*inflater)
	defer inflaters.Put(r)
	if err := r.reset(src); err != nil {
		return nil, errCorrupt
	}
	for n := 0; n < len(dst); {
		k, err := r.Read(dst[n:])
		n += k
		switch {
		case errors.Is(err, io.EOF):
			return dst[:n], nil
		case err != nil:
			return nil, errCorrupt
		}
	}
	var more [1]byte
	switch k, err := r.Read(more[:]); { // the end, with its checksum
	case k > 0:
		return nil, fmt.Errorf("data decodes to more than %d bytes", len(dst))
	case !errors.Is(err, io.EOF):
		return nil, errCorrupt
	}
	return dst, nil
}

// encodeDeflate fails, as libhdf5 does, if the result would not be smaller.
func encodeDeflate(src []byte, params []uint32, _ int) ([]byte, error) {
	level := 6
	if len(params) > 0 {
		level = int(params[0])
	}
	if level > 9 {
		return nil, fmt.Errorf("level %d; levels go from 0 to 9", level)
	}
	var out bytes.Buffer
	w, err := zlib.NewWriterLevel(&out, level)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(src); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if out.Len() >= len(src) {
		return nil, ErrIncompressible
	}
	return out.Bytes(), nil
}
