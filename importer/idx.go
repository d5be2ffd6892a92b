package importer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// idxTypes are the element types of idx files. Such a file is one array (yann.lecun.com/exdb/mnist):
//
//	| 0 0      | 2
//	| type     | 1   08 uint8, 09 int8, 0b int16, 0c int32, 0d float32, 0e float64
//	| rank     | 1
//	| size …   | 4 each, big-endian
//	| elements, row-major, big-endian
var idxTypes = map[byte]dtype.Type{
	8: dtype.Uint8, 9: dtype.Int8, 0xb: dtype.Int16, 0xc: dtype.Int32, 0xd: dtype.Float32, 0xe: dtype.Float64,
}

var errUnknown = errors.New("not an idx, npy, npz or csv file; csv files need the extension .csv")

// openIDX reads the header of an idx file.
func openIDX(name, at string, budget *storage.Budget) ([]*Array, error) {
	r, err := openGunzipped(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	in := &Array{From: name, Path: at}
	if in.Type, in.Shape, err = idxHeader(r); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	in.Each = func(ctx context.Context, put func(storage.Array) error) error {
		r, err := openGunzipped(name)
		if err != nil {
			return err
		}
		defer r.Close()
		if _, _, err := idxHeader(r); err != nil {
			return err
		}
		return in.readRows(r, put, func(n int) error { return budget.Allocate(n, fileSize(name)) })
	}
	return []*Array{in}, nil
}

func idxHeader(r io.Reader) (dtype.Type, []int, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0 || head[1] != 0 || idxTypes[head[2]] == dtype.Invalid || head[3] == 0 || head[3] > 8 {
		return dtype.Invalid, nil, errUnknown
	}
	t := idxTypes[head[2]]
	sizes := make([]byte, 4*head[3])
	if _, err := io.ReadFull(r, sizes); err != nil {
		return t, nil, fmt.Errorf("idx: truncated header")
	}
	var shape []int
	n := t.Size()
	for k := 0; k < len(sizes); k += 4 {
		size := int(binary.BigEndian.Uint32(sizes[k:]))
		if shape = append(shape, size); size > 0 && n > (1<<50)/size {
			return t, nil, fmt.Errorf("idx: shape %v is implausibly large", shape)
		}
		n *= size
	}
	return t, shape, nil
}

// readRows reads big-endian elements, a few MiB at a time. allocate is called with the
// number of bytes that are in memory at once.
func (in *Array) readRows(r io.Reader, put func(storage.Array) error, allocate func(int) error) error {
	row := in.Type.Size()
	for _, n := range in.Shape[1:] {
		row *= n
	}
	if err := allocate(row); err != nil {
		return fmt.Errorf("idx: a row of shape %v: %w", in.Shape[1:], err)
	}
	for at := 0; at < in.Shape[0] && row > 0; {
		n := min(in.Shape[0]-at, max(1, blocks.Size/row))
		buf, err := readGrowing(r, n*row)
		if err != nil {
			return fmt.Errorf("idx: truncated after %d of %d rows", at+len(buf)/row, in.Shape[0])
		}
		serialize.NormalizeBytes(buf, in.Type, binary.BigEndian)
		rows := storage.Array{Data: storage.Wrap(buf), Type: in.Type, View: views.Of(append([]int{n}, in.Shape[1:]...)...)}
		if err := put(rows); err != nil {
			return err
		}
		at += n
	}
	if n, _ := io.ReadFull(r, make([]byte, 1)); n > 0 {
		return fmt.Errorf("idx: has data after the %d rows of its header", in.Shape[0])
	}
	return nil
}

// readGrowing reads n bytes, growing the buffer as data arrives.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	var buf []byte
	for len(buf) < n {
		at := len(buf)
		buf = slices.Grow(buf, min(n-at, max(at, 1<<20)))[:at+min(n-at, max(at, 1<<20))]
		got, err := io.ReadFull(r, buf[at:])
		if err != nil {
			return buf[:at+got], err
		}
	}
	return buf, nil
}
