// Package sparse has tensors with few elements other than 0: COO lists the place of each of them,
// CSR lists them row by row of a matrix.
//
// Both are made of ordinary tensors, of indices and of values, on any device, and computed with by
// operations on these: gradients reach the values and dense operands, steps own the memory of
// results, and meta tensors give shapes. What sorts or counts indices (Coalesce, ToCSR, CSR.T) reads
// them on the host, and waits for the device; the values stay where they are.
//
// Shapes and elements follow PyTorch's sparse_coo and sparse_csr; values of more than one axis are
// refused. Errors are panics with *[tensor.Error], as in expressions.
package sparse

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A COO is a sparse tensor of any rank: value k is at the place indices[:, k]. Values at the same
// place add up. Its tensors must not be written to.
type COO struct {
	indices   *tensor.Tensor // int64 (rank, nnz)
	values    *tensor.Tensor // (nnz)
	shape     []int
	coalesced bool // whether places are in row-major order, each once
}

// NewCOO returns the sparse tensor of the given shape with values (nnz) at indices (rank, nnz), of
// integers. It checks that they are inside of shape, and waits for the device.
func NewCOO(indices, values *tensor.Tensor, shape ...int) *COO {
	const act = "sparse coo"
	checkShape(act, shape)
	if !indices.DType().IsInt() || indices.Rank() != 2 || values.Rank() != 1 || indices.Shape()[0] != len(shape) || indices.Shape()[1] != values.Len() {
		tensor.Fail(act, tensor.ErrShape, "indices %v of %v and values %v for %v; want integers (%d, nnz) and (nnz)",
			indices.Shape(), indices.DType(), values.Shape(), shape, len(shape))
	}
	checkDevices(act, indices, values)
	for k, at := range hostIndices(indices) {
		if axis := k / max(1, values.Len()); at < 0 || at >= int64(shape[axis]) {
			tensor.Fail(act, tensor.ErrShape, "value %d is at index %d of axis %d of %v", k%values.Len(), at, axis, shape)
		}
	}
	return &COO{indices: indices.Detach().Cast(dtype.Int64), values: values, shape: slices.Clone(shape)}
}

// ToSparse returns the elements of x that are not 0. Gradients flow back to x.
func ToSparse(x *tensor.Tensor) *COO {
	places := x.Detach().Nonzero() // (nnz, rank)
	s := &COO{indices: places.T().Contiguous(), shape: x.Shape(), coalesced: true}
	s.values = x.Flatten(0).IndexSelect(0, s.flat())
	return s
}

// flat returns the places of the values in row-major order, int64 (nnz).
func (s *COO) flat() *tensor.Tensor {
	steps := views.Of(s.shape...).Stride
	at := s.indices.Sum(0).MulScalar(0)
	for axis, step := range steps {
		at = at.Add(s.indices.Select(0, axis).MulScalar(step))
	}
	return at
}

// Indices returns the places of the values, int64 (rank, nnz).
func (s *COO) Indices() *tensor.Tensor { return s.indices }

// Values returns the values (nnz).
func (s *COO) Values() *tensor.Tensor { return s.values }

// Shape returns the sizes of the axes.
func (s *COO) Shape() []int { return slices.Clone(s.shape) }

// NNZ returns the number of values, some of which may be 0 or at the same place.
func (s *COO) NNZ() int { return s.values.Len() }

// IsCoalesced reports whether places are known to be in row-major order, each once.
func (s *COO) IsCoalesced() bool { return s.coalesced }

// To moves s as [tensor.Tensor.To] does; a type is the type of the values.
func (s *COO) To(targets ...any) *COO {
	values := s.values.To(targets...)
	return &COO{s.indices.To(values.Device()), values, s.shape, s.coalesced}
}

// Detach returns s without the history of its values.
func (s *COO) Detach() *COO { return s.with(s.values.Detach()) }

// with returns s with other values at the same places.
func (s *COO) with(values *tensor.Tensor) *COO { return &COO{s.indices, values, s.shape, s.coalesced} }

// ToDense returns s with all its elements.
func (s *COO) ToDense() *tensor.Tensor {
	n := views.Of(s.shape...).Len()
	return full(s.values, n).IndexAdd(0, s.flat(), s.values).Reshape(s.shape...)
}

