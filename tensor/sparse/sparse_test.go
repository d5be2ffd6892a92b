package sparse_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/sparse"
)

func Example() {
	indices := tensor.FromSlice([]int64{0, 1, 1, 2, 0, 2}, 2, 3)
	s := sparse.NewCOO(indices, tensor.FromSlice([]float32{3, 4, 5}, 3), 2, 3)
	fmt.Println(s)
	fmt.Println(s.ToCSR())
	x := tensor.FromSlice([]float32{1, 10, 100}, 3)
	fmt.Println(tensor.Values[float32](s.MatMul(x)))
	// Output:
	// tensor(indices=[[0 1 1]
	//                 [2 0 2]],
	//        values=[3. 4. 5.],
	//        size=(2, 3), nnz=3, dtype=float32, layout=sparse_coo)
	// tensor(crow_indices=[0 1 3],
	//        col_indices=[2 0 2],
	//        values=[3. 4. 5.],
	//        size=(2, 3), nnz=3, dtype=float32, layout=sparse_csr)
	// [300 504]
}

// onDevices runs f on the CPU and on a GPU, outside and inside of a step.
func onDevices(t *testing.T, f func(t *testing.T, in func(a storage.Array) *tensor.Tensor)) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		moved := func(a storage.Array) storage.Array { return tensor.FromArray(a).To(d).Array() }
		t.Run(d.String(), func(t *testing.T) {
			f(t, func(a storage.Array) *tensor.Tensor { return tensor.FromArray(moved(a)) })
		})
		t.Run(d.String()+" step", func(t *testing.T) {
			if err := tensor.Step(func(tape *tensor.Tape) error {
				f(t, func(a storage.Array) *tensor.Tensor { return tape.Input(moved(a)) })
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		})
		cudatest.Reset()
	}
}

// thinned returns (3, 4) of floats, about half of them 0, with a row and a column of zeros.
func thinned() storage.Array {
	return storage.From([]float64{1, 0, 0, -2, 0, 0, 0, 0, 3, 0, 4, 5}, 3, 4)
}

func near(t *testing.T, what string, got, want *tensor.Tensor) {
	t.Helper()
	if !slices.Equal(got.Shape(), want.Shape()) {
		t.Fatalf("%s: shape %v, want %v", what, got.Shape(), want.Shape())
	}
	w := tensor.Values[float64](want)
	for i, g := range tensor.Values[float64](got) {
		if g-w[i] > 1e-12 || w[i]-g > 1e-12 {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w[i])
		}
	}
}

