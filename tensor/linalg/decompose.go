package linalg

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// Cholesky returns the lower triangular L with A = L·Lᵀ for symmetric positive definite matrices. Their lower triangle
// is read. Others are an error.
func Cholesky(x *tensor.Tensor) *tensor.Tensor { return tensor.Apply(cholesky, x) }

var cholesky = operation{
	name: "cholesky",
	infer: func(in []tensor.Spec) []result {
		n := square("cholesky", in[0])
		return []result{{shape: []int{n, n}}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		var c mat.Cholesky
		if !c.Factorize(symmetric(in[0])) {
			return fmt.Errorf("the matrix is not positive definite: %w", tensor.ErrShape)
		}
		var l mat.TriDense
		c.LTo(&l)
		n, _ := l.Dims()
		mat.NewDense(n, n, out[0]).Copy(&l)
		return nil
	},
	// Murray, arXiv:1602.07527, section 3: Lᵀ·dL's lower triangle with half of its diagonal, between L⁻ᵀ and L⁻¹.
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		l := out[0]
		n := l.Shape()[l.Rank()-1]
		lower := mask(l, func(i, j int) float64 {
			switch {
			case i > j:
				return 1
			case i == j:
				return 0.5
			}
			return 0
		}, n, n)
		p := l.T().MatMul(grads[0]).Mul(lower)
		s := Solve(l.T(), Solve(l.T(), p.T()).T()) // L⁻ᵀ·P·L⁻¹
		return []*tensor.Tensor{s.Add(s.T()).MulScalar(0.5)}
	},
}

// symmetric returns the symmetric matrix with the lower triangle of x.
func symmetric(x *mat.Dense) *mat.SymDense {
	n, _ := x.Dims()
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			s.SetSym(i, j, x.At(i, j))
		}
	}
	return s
}

// mask returns the n×m matrix of f, of the type and on the device of x.
func mask(x *tensor.Tensor, f func(i, j int) float64, n, m int) *tensor.Tensor {
	elems := make([]float64, n*m)
	for k := range elems {
		elems[k] = f(k/m, k%m)
	}
	return tensor.FromSlice(elems, n, m).Cast(x.DType())
}

// QR returns Q (…, m, k) with orthonormal columns and upper triangular R (…, k, n), with A = Q·R, for the smaller k of m and n. It has a
// gradient if m ≥ n.
func QR(x *tensor.Tensor) (q, r *tensor.Tensor) {
	out := tensor.ApplyAll(qr, x)
	return out[0], out[1]
}

var qr = operation{
	name: "qr",
	infer: func(in []tensor.Spec) []result {
		s := matrices("qr", in[0])
		k := min(s[0], s[1])
		return []result{{shape: []int{s[0], k}}, {shape: []int{k, s[1]}}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		m, n := in[0].Dims()
		k := min(m, n)
		square := in[0] // gonum's QR is of tall matrices: the first columns of a wide one give Q
		if m < n {
			square = in[0].Slice(0, m, 0, m).(*mat.Dense)
		}
		var f mat.QR
		f.Factorize(square)
		var q mat.Dense
		f.QTo(&q)
		first := mat.NewDense(m, k, out[0])
		first.Copy(q.Slice(0, m, 0, k))
		r := mat.NewDense(k, n, out[1])
		r.Mul(first.T(), in[0])
		for i := range k {
			for j := range min(i, n) {
				r.Set(i, j, 0)
			}
		}
		return nil
	},
	// Walter and Lehmann, arXiv:1009.6112, section 4.
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		q, r := out[0], out[1]
		n := r.Shape()[r.Rank()-1]
		if k := r.Shape()[r.Rank()-2]; k < n {
			tensor.Fail("qr", tensor.ErrState, "of a wide matrix has no derivative; transpose it")
		}
		dq, dr := orZeros(grads[0], q), orZeros(grads[1], r)
		m := r.MatMul(dr.T()).Sub(dq.T().MatMul(q))
		lower := m.Mul(mask(m, func(i, j int) float64 { return step(i > j) }, n, n))
		diagonal := m.Mul(mask(m, func(i, j int) float64 { return step(i == j) }, n, n))
		b := dq.Add(q.MatMul(lower.Add(lower.T()).Add(diagonal)))
		return []*tensor.Tensor{Solve(r, b.T()).T()}
	},
}

