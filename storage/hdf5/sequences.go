package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// Sequences is a one-dimensional dataset whose elements are number sequences of variable
// length, its rows.
type Sequences struct {
	Type   dtype.Type // of the numbers
	Shape  []int      // of an element of a row, if the elements are arrays
	Rows   int
	MaxLen int // length of the longest row

	d *Dataset
	conversion
}

// rowsPerRead is the number of rows whose pointers are read at a time.
const rowsPerRead = 1 << 12

// Sequences returns the dataset's rows. It reads their lengths, not their numbers.
func (d *Dataset) Sequences() (*Sequences, error) {
	s, err := d.sequences()
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	return s, nil
}

func (d *Dataset) sequences() (*Sequences, error) {
	if d.Type.Class != ClassVarLen || d.Type.Text.Variable || len(d.Shape) != 1 {
		return nil, fmt.Errorf("%v of shape %v, not a one-dimensional dataset of sequences: %w", d.Type, d.Shape, dtype.ErrType)
	}
	n, err := d.Type.Base.conversion()
	if err != nil {
		return nil, err
	}
	s := &Sequences{Type: n.to, Shape: n.dims, Rows: d.Shape[0], d: d, conversion: n}
	err = s.each(0, s.Rows, func(_ int, v varLen) error {
		if length := v.n; length > d.file.size/max(1, d.Type.Base.Size) {
			return fmt.Errorf("sequence of %d elements in a file of %d bytes", length, d.file.size)
		}
		s.MaxLen = max(s.MaxLen, v.n)
		return nil
	})
	return s, err
}

// each calls f with the pointers of rows first to first+n-1.
func (s *Sequences) each(first, n int, f func(k int, v varLen) error) error {
	for k := 0; k < n; k += rowsPerRead {
		raw, err := s.d.Raw(views.View{Offset: first + k, Shape: []int{min(rowsPerRead, n-k)}, Stride: []int{1}})
		if err != nil {
			return err
		}
		s.d.file.cacheCollections(s.d.Type, raw)
		for i := 0; len(raw) > 0; i, raw = i+1, raw[s.d.Type.Size:] {
			v, err := s.d.file.parseVarLen(raw[:s.d.Type.Size])
			if err == nil {
				err = f(k+i, v)
			}
			if err != nil {
				return fmt.Errorf("row %d: %w", first+k+i, err)
			}
		}
	}
	return nil
}

// Lengths returns how many elements each row has.
func (s *Sequences) Lengths() ([]int64, error) {
	lengths := make([]int64, s.Rows)
	err := s.each(0, s.Rows, func(k int, v varLen) error {
		lengths[k] = int64(v.n)
		return nil
	})
	if err != nil {
		return nil, s.d.file.fail(s.d.Path, err)
	}
	return lengths, nil
}

// Read reads rows first to first+n-1 into dst, each as length elements: longer rows are
// truncated, shorter ones padded with zeros.
func (s *Sequences) Read(dst []byte, first, n, length int) error {
	if first < 0 || n < 0 || first+n > s.Rows {
		return s.d.file.fail(s.d.Path, fmt.Errorf("rows %d to %d of %d: %w", first, first+n-1, s.Rows, views.ErrShape))
	}
	row := length * s.to.Size() * views.Of(s.Shape...).Len()
	clear(dst[:n*row])
	return s.each(first, n, func(k int, v varLen) error {
		return s.decode(dst[k*row:(k+1)*row], min(v.n, length), v)
	})
}

// decode writes the first n elements of a row.
func (s *Sequences) decode(dst []byte, n int, v varLen) error {
	data, err := s.d.file.varLenData(s.d.Type, v)
	if err != nil || data == nil {
		return err
	}
	s.write(dst, data[:n*s.d.Type.Base.Size])
	return nil
}
