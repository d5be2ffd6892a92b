package main

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// compact makes the padded rows of the sparse inputs of a batch matrices, of three arrays: values, the column of each
// in the place of columns, and offsets of rows, of the type of columns, in the place of lengths. The padded arrays are
// released, also in an error.
func (l *loader) compact(fields []storage.Array) (out []storage.Array, err error) {
	out = slices.Clone(fields)
	position := func(name string) int {
		return slices.IndexFunc(l.Fields(), func(f dataset.Field) bool { return f.Name == name })
	}
	for _, name := range l.csr {
		in := l.data.CSR[name]
		at := []int{position(name), position(in.Columns), position(in.Lengths)}
		lengths := storage.Elements[int64](fields[at[2]])[:fields[at[2]].Shape[0]]
		if in.Mapped {
			values, _ := fields[at[0]].Bytes()
			columns, _ := fields[at[1]].Bytes()
			dataset.SortColumns(values, fields[at[0]].Type.Size(), columns, fields[at[1]].Type, lengths)
		}
		total := 0
		for _, n := range lengths {
			total += int(n)
		}
		for _, i := range at[:2] {
			if out[i], err = l.pool.make(fields[i].Type, total); err != nil {
				return nil, err
			}
			padded, _ := fields[i].Bytes()
			dataset.Compact(out[i].Data.(*block).bytes, padded, lengths, fields[i].Type.Size())
		}
		if err := checkColumns(out[at[1]], in.Width); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if out[at[2]], err = l.pool.make(fields[at[1]].Type, len(lengths)+1); err != nil {
			return nil, err
		}
		offsets := make([]int64, len(lengths)+1)
		for k, n := range lengths {
			offsets[k+1] = offsets[k] + n
		}
		if err := dtype.ConvertChecked(out[at[2]].Data.(*block).bytes[:len(offsets)*out[at[2]].Type.Size()], out[at[2]].Type, dtype.Bytes(offsets), dtype.Int64); err != nil {
			return nil, err
		}
		for _, i := range at {
			fields[i].Data.(*block).release()
		}
	}
	return out, nil
}

// checkColumns refuses columns that a matrix does not have, which other libraries read and write unchecked.
func checkColumns(a storage.Array, width int) error {
	if a.Type == dtype.Int32 {
		return columnsWithin(storage.Elements[int32](a)[:a.Len()], int32(min(width-1, math.MaxInt32)))
	}
	return columnsWithin(storage.Elements[int64](a)[:a.Len()], int64(width-1))
}

func columnsWithin[T int32 | int64](columns []T, last T) error {
	var outside T // below 0 if a column is, or is beyond the last
	for _, column := range columns {
		outside |= column | (last - column)
	}
	if outside >= 0 {
		return nil
	}
	wrong := slices.IndexFunc(columns, func(column T) bool { return column < 0 || column > last })
	return fmt.Errorf("column %d of a stored element, of %d: %w", columns[wrong], int(last)+1, views.ErrShape)
}

// make returns an array of n elements in a block of one of few sizes, so that blocks of arrays of different lengths
// are used again: sizes have three significant bits.
func (p *pool) make(t dtype.Type, n int) (storage.Array, error) {
	size := max(1, n*t.Size())
	step := 1 << max(0, bits.Len(uint(size))-3)
	data, err := p.alloc((size + step - 1) / step * step)
	return storage.Array{Data: data, Type: t, View: views.Of(n)}, err
}
