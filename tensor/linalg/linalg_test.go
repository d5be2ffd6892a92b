package linalg_test

import (
	"errors"
	"fmt"
	"math/cmplx"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/linalg"
)

func Example() {
	a := tensor.FromSlice([]float64{2, 1, 1, 3}, 2, 2)
	b := tensor.FromSlice([]float64{3, 5}, 2)
	x := tensor.Values[float64](linalg.Solve(a, b))
	fmt.Printf("%.1f\n", x)
	// Output: [0.8 1.4]
}

// TestEigenvectorsAreMultiplied: A·v = λ·v, also of a rotation, whose eigenvalues are complex.
func TestEigenvectorsAreMultiplied(t *testing.T) {
	a := []float64{0, -1, 2, 1, 0, 1, 0.5, 3, 1}
	values, vectors := linalg.Eig(tensor.FromSlice(a, 3, 3))
	l, v := tensor.Values[complex128](values), tensor.Values[complex128](vectors)
	for i := range 3 {
		for j := range 3 {
			var sum complex128
			for k := range 3 {
				sum += complex(a[3*i+k], 0) * v[3*k+j]
			}
			if cmplx.Abs(sum-l[j]*v[3*i+j]) > 1e-12 {
				t.Errorf("row %d of A·v is %v, of λ·v %v", i, sum, l[j]*v[3*i+j])
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	singular := tensor.Zeros(dtype.Float64, 2, 2)
	for name, f := range map[string]func(){
		"singular":     func() { linalg.Inv(singular) },
		"solve":        func() { linalg.Solve(singular, singular) },
		"not positive": func() { linalg.Cholesky(singular.SubScalar(1)) },
		"not square":   func() { linalg.Det(tensor.Zeros(dtype.Float64, 2, 3)) },
		"a vector":     func() { linalg.SVD(tensor.Zeros(dtype.Float64, 2)) },
	} {
		if err := tensor.Try(f); !errors.Is(err, tensor.ErrShape) {
			t.Errorf("%s: %v; want an error of shape", name, err)
		}
	}
	if err := tensor.Try(func() { linalg.Inv(tensor.Zeros(dtype.Int64, 2, 2)) }); !errors.Is(err, tensor.ErrType) {
		t.Errorf("integers: %v; want an error of type", err)
	}
	rotation := tensor.New([][]float64{{1, -2}, {2, 1.5}}).Cast(dtype.Float64).RequireGrad()
	if err := tensor.Try(func() { _, v := linalg.Eig(rotation); v.Imag().Sum().Backward() }); !errors.Is(err, tensor.ErrState) {
		t.Errorf("a gradient through the phase of eigenvectors: %v; want an error of state", err)
	}
}

// TestDegenerateMatrices: no rows, one number, and a matrix of rank 1.
func TestDegenerateMatrices(t *testing.T) {
	if d := linalg.Det(tensor.Zeros(dtype.Float32, 0, 0)).Item(); d != 1 {
		t.Errorf("determinant of no rows: %v; want 1", d)
	}
	if sign, log := linalg.SLogDet(tensor.Zeros(dtype.Float32, 2, 2)); sign.Item() != 0 || log.Item() > -1e300 {
		t.Errorf("slogdet of zeros: %v, %v; want 0, -Inf", sign.Item(), log.Item())
	}
	if r := linalg.MatrixRank(tensor.Ones(dtype.Float32, 3, 4)).Item(); r != 1 {
		t.Errorf("rank of ones: %v; want 1", r)
	}
	if p := linalg.MatrixPower(tensor.Ones(dtype.Float64, 2, 2), 0); p.Sum().Item() != 2 {
		t.Errorf("power 0: %v; want the identity", tensor.Values[float64](p))
	}
}
