package dataset

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// rowOffsets divide values into rows: row i is values c[i] to c[i+1]-1.
type rowOffsets []int64

// readOffsets reads offsets into values, and checks that they ascend and are in range.
func readOffsets(name string, values, offsets storage.Array) (rowOffsets, error) {
	switch {
	case values.Rank() == 0 || offsets.Rank() != 1 || offsets.Shape[0] == 0 || !offsets.Type.IsInt():
		return nil, fmt.Errorf("dataset: %s: values of shape %v with offsets %v%v; want a one-dimensional array of integers, one more than there are rows: %w", name, values.Shape, offsets.Type, offsets.Shape, views.ErrShape)
	case offsets.Shape[0] > maxListedRows:
		return nil, fmt.Errorf("dataset: %s: %d rows of different lengths, at most %d are supported; split the file, or slice it", name, offsets.Shape[0]-1, maxListedRows)
	}
	c, err := storage.Read[int64](offsets)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: offsets: %w", name, err)
	}
	if !slices.IsSorted(c) || c[0] < 0 || c[len(c)-1] > int64(values.Shape[0]) {
		return nil, fmt.Errorf("dataset: %s: offsets %d … %d into %d values; want them to ascend from 0 on: %w", name, c[0], c[len(c)-1], values.Shape[0], views.ErrShape)
	}
	return c, nil
}

// chunksPerRead is how many chunks of values are best read together, so that few of
// them are decoded twice because a read ends inside.
const chunksPerRead = 4

// ragged describes the rows.
func (c rowOffsets) ragged(name string, values storage.Array) Ragged {
	r := Ragged{Name: name, Rows: len(c) - 1, Type: values.Type, ElementShape: values.Shape[1:], ChunkRows: 1, IndexBytes: 8 * len(c)}
	for i := range r.Rows {
		r.MaxLength = max(r.MaxLength, c.len(i))
	}
	if source, ok := values.Data.(storage.Chunked); ok && len(source.ChunkShape()) > 0 && r.Rows > 0 {
		mean := max(1, int(c[r.Rows]-c[0])/r.Rows)
		r.ChunkRows = max(1, chunksPerRead*source.ChunkShape()[0]/mean)
	}
	return r
}

func (c rowOffsets) len(i int) int { return int(c[i+1] - c[i]) }

// read reads rows of values and pads them. If all of them fit, they are read at once
// to the end of dst and then moved to their places, the first row first, so that none
// is overwritten before it was moved.
func (c rowOffsets) read(dst []byte, values storage.Array, first, n, length int) error {
	element := values.Type.Size() * views.Of(values.Shape[1:]...).Len()
	row := length * element
	if c.anyLonger(first, n, length) {
		for k := range n {
			if err := c.readTruncated(dst[k*row:(k+1)*row], values, first+k, length, element); err != nil {
				return err
			}
		}
		return nil
	}
	total := int(c[first+n]-c[first]) * element
	packed := dst[n*row-total : n*row]
	if err := fetch(packed, values, int(c[first]), total/max(1, element)); err != nil {
		return err
	}
	for k := range n {
		part := c.len(first+k) * element
		copy(dst[k*row:], packed[:part])
		clear(dst[k*row+part : (k+1)*row])
		packed = packed[part:]
	}
	return nil
}

func (c rowOffsets) anyLonger(first, n, length int) bool {
	for i := first; i < first+n; i++ {
		if c.len(i) > length {
			return true
		}
	}
	return false
}

// readTruncated reads the front of one row.
func (c rowOffsets) readTruncated(dst []byte, values storage.Array, i, length, element int) error {
	n := min(c.len(i), length)
	clear(dst[n*element:])
	return fetch(dst[:n*element], values, int(c[i]), n)
}

// fetch reads n elements of a's first axis to dst.
func fetch(dst []byte, a storage.Array, first, n int) error {
	if n == 0 {
		return nil
	}
	v := samples(a.View, first, n)
	return a.With(v).CopyTo(storage.Array{Data: storage.Wrap(dst), Type: a.Type, View: views.Of(v.Shape...)})
}