// Coalesce returns s with its places in row-major order, each once; values at the same place are
// added, in their order.
func (s *COO) Coalesce() *COO {
	if s.coalesced {
		return s
	}
	places, n, rank := hostIndices(s.indices), s.NNZ(), len(s.shape)
	if s.indices.IsMeta() {
		tensor.Fail("coalesce", tensor.ErrState, "the number of places depends on values, which meta tensors do not have")
	}
	place := func(k, axis int) int64 { return places[axis*n+k] }
	order := make([]int64, n)
	for k := range order {
		order[k] = int64(k)
	}
	compare := func(a, b int64) int {
		for axis := range rank {
			if c := cmp.Compare(place(int(a), axis), place(int(b), axis)); c != 0 {
				return c
			}
		}
		return 0
	}
	slices.SortStableFunc(order, compare)
	first, to := []int64{}, make([]int64, n) // the first value of each place, and the place of each value in order
	for k, from := range order {
		if k == 0 || compare(order[k-1], from) != 0 {
			first = append(first, from)
		}
		to[k] = int64(len(first) - 1)
	}
	d := s.values.Device()
	sorted := s.values.IndexSelect(0, onDevice(d, order))
	return &COO{
		indices:   s.indices.IndexSelect(1, onDevice(d, first)),
		values:    full(s.values, len(first)).IndexAdd(0, onDevice(d, to), sorted),
		shape:     s.shape,
		coalesced: true,
	}
}

// Map returns s with f of its values, for an f of each value with f(0) = 0, such as Sqrt or a
// product with a number. Values at the same place are added first.
func (s *COO) Map(f func(values *tensor.Tensor) *tensor.Tensor) *COO {
	s = s.Coalesce()
	values := f(s.values)
	if !slices.Equal(values.Shape(), s.values.Shape()) {
		tensor.Fail("map", tensor.ErrShape, "of %d values gives %v", s.NNZ(), values.Shape())
	}
	return s.with(values)
}

// MulScalar returns s·number.
func (s *COO) MulScalar(number any) *COO { return s.with(s.values.MulScalar(number)) }

// DivScalar returns s/number.
func (s *COO) DivScalar(number any) *COO { return s.with(s.values.DivScalar(number)) }

// Neg returns -s.
func (s *COO) Neg() *COO { return s.with(s.values.Neg()) }

// Sum returns the sum of all elements.
func (s *COO) Sum() *tensor.Tensor { return s.values.Sum() }

// Add returns s + t, for the same shape, with the places of both.
func (s *COO) Add(t *COO) *COO {
	checkSameShape("add", s.shape, t.shape)
	if s.samePlaces(t) {
		return s.with(s.values.Add(t.values))
	}
	sum := &COO{tensor.Cat(1, s.indices, t.indices), tensor.Cat(0, s.values, t.values), s.shape, false}
	return sum.Coalesce()
}

// Sub returns s - t, for the same shape, with the places of both.
func (s *COO) Sub(t *COO) *COO { return s.Add(t.Neg()) }

// Mul returns the product of the elements of s and t, which have values at the same places.
func (s *COO) Mul(t *COO) *COO {
	checkSameShape("mul", s.shape, t.shape)
	s, t = s.Coalesce(), t.Coalesce()
	if !s.samePlaces(t) {
		tensor.Fail("mul", tensor.ErrState, "of sparse tensors with values at different places; call ToDense, or MulDense")
	}
	return s.with(s.values.Mul(t.values))
}

// MulDense returns the product of the elements of s and x, which is broadcast to its shape.
func (s *COO) MulDense(x *tensor.Tensor) *COO {
	x = x.Expand(s.shape...)
	return s.with(s.values.Mul(x.Flatten(0).IndexSelect(0, s.flat())))
}

// samePlaces reports whether values of s and t follow each other at the same places, once each.
func (s *COO) samePlaces(t *COO) bool {
	if s.indices == t.indices && s.coalesced {
		return true
	}
	return s.coalesced && t.coalesced && s.NNZ() == t.NNZ() && !s.indices.IsMeta() && slices.Equal(hostIndices(s.indices), hostIndices(t.indices))
}

// Permute reorders the axes: axis k of the result is axis order[k] of s.
func (s *COO) Permute(order ...int) *COO {
	shape, rows := make([]int, len(order)), make([]*tensor.Tensor, len(order))
	seen := map[int]bool{}
	for k, axis := range order {
		from, err := views.Axis(axis, len(s.shape))
		if err != nil || seen[from] || len(order) != len(s.shape) {
			tensor.Fail("permute", tensor.ErrShape, "order %v of %d axes", order, len(s.shape))
		}
		seen[from], shape[k], rows[k] = true, s.shape[from], s.indices.Select(0, from).Unsqueeze(0)
	}
	return &COO{tensor.Cat(0, rows...), s.values, shape, false}
}

// T returns the transpose of s, a matrix.
func (s *COO) T() *COO {
	wantMatrix("T", s.shape)
	return s.Permute(1, 0)
}