// TestSparseTensorsComputeAsDenseOnes: values and gradients of everything, beside the same on dense tensors.
func TestSparseTensorsComputeAsDenseOnes(t *testing.T) {
	onDevices(t, func(t *testing.T, in func(a storage.Array) *tensor.Tensor) {
		x, y := in(thinned()).RequireGrad(), in(thinned()).RequireGrad()
		dense := in(tensor.Key{Seed: 1}.Rand(dtype.Float64, 4, 2).Array()).RequireGrad()
		again := in(dense.Detach().CPU().CloneDetached().Array()).RequireGrad()
		s := sparse.ToSparse(x)
		if s.NNZ() != 5 || !s.IsCoalesced() || !slices.Equal(s.Shape(), []int{3, 4}) {
			t.Errorf("%d values of %v, coalesced %v", s.NNZ(), s.Shape(), s.IsCoalesced())
		}
		near(t, "dense", s.ToDense(), y)
		near(t, "csr", s.ToCSR().ToDense(), y)
		near(t, "transposed", s.T().ToDense(), y.T())
		near(t, "transposed csr", s.ToCSR().T().ToDense(), y.T())
		near(t, "scaled", s.MulScalar(3).DivScalar(2).Neg().ToDense(), y.MulScalar(-1.5))
		near(t, "csr scaled", s.ToCSR().MulScalar(3).DivScalar(2).ToDense(), y.MulScalar(1.5))
		near(t, "mapped", s.Map((*tensor.Tensor).Tanh).ToDense(), y.Tanh())
		near(t, "squared", s.Mul(s).ToDense(), y.Mul(y))
		near(t, "times dense", s.MulDense(in(storage.From([]float64{1, 2, 3, 4}, 4))).ToDense(), y.Mul(in(storage.From([]float64{1, 2, 3, 4}, 4))))
		near(t, "sum with others", s.Add(s.Permute(0, 1)).ToDense(), y.MulScalar(2))
		near(t, "difference", s.Sub(s).ToDense(), y.Sub(y))
		near(t, "total", s.Sum(), y.Sum())
		near(t, "vector", s.MatMul(dense.Select(1, 0)), y.MatMul(dense.Narrow(1, 0, 1)).Select(1, 0))
		for name, product := range map[string]*tensor.Tensor{"coo": s.MatMul(dense), "csr": s.ToCSR().MatMul(dense)} {
			want := y.MatMul(again)
			near(t, name, product, want)
			o := tensor.GradOptions{RetainGraph: true}
			got := tensor.Grad([]*tensor.Tensor{product.Mul(product).Sum()}, []*tensor.Tensor{x, dense}, o)
			wanted := tensor.Grad([]*tensor.Tensor{want.Mul(want).Sum()}, []*tensor.Tensor{y, again}, o)
			near(t, name+": gradient of the dense matrix", got[1], wanted[1])
			kept := y.Ne(y.Sub(y)).Cast(dtype.Float64) // gradients reach the values that are there
			near(t, name+": gradient of the values", got[0], wanted[0].Mul(kept))
		}
	})
}

// TestCoalesceAddsValues of the same place, in their order, and their gradients.
func TestCoalesceAddsValues(t *testing.T) {
	onDevices(t, func(t *testing.T, in func(a storage.Array) *tensor.Tensor) {
		values := in(storage.From([]float64{1, 2, 4, 8}, 4)).RequireGrad()
		s := sparse.NewCOO(in(storage.From([]int32{1, 0, 1, 0, 2, 1, 2, 1}, 2, 4)), values, 2, 3)
		c := s.Coalesce()
		if got, want := fmt.Sprint(tensor.Values[int64](c.Indices()), tensor.Values[float64](c.Values())), "[0 1 1 2] [10 5]"; got != want {
			t.Errorf("coalesced %v, want %v", got, want)
		}
		near(t, "dense", s.ToDense(), in(storage.From([]float64{0, 10, 0, 0, 0, 5}, 2, 3)))
		y := c.ToDense().MulScalar(3).Sum()
		near(t, "gradient", tensor.Gradients(y)[values], in(storage.From([]float64{3, 3, 3, 3}, 4)))
	})
}

func TestEmptySparseTensors(t *testing.T) {
	for _, shape := range [][]int{{2, 3}, {0, 3}, {3, 0}, {2, 0, 4}, {5}} {
		s := sparse.ToSparse(tensor.Zeros(dtype.Float32, shape...))
		if d := s.Coalesce().ToDense(); s.NNZ() != 0 || !slices.Equal(d.Shape(), shape) {
			t.Errorf("%v: %d values, dense %v", shape, s.NNZ(), d.Shape())
		}
		if len(shape) == 2 {
			if y := s.ToCSR().MatMul(tensor.Ones(dtype.Float32, shape[1], 2)); !slices.Equal(y.Shape(), []int{shape[0], 2}) || y.Sum().Item() != 0 {
				t.Errorf("%v: product %v", shape, y.Shape())
			}
		}
	}
}

