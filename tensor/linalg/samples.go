package linalg

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// regular returns a matrix that is far from singular.
func regular(x *tensor.Tensor) *tensor.Tensor {
	return x.Add(tensor.Eye(x.DType(), x.Shape()[x.Rank()-1]).MulScalar(4))
}

// positive returns a symmetric positive definite matrix.
func positive(x *tensor.Tensor) *tensor.Tensor {
	return x.MatMul(x.T()).Add(tensor.Eye(x.DType(), x.Shape()[x.Rank()-1]))
}

// projected returns x times its transpose, in which the signs of its columns do not count.
func projected(x *tensor.Tensor) *tensor.Tensor {
	n := x.Shape()[x.Rank()-1]
	return x.Mul(mask(x, func(_, j int) float64 { return float64(j + 1) }, 1, n)).MatMul(x.T())
}

func init() {
	one := func(name string, f func(x *tensor.Tensor) *tensor.Tensor, in samples.Input) {
		samples.RegisterHostOnly(name, func(in ...*tensor.Tensor) *tensor.Tensor { return f(in[0]) }, in)
	}
	batch, square, tall, wide := samples.In(2, 3, 3).Rows(), samples.In(3, 3), samples.In(4, 3), samples.In(2, 3)
	one("inv", func(x *tensor.Tensor) *tensor.Tensor { return Inv(regular(x)) }, batch)
	samples.RegisterHostOnly("solve", func(in ...*tensor.Tensor) *tensor.Tensor { return Solve(regular(in[0]), in[1]) }, batch, samples.In(2, 3, 2).Rows())
	samples.RegisterHostOnly("solve vector", func(in ...*tensor.Tensor) *tensor.Tensor { return Solve(regular(in[0]), in[1]) }, square, samples.In(3))
	one("det", func(x *tensor.Tensor) *tensor.Tensor { return Det(regular(x)) }, batch)
	one("slogdet", func(x *tensor.Tensor) *tensor.Tensor { _, y := SLogDet(regular(x)); return y }, batch)
	one("matrix power", func(x *tensor.Tensor) *tensor.Tensor { return MatrixPower(regular(x), -3) }, square)
	one("cholesky", func(x *tensor.Tensor) *tensor.Tensor { return Cholesky(positive(x)) }, batch)
	one("qr", func(x *tensor.Tensor) *tensor.Tensor { q, r := QR(x); return projected(q).MatMul(q.MatMul(r)) }, tall)
	one("svd", func(x *tensor.Tensor) *tensor.Tensor { u, s, _ := SVD(x); return projected(u).Mul(s.Sum()) }, tall)
	one("svd wide", func(x *tensor.Tensor) *tensor.Tensor { _, _, vt := SVD(x); return projected(vt.T()) }, wide)
	one("svd values", SVDVals, samples.In(2, 3, 2).Rows())
	one("eigh", func(x *tensor.Tensor) *tensor.Tensor { l, v := EigH(x.Add(x.T())); return projected(v).Mul(l.Sum()) }, square)
	one("eig", func(x *tensor.Tensor) *tensor.Tensor {
		l, v := Eig(x)
		y := v.Mul(l.Unsqueeze(-2)).MatMul(v.Adjoint()) // in which neither the order nor the phases count
		return tensor.Cat(-1, y.Real(), y.Imag())
	}, batch)
	one("eig values", func(x *tensor.Tensor) *tensor.Tensor { y, _ := EigVals(x).Abs().Sort(-1, false); return y }, batch)
	complex := func(in []*tensor.Tensor) *tensor.Tensor { return tensor.Complex(regular(in[0]), in[1]) }
	samples.RegisterHostOnly("inv complex", func(in ...*tensor.Tensor) *tensor.Tensor {
		y := Inv(complex(in))
		return tensor.Cat(-1, y.Real(), y.Imag())
	}, batch, batch)
	samples.RegisterHostOnly("solve complex", func(in ...*tensor.Tensor) *tensor.Tensor {
		y := Solve(complex(in), in[2].Cast(complexType(in[2].DType())))
		return tensor.Cat(-1, y.Real(), y.Imag())
	}, batch, batch, samples.In(3, 2))
	one("pinv", Pinv, tall)
	one("pinv wide", Pinv, wide)
	samples.RegisterHostOnly("lstsq", func(in ...*tensor.Tensor) *tensor.Tensor { return Lstsq(in[0], in[1]) }, tall, samples.In(4, 2))
	one("matrix rank", MatrixRank, batch)
	samples.Register("matrix norm fro", func(in ...*tensor.Tensor) *tensor.Tensor { return MatrixNorm(in[0], "fro") }, batch)
	one("matrix norm nuc", func(x *tensor.Tensor) *tensor.Tensor { return MatrixNorm(x, "nuc") }, batch)
	one("matrix norm 2", func(x *tensor.Tensor) *tensor.Tensor { return MatrixNorm(x, "2") }, batch)
	samples.Register("matrix norm 1", func(in ...*tensor.Tensor) *tensor.Tensor { return MatrixNorm(in[0], "1") }, batch)
	samples.Register("matrix norm inf", func(in ...*tensor.Tensor) *tensor.Tensor { return MatrixNorm(in[0], "inf") }, batch)
}
