// Package linalg is linear algebra on matrices: the last two axes of tensors, for each place along the axes before. The work is
// gonum's, in float64, on the host: operands on other devices are refused, by name.
//
// Gradients follow the formulas of PyTorch, which hold where no denominator is 0: decompositions with equal
// singular values or eigenvalues have no finite ones. As they are expressions of tensors, second derivatives follow.
package linalg

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// An operation computes matrices from matrices, one batch place at a time.
type operation struct {
	name string
	// infer describes the results for one place: shapes from the shapes of the operands.
	infer func(in []tensor.Spec) []result
	// compute fills out, row-major elements of the results at one place, from the operands' matrices.
	compute func(in []*mat.Dense, out [][]float64) error
	// grad returns the gradients of the operands.
	grad func(out, grads, in []*tensor.Tensor) []*tensor.Tensor
}

// A result is the shape of a result at one place, and its type, if that is not the operands'.
type result struct {
	shape   []int
	complex bool
}

func (op operation) Name() string { return op.name }

func (op operation) Infer(in []tensor.Spec) []tensor.Spec {
	for _, x := range in {
		if x.Type != dtype.Float32 && x.Type != dtype.Float64 || x.Type != in[0].Type {
			tensor.Fail(op.name, tensor.ErrType, "of %v; want float32 or float64, of one type", x.Type)
		}
	}
	var specs []tensor.Spec
	for _, r := range op.infer(in) {
		t := in[0].Type
		if r.complex {
			t = complexType(t)
		}
		batch := in[0].Shape[:len(in[0].Shape)-2]
		specs = append(specs, tensor.Spec{Type: t, View: views.Of(append(append([]int{}, batch...), r.shape...)...)})
	}
	return specs
}

func (op operation) Forward(c *tensor.Context, out, in []storage.Array) error {
	if d := in[0].Data.Device(); d == tensor.Meta {
		return nil
	} else if d != storage.CPU {
		return fmt.Errorf("is computed on the host only, not on %v; move its operands there with CPU(): %w", d, storage.ErrDevice)
	}
	places := 1
	for _, n := range in[0].Shape[:in[0].Rank()-2] {
		places *= n
	}
	elems := make([][]float64, len(in))
	for i := range in {
		var err error
		if elems[i], err = storage.Read[float64](in[i]); err != nil {
			return err
		}
	}
	results := make([][]float64, len(out))
	parts := make([][]float64, len(out))
	each := make([]int, len(out))
	for i := range out {
		each[i] = out[i].Len() / max(places, 1)
		if out[i].Type.IsComplex() {
			each[i] *= 2
		}
		results[i] = make([]float64, each[i]*places)
	}
	for p := range places {
		matrices := make([]*mat.Dense, len(in))
		for i := range in {
			rows, cols := in[i].Shape[in[i].Rank()-2], in[i].Shape[in[i].Rank()-1]
			n := rows * cols
			if n == 0 {
				matrices[i] = &mat.Dense{}
				continue
			}
			matrices[i] = mat.NewDense(rows, cols, elems[i][p*n:(p+1)*n])
		}
		for i := range out {
			parts[i] = results[i][p*each[i] : (p+1)*each[i]]
		}
		if err := op.compute(matrices, parts); err != nil {
			if places > 1 {
				err = fmt.Errorf("matrix %d: %w", p, err)
			}
			return err
		}
	}
	for i := range out {
		from := storage.From(results[i], len(results[i]))
		if out[i].Type.IsComplex() {
			pairs := make([]complex128, len(results[i])/2)
			for k := range pairs {
				pairs[k] = complex(results[i][2*k], results[i][2*k+1])
			}
			from = storage.From(pairs, len(pairs))
		}
		if err := from.With(views.Of(out[i].Shape...)).CopyTo(out[i]); err != nil {
			return err
		}
	}
	return nil
}

func (op operation) Backward(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
	return op.grad(out, grads, in)
}

// square fails unless x is square matrices, and returns their size.
func square(op string, x tensor.Spec) int {
	n := matrices(op, x)[0]
	if x.Shape[len(x.Shape)-1] != n {
		tensor.Fail(op, tensor.ErrShape, "of %v; want square matrices", x.Shape)
	}
	return n
}

// matrices fails unless x has two axes, and returns the sizes of the last two.
func matrices(op string, x tensor.Spec) []int {
	if len(x.Shape) < 2 {
		tensor.Fail(op, tensor.ErrShape, "of %v; want matrices", x.Shape)
	}
	return x.Shape[len(x.Shape)-2:]
}

// errSingular is the failure of a matrix that has no inverse.
func errSingular() error { return fmt.Errorf("the matrix is singular: %w", tensor.ErrShape) }

// Inv returns the inverses of square matrices, of real or complex numbers. A singular matrix is an error.
func Inv(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsComplex() {
		return complexMatrix(Inv(realMatrix(x)).Narrow(-1, 0, square("inv", x.Spec())))
	}
	return tensor.Apply(inv, x)
}

// realMatrix returns the matrices (Re −Im; Im Re) of complex ones: their products and inverses have that form.
func realMatrix(x *tensor.Tensor) *tensor.Tensor {
	matrices("complex matrix", x.Spec())
	re, im := x.Real(), x.Imag()
	return tensor.Cat(-2, tensor.Cat(-1, re, im.Neg()), tensor.Cat(-1, im, re))
}

// complexMatrix returns the complex matrices whose parts are one above the other in x.
func complexMatrix(x *tensor.Tensor) *tensor.Tensor {
	n := x.Shape()[x.Rank()-2] / 2
	return tensor.Complex(x.Narrow(-2, 0, n), x.Narrow(-2, n, n))
}

