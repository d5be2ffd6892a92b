package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// The products of this file are made of MatMul and of operations that share memory.

// wantRank fails unless x has that rank.
func (x *Tensor) wantRank(op string, rank int) {
	if x.Rank() != rank {
		fail(op, ErrShape, "of %v; want %d axes", x.Shape(), rank)
	}
}

// BMM returns the matrix products of x (b, n, m) and y (b, m, p), which are not broadcast.
func (x *Tensor) BMM(y *Tensor) *Tensor {
	x.wantRank("bmm", 3)
	y.wantRank("bmm", 3)
	if x.Shape()[0] != y.Shape()[0] {
		fail("bmm", ErrShape, "batches of %v and %v differ; MatMul broadcasts them", x.Shape(), y.Shape())
	}
	return x.MatMul(y)
}

// Dot returns Σ x·y of vectors.
func (x *Tensor) Dot(y *Tensor) *Tensor {
	x.wantRank("dot", 1)
	y.wantRank("dot", 1)
	return x.MatMul(y)
}

// VDot returns Σ x̄·y of vectors, for the conjugate x̄ of x.
func (x *Tensor) VDot(y *Tensor) *Tensor { return x.Conj().Dot(y) }

// MV returns the product of a matrix and a vector.
func (x *Tensor) MV(y *Tensor) *Tensor {
	x.wantRank("mv", 2)
	y.wantRank("mv", 1)
	return x.MatMul(y)
}

// Outer returns the products (n, m) of every element of x (n) and of y (m).
func (x *Tensor) Outer(y *Tensor) *Tensor {
	x.wantRank("outer", 1)
	y.wantRank("outer", 1)
	return x.Unsqueeze(1).Mul(y)
}

// AddMM returns x + a·b for matrices a and b.
func (x *Tensor) AddMM(a, b *Tensor) *Tensor {
	a.wantRank("addmm", 2)
	b.wantRank("addmm", 2)
	return x.Add(a.MatMul(b))
}

// GEMM returns alpha·a·b + beta·c. If beta is 0, c is not read, and may be nil.
func GEMM(alpha float64, a, b *Tensor, beta float64, c *Tensor) *Tensor {
	y := a.MatMul(b)
	if alpha != 1 {
		y = y.MulScalar(alpha)
	}
	if beta == 0 {
		return y
	}
	return y.Add(c.MulScalar(beta))
}

// Kron returns the Kronecker product of x and y, whose missing leading axes have size 1.
func (x *Tensor) Kron(y *Tensor) *Tensor {
	for x.Rank() < y.Rank() {
		x = x.Unsqueeze(0)
	}
	for y.Rank() < x.Rank() {
		y = y.Unsqueeze(0)
	}
	var shape []int
	for axis, n := range x.Shape() {
		shape = append(shape, n*y.Shape()[axis])
	}
	for axis := range shape {
		x, y = x.Unsqueeze(2*axis+1), y.Unsqueeze(2*axis)
	}
	return x.Mul(y).Contiguous().Reshape(shape...)
}

// Cross returns the vector products of x and y along axis, where both have size 3.
func (x *Tensor) Cross(y *Tensor, axis int) *Tensor {
	axis = x.axis("cross", axis)
	if x.Rank() != y.Rank() || x.Shape()[axis] != 3 || y.Shape()[axis] != 3 {
		fail("cross", ErrShape, "of %v and %v along axis %d; want size 3", x.Shape(), y.Shape(), axis)
	}
	turned := func(x *Tensor, by int) *Tensor {
		return Cat(axis, x.Narrow(axis, by, 3-by), x.Narrow(axis, 0, by))
	}
	return turned(x, 1).Mul(turned(y, 2)).Sub(turned(x, 2).Mul(turned(y, 1)))
}

// Trace returns the sum of the diagonal of a matrix.
func (x *Tensor) Trace() *Tensor {
	x.wantRank("trace", 2)
	return x.Diagonal(0, 0, 1).Sum()
}

// TensorDot returns the sums of x·y over axes of x and the others of y, in the same order. The axes of x that remain come
// first.
func (x *Tensor) TensorDot(y *Tensor, axes, others []int) *Tensor {
	if len(axes) != len(others) {
		fail("tensordot", ErrShape, "%d axes of one and %d of the other", len(axes), len(others))
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	if x.Rank()+y.Rank() > len(letters) {
		fail("tensordot", ErrShape, "%v and %v have more than %d axes", x.Shape(), y.Shape(), len(letters))
	}
	left, right := []byte(letters[:x.Rank()]), []byte(letters[x.Rank():x.Rank()+y.Rank()])
	outL, outR := slices.Clone(left), slices.Clone(right)
	for i := range axes {
		a, b := x.axis("tensordot", axes[i]), y.axis("tensordot", others[i])
		if x.Shape()[a] != y.Shape()[b] {
			fail("tensordot", ErrShape, "axis %d of %v and axis %d of %v differ", a, x.Shape(), b, y.Shape())
		}
		right[b], outL[a], outR[b] = left[a], ' ', ' '
	}
	return Einsum(string(left)+","+string(right)+"->"+string(outL)+string(outR), x, y)
}

func init() {
	two := func(f func(x, y *Tensor) *Tensor) func(in ...*Tensor) *Tensor {
		return func(in ...*Tensor) *Tensor { return f(in[0], in[1]) }
	}
	samples.Register("bmm", two((*Tensor).BMM), samples.In(2, 3, 4).Rows(), samples.In(2, 4, 2).Rows())
	samples.Register("dot", two((*Tensor).Dot), samples.In(4), samples.In(4))
	samples.Register("mv", two((*Tensor).MV), samples.In(3, 4).Rows(), samples.In(4))
	samples.Register("outer", two((*Tensor).Outer), samples.In(3).Rows(), samples.In(4))
	samples.Register("addmm", func(in ...*Tensor) *Tensor { return in[0].AddMM(in[1], in[2]) }, samples.In(2), samples.In(3, 4).Rows(), samples.In(4, 2))
	samples.Register("gemm", func(in ...*Tensor) *Tensor { return GEMM(0.5, in[1], in[2], 2, in[0]) }, samples.In(3, 2).Rows(), samples.In(3, 4).Rows(), samples.In(4, 2))
	samples.Register("kron", two((*Tensor).Kron), samples.In(2, 3).Rows(), samples.In(2, 2))
	samples.Register("cross", two(func(x, y *Tensor) *Tensor { return x.Cross(y, -1) }), samples.In(2, 3).Rows(), samples.In(2, 3).Rows())
	samples.Register("trace", unary((*Tensor).Trace), samples.In(3, 4))
	samples.Register("tensordot", two(func(x, y *Tensor) *Tensor { return x.TensorDot(y, []int{2, 1}, []int{0, -1}) }), samples.In(2, 3, 4).Rows(), samples.In(4, 2, 3))
}