// MatMul returns the product of s (m, k) with a dense matrix x (k, n) or vector (k). It takes the
// memory of nnz rows of x.
func (s *COO) MatMul(x *tensor.Tensor) *tensor.Tensor {
	wantMatrix("matmul", s.shape)
	return product(s.shape, s.indices.Select(0, 0), s.indices.Select(0, 1), s.values, x)
}

// product adds up the rows of x at columns, times values, into rows.
func product(shape []int, rows, columns, values, x *tensor.Tensor) *tensor.Tensor {
	if (x.Rank() != 2 && x.Rank() != 1) || x.Shape()[0] != shape[1] {
		tensor.Fail("matmul", tensor.ErrShape, "shapes %v and %v; want (m, k) and (k, n) or (k)", shape, x.Shape())
	}
	checkDevices("matmul", values, x)
	common, err := dtype.Promote(values.DType(), x.DType())
	if err != nil {
		tensor.Fail("matmul", tensor.ErrType, "%v", err)
	}
	picked, factors := x.Cast(common).IndexSelect(0, columns), values.Cast(common)
	if x.Rank() == 2 {
		factors = factors.Unsqueeze(1)
	}
	return full(factors, append([]int{shape[0]}, x.Shape()[1:]...)...).IndexAdd(0, rows, picked.Mul(factors))
}

// ToCSR returns s, a matrix, row by row; values at the same place are added.
func (s *COO) ToCSR() *CSR {
	wantMatrix("to csr", s.shape)
	s = s.Coalesce()
	n := s.NNZ()
	starts := make([]int64, s.shape[0]+1)
	for _, row := range hostIndices(s.indices)[:n] {
		starts[row+1]++
	}
	for row := range s.shape[0] {
		starts[row+1] += starts[row]
	}
	return &CSR{onDevice(s.values.Device(), starts), s.indices.Select(0, 1).Contiguous(), s.indices.Select(0, 0).Contiguous(), s.values, s.shape}
}

// String prints s as PyTorch does: indices, values, size and nnz. The elements of a tensor on another
// device than the CPU are left out.
func (s *COO) String() string {
	return text([]string{"indices", "values"}, []*tensor.Tensor{s.indices, s.values}, s.shape, s.NNZ(), "sparse_coo")
}

func text(names []string, parts []*tensor.Tensor, shape []int, nnz int, layout string) string {
	var b strings.Builder
	b.WriteString("tensor(")
	for i, x := range parts {
		elems := x.Array().String()
		if x.Device() == storage.CPU {
			if printed, err := arrayfmt.Format(x.Array(), 75); err == nil {
				elems = printed
			}
		}
		indent := "\n" + strings.Repeat(" ", len("tensor(")+len(names[i])+1)
		fmt.Fprintf(&b, "%s=%s,\n       ", names[i], strings.ReplaceAll(elems, "\n", indent))
	}
	sizes := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(shape), "[]")), ", ")
	fmt.Fprintf(&b, "size=(%s), nnz=%d, dtype=%v, layout=%s)", sizes, nnz, parts[len(parts)-1].DType(), layout)
	return b.String()
}

// full returns zeros of the given shape, of the type, device and step of x.
func full(x *tensor.Tensor, shape ...int) *tensor.Tensor {
	return x.Detach().Flatten(0).Slice(0, 0, 0, 1).Sum().Expand(shape...)
}

func onDevice(d storage.Device, elems []int64) *tensor.Tensor {
	return tensor.FromSlice(elems, len(elems)).To(d)
}

// hostIndices returns the elements of x, none of a meta tensor.
func hostIndices(x *tensor.Tensor) []int64 {
	if x.IsMeta() {
		return nil
	}
	return tensor.Values[int64](x)
}

func checkShape(act string, shape []int) {
	if _, err := views.New(shape, 1<<62); err != nil {
		tensor.Fail(act, tensor.ErrShape, "%v", err)
	}
}

func checkSameShape(act string, a, b []int) {
	if !slices.Equal(a, b) {
		tensor.Fail(act, tensor.ErrShape, "of sparse tensors %v and %v; want one shape", a, b)
	}
}

func wantMatrix(act string, shape []int) {
	if len(shape) != 2 {
		tensor.Fail(act, tensor.ErrShape, "of a sparse tensor %v; want a matrix", shape)
	}
}

func checkDevices(act string, xs ...*tensor.Tensor) {
	for _, x := range xs[1:] {
		if x.Device() != xs[0].Device() {
			tensor.Fail(act, tensor.ErrDevice, "operands on %v and %v; move one with To", xs[0].Device(), x.Device())
		}
	}
}
