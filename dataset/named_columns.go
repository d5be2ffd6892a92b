package dataset

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/sparse"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// MapColumns returns an array of rows with other columns, such as the genes of several files by their names: to[k] is the place of
// column k of a among width of them, or -1 to leave it out. Columns that none goes to are 0. Sparse matrices that are compressed by rows are decoded
// to these columns; of others whole rows are read.
func MapColumns(name string, a storage.Array, to []int32, width int) (storage.Array, error) {
	if a.Rank() != 2 || a.Shape[1] != len(to) {
		return a, fmt.Errorf("dataset: %s: shape %v and %d columns: %w", name, a.Shape, len(to), views.ErrShape)
	}
	if mapped, ok := sparse.MapColumns(a, to, width); ok {
		return mapped, nil
	}
	rows := Ragged{Name: name, Rows: a.Shape[0], Type: a.Type, MaxLength: width, ChunkRows: 1}
	if chunked, ok := a.Data.(storage.Chunked); ok && len(chunked.ChunkShape()) > 0 {
		rows.ChunkRows = chunked.ChunkShape()[0]
	}
	size := a.Type.Size()
	rows.Read = func(dst []byte, first, n, _ int) error {
		row := len(to) * size
		stored := make([]byte, n*row)
		if err := fetch(stored, a, first, n); err != nil {
			return err
		}
		clear(dst)
		for k := range n {
			from, into := stored[k*row:(k+1)*row], dst[k*width*size:(k+1)*width*size]
			for column, place := range to {
				if place >= 0 {
					copy(into[int(place)*size:][:size], from[column*size:])
				}
			}
		}
		return nil
	}
	return rows.Padded(0)
}

// MapNumbers returns rows of integers from 0 on, such as columns of a sparse matrix, with to[k] in the place of k.
func MapNumbers(r Ragged, to []int32) Ragged {
	read := r.Read
	r.Read = func(dst []byte, first, n, length int) error {
		if err := read(dst, first, n, length); err != nil {
			return err
		}
		if r.Type == dtype.Int32 {
			return mapNumbers(storage.Elements[int32](storage.Array{Data: storage.Wrap(dst), Type: r.Type, View: views.Of(n * length)}), to)
		}
		return mapNumbers(storage.Elements[int64](storage.Array{Data: storage.Wrap(dst), Type: r.Type, View: views.Of(n * length)}), to)
	}
	return r
}

func mapNumbers[T int32 | int64](numbers []T, to []int32) error {
	for i, k := range numbers {
		if uint64(k) >= uint64(len(to)) {
			return fmt.Errorf("column %d of a stored element, of %d: %w", k, len(to), views.ErrShape)
		}
		numbers[i] = T(to[k])
	}
	return nil
}

// SortColumns sorts the elements of padded rows of a sparse matrix by their columns, of type t, without those at negative ones, whose
// values have size bytes. It makes lengths the lengths of the rows that remain.
func SortColumns(values []byte, size int, columns []byte, t dtype.Type, lengths []int64) {
	if len(lengths) == 0 {
		return
	}
	length := len(values) / size / len(lengths)
	a := storage.Array{Data: storage.Wrap(columns), Type: t, View: views.Of(len(lengths) * length)}
	if t == dtype.Int32 {
		sortColumns(values, size, storage.Elements[int32](a), length, lengths)
	} else {
		sortColumns(values, size, storage.Elements[int64](a), length, lengths)
	}
}

func sortColumns[T int32 | int64](values []byte, size int, columns []T, length int, lengths []int64) {
	type element struct {
		column T
		at     int
	}
	var kept []element
	was := make([]byte, length*size)
	for row, n := range lengths {
		columns, values := columns[row*length:][:n], values[row*length*size:][:int(n)*size]
		kept = kept[:0]
		for at, column := range columns {
			if column >= 0 {
				kept = append(kept, element{column, at})
			}
		}
		lengths[row] = int64(len(kept))
		slices.SortFunc(kept, func(a, b element) int { return int(a.column) - int(b.column) })
		copy(was, values)
		for k, e := range kept {
			columns[k] = e.column
			copy(values[k*size:(k+1)*size], was[e.at*size:])
		}
	}
}