func TestSparseShapesWithoutData(t *testing.T) {
	s := sparse.NewCOO(tensor.NewMeta(dtype.Int64, 2, 5), tensor.NewMeta(dtype.Float32, 5), 3, 4)
	if y := s.MatMul(tensor.NewMeta(dtype.Float32, 4, 2)); !y.IsMeta() || !slices.Equal(y.Shape(), []int{3, 2}) {
		t.Errorf("product %v", y.Array())
	}
	if d := s.T().ToDense(); !d.IsMeta() || !slices.Equal(d.Shape(), []int{4, 3}) {
		t.Errorf("dense %v", d.Array())
	}
}

// TestCompressedGroups: the arrays of csr_matrix and csc_matrix of h5ad files, there and back.
func TestCompressedGroups(t *testing.T) {
	indptr, indices, data := storage.From([]int32{0, 2, 2, 5}, 4), storage.From([]int32{0, 3, 0, 2, 3}, 5), storage.From([]float32{1, -2, 3, 4, 5}, 5)
	rows, err := sparse.FromCompressed(indptr, indices, data, [2]int{3, 4}, false)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "csr", rows.ToDense(), tensor.FromArray(thinned()))
	columns, err := sparse.FromCompressed(indptr, indices, data, [2]int{4, 3}, true)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "csc", columns.ToDense(), tensor.FromArray(thinned()).T())
	p, i, d := rows.ToCOO().ToCSR().Compressed()
	if got, want := fmt.Sprint(storage.Elements[int64](p), storage.Elements[int64](i), storage.Elements[float32](d)), "[0 2 2 5] [0 3 0 2 3] [1 -2 3 4 5]"; got != want {
		t.Errorf("arrays %v, want %v", got, want)
	}
	if _, err := sparse.FromCompressed(indptr, indices, data, [2]int{3, 3}, false); fmt.Sprint(err) != "sparse csr: value 1 is at column 3 of 3" {
		t.Errorf("error %v", err)
	}
}

func TestSparseMistakesAreErrors(t *testing.T) {
	ints := func(elems ...int64) *tensor.Tensor { return tensor.FromSlice(elems, len(elems)) }
	one, two := tensor.Ones(dtype.Float32, 1), tensor.Ones(dtype.Float32, 2)
	eye := sparse.ToSparse(tensor.Eye(dtype.Float32, 2))
	for want, f := range map[string]func(){
		"sparse coo: value 0 is at index -1 of axis 1 of [2 3]":                                       func() { sparse.NewCOO(ints(0, -1).Reshape(2, 1), one, 2, 3) },
		"sparse coo: value 1 is at index 2 of axis 0 of [2 3]":                                        func() { sparse.NewCOO(ints(0, 2, 0, 0).Reshape(2, 2), two, 2, 3) },
		"sparse coo: indices [2] of int64 and values [1] for [2 3]; want integers (2, nnz) and (nnz)": func() { sparse.NewCOO(ints(0, 0), one, 2, 3) },
		"sparse csr: rows begin at 0 and end at 1 of 2 values":                                        func() { sparse.NewCSR(ints(0, 0, 1), ints(0, 0), two, 2, 2) },
		"sparse csr: row 1 begins at 3 and ends at 2":                                                 func() { sparse.NewCSR(ints(0, 3, 2), ints(0, 0), two, 2, 2) },
		"matmul: shapes [2 2] and [3]; want (m, k) and (k, n) or (k)":                                 func() { eye.MatMul(tensor.Ones(dtype.Float32, 3)) },
		"mul: of sparse tensors with values at different places; call ToDense, or MulDense":           func() { eye.Mul(sparse.NewCOO(ints(0, 1).Reshape(2, 1), one, 2, 2)) },
		"add: of sparse tensors [2 2] and [3 3]; want one shape":                                      func() { eye.Add(sparse.ToSparse(tensor.Eye(dtype.Float32, 3))) },
		"permute: order [0 0] of 2 axes":                                                              func() { eye.Permute(0, 0) },
		"T: of a sparse tensor [2]; want a matrix":                                                    func() { sparse.ToSparse(two).T() },
	} {
		if err := tensor.Try(f); fmt.Sprint(err) != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
