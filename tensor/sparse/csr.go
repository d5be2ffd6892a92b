package sparse

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A CSR is a sparse matrix (rows, columns): values starts[r] to starts[r+1] are the values of row r, at
// columns of the same places. Its tensors must not be written to.
type CSR struct {
	starts  *tensor.Tensor // int64 (rows+1)
	columns *tensor.Tensor // int64 (nnz)
	rows    *tensor.Tensor // int64 (nnz), which follows from starts
	values  *tensor.Tensor // (nnz)
	shape   []int
}

// NewCSR returns the sparse matrix with values (nnz) at columns (nnz), each row's from starts
// (rows+1) on, as in indptr, indices and data of SciPy and of h5ad. It checks them, and waits for
// the device.
func NewCSR(starts, columns, values *tensor.Tensor, rows, width int) *CSR {
	const act = "sparse csr"
	checkShape(act, []int{rows, width})
	if !starts.DType().IsInt() || !columns.DType().IsInt() || starts.Rank() != 1 || starts.Len() != rows+1 || values.Rank() != 1 || !slices.Equal(columns.Shape(), values.Shape()) {
		tensor.Fail(act, tensor.ErrShape, "starts %v, columns %v and values %v for (%d, %d); want integers (rows+1), integers (nnz) and (nnz)",
			starts.Shape(), columns.Shape(), values.Shape(), rows, width)
	}
	checkDevices(act, starts, columns, values)
	if starts.IsMeta() {
		tensor.Fail(act, tensor.ErrState, "the rows of values depend on starts, and meta tensors have no elements")
	}
	at, of := hostIndices(starts), make([]int64, 0, values.Len())
	if at[0] != 0 || at[rows] != int64(values.Len()) {
		tensor.Fail(act, tensor.ErrShape, "rows begin at %d and end at %d of %d values", at[0], at[rows], values.Len())
	}
	for row := range rows {
		if at[row+1] < at[row] {
			tensor.Fail(act, tensor.ErrShape, "row %d begins at %d and ends at %d", row, at[row], at[row+1])
		}
		for range at[row+1] - at[row] {
			of = append(of, int64(row))
		}
	}
	for k, column := range hostIndices(columns) {
		if column < 0 || column >= int64(width) {
			tensor.Fail(act, tensor.ErrShape, "value %d is at column %d of %d", k, column, width)
		}
	}
	return &CSR{starts.Detach().Cast(dtype.Int64), columns.Detach().Cast(dtype.Int64), onDevice(values.Device(), of), values, []int{rows, width}}
}

// FromCompressed returns the matrix of a group of an h5ad file or of SciPy, with the arrays indptr,
// indices and data, and shape (rows, columns), read to memory: csr_matrix, or csc_matrix if
// byColumns.
func FromCompressed(indptr, indices, data storage.Array, shape [2]int, byColumns bool) (s *CSR, err error) {
	err = tensor.Try(func() {
		in := func(a storage.Array) *tensor.Tensor { return tensor.FromArray(a).CPU() }
		if !byColumns {
			s = NewCSR(in(indptr), in(indices), in(data), shape[0], shape[1])
			return
		}
		s = NewCSR(in(indptr), in(indices), in(data), shape[1], shape[0]).T()
	})
	return s, err
}

// Compressed returns the arrays of s that a group csr_matrix of an h5ad file has: indptr, indices and
// data, in host memory.
func (s *CSR) Compressed() (indptr, indices, data storage.Array) {
	in := func(x *tensor.Tensor) storage.Array { return x.Detach().CPU().CloneDetached().Array() }
	return in(s.starts), in(s.columns), in(s.values)
}

// Starts returns where the values of each row begin and, last, their number: int64 (rows+1).
func (s *CSR) Starts() *tensor.Tensor { return s.starts }

// Columns returns the column of each value, int64 (nnz).
func (s *CSR) Columns() *tensor.Tensor { return s.columns }

// Values returns the values (nnz).
func (s *CSR) Values() *tensor.Tensor { return s.values }

// Shape returns the number of rows and of columns.
func (s *CSR) Shape() []int { return slices.Clone(s.shape) }

// NNZ returns the number of values.
func (s *CSR) NNZ() int { return s.values.Len() }

// To moves s as [tensor.Tensor.To] does; a type is the type of the values.
func (s *CSR) To(targets ...any) *CSR {
	values := s.values.To(targets...)
	d := values.Device()
	return &CSR{s.starts.To(d), s.columns.To(d), s.rows.To(d), values, s.shape}
}

// ToCOO returns s with the row of each value.
func (s *CSR) ToCOO() *COO {
	return &COO{indices: tensor.Cat(0, s.rows.Unsqueeze(0), s.columns.Unsqueeze(0)), values: s.values, shape: s.shape}
}

// ToDense returns s with all its elements.
func (s *CSR) ToDense() *tensor.Tensor { return s.ToCOO().ToDense() }

// MatMul returns the product of s (m, k) with a dense matrix x (k, n) or vector (k). It takes the
// memory of nnz rows of x.
func (s *CSR) MatMul(x *tensor.Tensor) *tensor.Tensor {
	return product(s.shape, s.rows, s.columns, s.values, x)
}

// MulScalar returns s·number.
func (s *CSR) MulScalar(number any) *CSR { return s.with(s.values.MulScalar(number)) }

// DivScalar returns s/number.
func (s *CSR) DivScalar(number any) *CSR { return s.with(s.values.DivScalar(number)) }

func (s *CSR) with(values *tensor.Tensor) *CSR {
	return &CSR{s.starts, s.columns, s.rows, values, s.shape}
}

// T returns the transpose of s, row by row.
func (s *CSR) T() *CSR { return s.ToCOO().T().ToCSR() }

// String prints s as PyTorch does. See [COO.String].
func (s *CSR) String() string {
	return text([]string{"crow_indices", "col_indices", "values"}, []*tensor.Tensor{s.starts, s.columns, s.values}, s.shape, s.NNZ(), "sparse_csr")
}