func step(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func orZeros(g, x *tensor.Tensor) *tensor.Tensor {
	if g == nil {
		return x.Detach().MulScalar(0)
	}
	return g
}

// SVD returns U (…, m, k), the singular values S (…, k) in descending order, and Vᵀ (…, k, n), with A = U·diag(S)·Vᵀ, for the smaller k of m
// and n.
func SVD(x *tensor.Tensor) (u, s, vt *tensor.Tensor) {
	out := tensor.ApplyAll(svd, x)
	return out[0], out[1], out[2]
}

// SVDVals returns the singular values of matrices, in descending order.
func SVDVals(x *tensor.Tensor) *tensor.Tensor {
	_, s, _ := SVD(x)
	return s
}

var svd = operation{
	name: "svd",
	infer: func(in []tensor.Spec) []result {
		s := matrices("svd", in[0])
		k := min(s[0], s[1])
		return []result{{shape: []int{s[0], k}}, {shape: []int{k}}, {shape: []int{k, s[1]}}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		m, n := in[0].Dims()
		var f mat.SVD
		if !f.Factorize(in[0], mat.SVDThin) {
			return fmt.Errorf("does not converge: %w", tensor.ErrShape)
		}
		var u, v mat.Dense
		f.UTo(&u)
		f.VTo(&v)
		mat.NewDense(m, min(m, n), out[0]).Copy(&u)
		f.Values(out[1])
		mat.NewDense(min(m, n), n, out[2]).Copy(v.T())
		return nil
	},
	grad: svdGrad,
}

// svdGrad is U·[(skew(Uᵀ·dU)/E)·S + S·(skew(Vᵀ·dV)/E) + diag(dS)]·Vᵀ, and what of dU and dV is outside of the columns of U and V, with
// E[i, j] = S[j]² − S[i]²: Townsend, "Differentiating the singular value decomposition" (2016).
func svdGrad(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
	u, s, v := out[0], out[1], out[2].T()
	du, dv := orZeros(grads[0], u), orZeros(grads[2], out[2]).T()
	row, col := s.Unsqueeze(-2), s.Unsqueeze(-1)
	m := diagonal(orZeros(grads[1], s))
	if grads[0] != nil || grads[2] != nil {
		e := apart(col.Mul(col), row.Mul(row))
		skew := func(x *tensor.Tensor) *tensor.Tensor { return x.Sub(x.T()).Div(e) }
		m = m.Add(skew(u.T().MatMul(du)).Mul(row)).Add(skew(v.T().MatMul(dv)).Mul(col))
	}
	dx := u.MatMul(m).MatMul(v.T())
	if grads[0] != nil && u.Shape()[u.Rank()-2] > u.Shape()[u.Rank()-1] {
		dx = dx.Add(outside(u, du).Div(row).MatMul(v.T()))
	}
	if grads[2] != nil && v.Shape()[v.Rank()-2] > v.Shape()[v.Rank()-1] {
		dx = dx.Add(u.MatMul(outside(v, dv).Div(row).T()))
	}
	return []*tensor.Tensor{dx}
}

// outside returns the part of dx that is orthogonal to the orthonormal columns of x.
func outside(x, dx *tensor.Tensor) *tensor.Tensor {
	return dx.Sub(x.MatMul(x.T().MatMul(dx)))
}

// apart returns row − col, and 1 on the diagonal.
func apart(col, row *tensor.Tensor) *tensor.Tensor {
	n := row.Shape()[row.Rank()-1]
	return row.Sub(col).Add(tensor.Eye(row.DType(), n))
}

// diagonal returns diagonal matrices with the elements of x.
func diagonal(x *tensor.Tensor) *tensor.Tensor {
	return x.Unsqueeze(-1).Mul(tensor.Eye(x.DType(), x.Shape()[x.Rank()-1]))
}

// EigH returns the eigenvalues (…, n) of symmetric matrices in ascending order, and eigenvectors in the columns of (…, n, n). The lower triangle
// is read.
func EigH(x *tensor.Tensor) (values, vectors *tensor.Tensor) {
	out := tensor.ApplyAll(eigh, x)
	return out[0], out[1]
}

var eigh = operation{
	name: "eigh",
	infer: func(in []tensor.Spec) []result {
		n := square("eigh", in[0])
		return []result{{shape: []int{n}}, {shape: []int{n, n}}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		var f mat.EigenSym
		if !f.Factorize(symmetric(in[0]), true) {
			return fmt.Errorf("does not converge: %w", tensor.ErrShape)
		}
		f.Values(out[0])
		var v mat.Dense
		f.VectorsTo(&v)
		n, _ := v.Dims()
		mat.NewDense(n, n, out[1]).Copy(&v)
		return nil
	},
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		l, v := out[0], out[1]
		m := diagonal(orZeros(grads[0], l))
		if grads[1] != nil {
			n := l.Shape()[l.Rank()-1]
			off := mask(l, func(i, j int) float64 { return step(i != j) }, n, n)
			m = m.Add(v.T().MatMul(grads[1]).Div(apart(l.Unsqueeze(-1), l.Unsqueeze(-2))).Mul(off))
		}
		return []*tensor.Tensor{v.MatMul(m).MatMul(v.T())}
	},
}

// EigVals returns the eigenvalues of square matrices as complex numbers: see [Eig].
func EigVals(x *tensor.Tensor) *tensor.Tensor {
	values, _ := Eig(x)
	return values
}

// Eig returns the eigenvalues (…, n) of square matrices of real numbers, and eigenvectors of length 1 in the columns of (…, n, n), as
// complex numbers. The vectors are known up to factors exp(iφ), so a gradient through what depends on these factors is refused, as by PyTorch.
func Eig(x *tensor.Tensor) (values, vectors *tensor.Tensor) {
	out := tensor.ApplyAll(eig, x)
	return out[0], out[1]
}

var eig = operation{
	name: "eig",
	infer: func(in []tensor.Spec) []result {
		n := square("eig", in[0])
		return []result{{[]int{n}, true}, {[]int{n, n}, true}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		var f mat.Eigen
		if !f.Factorize(in[0], mat.EigenRight) {
			return fmt.Errorf("does not converge: %w", tensor.ErrShape)
		}
		for i, x := range f.Values(nil) {
			out[0][2*i], out[0][2*i+1] = real(x), imag(x)
		}
		var v mat.CDense
		f.VectorsTo(&v)
		n, _ := v.Dims()
		for i := range n {
			for j := range n {
				out[1][2*(i*n+j)], out[1][2*(i*n+j)+1] = real(v.At(i, j)), imag(v.At(i, j))
			}
		}
		return nil
	},
	grad: eigGrad,
}

// eigGrad is V⁻ᴴ·(diag(dL) + (Vᴴ·dV − Vᴴ·V·diag(Re(Vᴴ·dV)))/Ē)·Vᴴ with E[i, j] = L[j] − L[i]: Boeddeker et al., arXiv:1701.00392, section 4.7.
func eigGrad(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
	l, v := out[0], out[1]
	n, vh := l.Shape()[l.Rank()-1], v.Adjoint()
	m := diagonal(orZeros(grads[0], l))
	if grads[1] != nil {
		dv := vh.MatMul(grads[1])
		turn := dv.Diagonal(0, -2, -1)
		if size := turn.Abs(); in[0].Len() > 0 && !in[0].IsMeta() && turn.Imag().Abs().Gt(size.MulScalar(0.01).AddScalar(0.01)).Any().Item() != 0 {
			tensor.Fail("eig", tensor.ErrState, "the result depends on the factors exp(iφ) that eigenvectors are known up to, so it has no gradient; use absolute values, or products with Adjoint")
		}
		dv = dv.Sub(vh.MatMul(v.Mul(turn.Real().Unsqueeze(-2))))
		off := mask(l.Real(), func(i, j int) float64 { return step(i != j) }, n, n)
		m = m.Add(dv.Div(apart(l.Unsqueeze(-1), l.Unsqueeze(-2)).Conj()).Mul(off))
	}
	return []*tensor.Tensor{Solve(vh, m.MatMul(vh)).Real()}
}

// Pinv returns the pseudoinverses of matrices, of the singular values above the largest one times the larger size times the precision of
// the type.
func Pinv(x *tensor.Tensor) *tensor.Tensor { return tensor.Apply(pinv, x) }

var pinv = operation{
	name: "pinv",
	infer: func(in []tensor.Spec) []result {
		s := matrices("pinv", in[0])
		return []result{{shape: []int{s[1], s[0]}}}
	},
	compute: func(in []*mat.Dense, out [][]float64) error {
		if in[0].IsEmpty() {
			return nil
		}
		m, n := in[0].Dims()
		var f mat.SVD
		if !f.Factorize(in[0], mat.SVDThin) {
			return fmt.Errorf("does not converge: %w", tensor.ErrShape)
		}
		var u, v, p mat.Dense
		f.UTo(&u)
		f.VTo(&v)
		values := f.Values(nil)
		v.Apply(func(_, j int, x float64) float64 {
			if values[j] <= values[0]*float64(max(m, n))*epsilon64 {
				return 0
			}
			return x / values[j]
		}, &v)
		p.Mul(&v, u.T())
		copy(out[0], p.RawMatrix().Data)
		return nil
	},
	// Golub and Pereyra, doi:10.1137/0710036.
	grad: func(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
		p, g, x := out[0], grads[0].T(), in[0]
		k := g.MatMul(p)
		dx := p.MatMul(k).T().Neg().Add(k.MatMul(p.T()))
		dx = dx.Sub(x.MatMul(p).MatMul(k.MatMul(p.T())))
		return []*tensor.Tensor{dx.Add(p.T().MatMul(p).MatMul(g.Sub(k.MatMul(x))))}
	},
}

const epsilon64 = 0x1p-52

// epsilon returns the precision of a type.
func epsilon(t dtype.Type) float64 {
	if t == dtype.Float32 {
		return 0x1p-23
	}
	return epsilon64
}

// Lstsq returns A⁺·B: the smallest X for which |A·X − B| is smallest.
func Lstsq(a, b *tensor.Tensor) *tensor.Tensor { return Pinv(a).MatMul(b) }

// MatrixRank returns the number of singular values above the largest one times the larger size times the precision of the type, as int64.
func MatrixRank(x *tensor.Tensor) *tensor.Tensor {
	size := matrices("matrix rank", x.Spec())
	s := SVDVals(x.Detach())
	if s.Len() == 0 {
		return s.Sum(-1).Cast(dtype.Int64)
	}
	limit := s.Max(-1, tensor.KeepDims).MulScalar(float64(max(size[0], size[1])) * epsilon(x.DType()))
	return s.Gt(limit).Sum(-1)
}

// MatrixNorm returns a norm of matrices: "fro", the square root of the sum of squares; "nuc", the sum of singular values; "2" and "-2", the largest and the
// smallest; "1" and "-1", the largest and the smallest sum of a column's absolute values; "inf" and "-inf", of a row's.
func MatrixNorm(x *tensor.Tensor, order string) *tensor.Tensor {
	matrices("matrix norm", x.Spec())
	switch order {
	case "fro":
		return x.Norm(2, -2, -1)
	case "nuc":
		return SVDVals(x).Sum(-1)
	case "2":
		return SVDVals(x).Max(-1)
	case "-2":
		return SVDVals(x).Min(-1)
	case "1":
		return x.Norm(1, -2).Max(-1)
	case "-1":
		return x.Norm(1, -2).Min(-1)
	case "inf":
		return x.Norm(1, -1).Max(-1)
	case "-inf":
		return x.Norm(1, -1).Min(-1)
	}
	tensor.Fail("matrix norm", tensor.ErrState, "%q; want fro, nuc, 2, -2, 1, -1, inf or -inf", order)
	return nil
}