var inv = operation{
	name: "inv",
	infer: func(in []tensor.Spec) []result {
		n := square("inv", in[0])
		return []result{{shape: []int{n, n}}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		var y mat.Dense
		if err := y.Inverse(in[0]); singular(err) {
			return errSingular()
		}
		copy(out[0], y.RawMatrix().Data)
		return nil
	},
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		y := out[0].T()
		return []*tensor.Tensor{y.MatMul(grads[0]).MatMul(y).Neg()}
	},
}

// singular reports whether err says that a matrix is exactly singular: results of an ill-conditioned one are used, as by PyTorch.
func singular(err error) bool {
	condition, ok := err.(mat.Condition)
	return err != nil && (!ok || math.IsInf(float64(condition), 1))
}

// Solve returns X of A·X = B for square matrices A, of real or complex numbers: B is matrices, whose leading axes and
// A's are broadcast, or vectors: one, or one for each matrix of A. A singular matrix is an error.
func Solve(a, b *tensor.Tensor) *tensor.Tensor {
	if b.Rank() == 1 || b.Rank() == a.Rank()-1 && equal(b.Shape(), a.Shape()[:a.Rank()-1]) {
		return Solve(a, b.Unsqueeze(-1)).Squeeze(-1)
	}
	if a.DType().IsComplex() || b.DType().IsComplex() {
		matrices("solve", b.Spec())
		b = b.Cast(complexType(b.DType()))
		return complexMatrix(Solve(realMatrix(a.Cast(complexType(a.DType()))), tensor.Cat(-2, b.Real(), b.Imag())))
	}
	sizes, columns := matrices("solve", a.Spec()), matrices("solve", b.Spec())
	if lead, ok := views.BroadcastShape(a.Shape()[:a.Rank()-2], b.Shape()[:b.Rank()-2]); ok {
		a, b = a.Expand(append(lead, sizes...)...), b.Expand(append(lead, columns...)...)
	}
	return tensor.Apply(solve, a, b)
}

// complexType returns the complex numbers with parts of type t.
func complexType(t dtype.Type) dtype.Type {
	switch t {
	case dtype.Float32:
		return dtype.Complex64
	case dtype.Float64:
		return dtype.Complex128
	}
	return t
}

var solve operation

func init() { // Solve's gradient solves
	solve = operation{
		name: "solve",
		infer: func(in []tensor.Spec) []result {
			n := square("solve", in[0])
			b := matrices("solve", in[1])
			if b[0] != n || !equal(in[0].Shape[:len(in[0].Shape)-2], in[1].Shape[:len(in[1].Shape)-2]) {
				tensor.Fail("solve", tensor.ErrShape, "%v and %v do not belong together", in[0].Shape, in[1].Shape)
			}
			return []result{{shape: []int{n, b[1]}}}
		},
		compute: func(in []*mat.Dense, out [][]float64) error {
			if in[1].IsEmpty() {
				return nil
			}
			var x mat.Dense
			if err := x.Solve(in[0], in[1]); singular(err) {
				return errSingular()
			}
			copy(out[0], x.RawMatrix().Data)
			return nil
		},
		grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
			db := Solve(in[0].T(), grads[0])
			return []*tensor.Tensor{db.MatMul(out[0].T()).Neg(), db}
		},
	}
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Det returns the determinants of square matrices. Its gradient needs an inverse.
func Det(x *tensor.Tensor) *tensor.Tensor { return tensor.Apply(det, x) }

var det = operation{
	name: "det",
	infer: func(in []tensor.Spec) []result {
		square("det", in[0])
		return []result{{shape: nil}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		out[0][0] = 1
		if !in[0].IsEmpty() {
			out[0][0] = mat.Det(in[0])
		}
		return nil
	},
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{Inv(in[0]).T().Mul(matrixOf(grads[0].Mul(out[0])))}
	},
}

// matrixOf returns numbers as 1×1 matrices.
func matrixOf(x *tensor.Tensor) *tensor.Tensor { return x.Unsqueeze(-1).Unsqueeze(-1) }

// SLogDet returns the signs of determinants, and the logarithms of their absolute values: 0 and −Inf of a singular matrix.
func SLogDet(x *tensor.Tensor) (sign, logAbs *tensor.Tensor) {
	out := tensor.ApplyAll(slogdet, x)
	return out[0], out[1]
}

var slogdet = operation{
	name: "slogdet",
	infer: func(in []tensor.Spec) []result {
		square("slogdet", in[0])
		return []result{{}, {}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		out[0][0] = 1
		if !in[0].IsEmpty() {
			out[1][0], out[0][0] = mat.LogDet(in[0])
		}
		if math.IsInf(out[1][0], -1) {
			out[0][0] = 0
		}
		return nil
	},
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		if grads[1] == nil {
			return []*tensor.Tensor{in[0].MulScalar(0)}
		}
		return []*tensor.Tensor{Inv(in[0]).T().Mul(matrixOf(grads[1]))}
	},
}

// MatrixPower returns the n-th power of square matrices, of their inverses if n is negative.
func MatrixPower(x *tensor.Tensor, n int) *tensor.Tensor {
	size := square("matrix power", x.Spec())
	if n < 0 {
		return MatrixPower(Inv(x), -n)
	}
	y := tensor.Eye(x.DType(), size).Expand(x.Shape()...)
	for first := true; n > 0; n /= 2 {
		switch {
		case n%2 == 1 && first:
			y, first = x, false
		case n%2 == 1:
			y = y.MatMul(x)
		}
		if n > 1 {
			x = x.MatMul(x)
		}
	}
	return y
}
