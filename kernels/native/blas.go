package native

// #cgo LDFLAGS: -ldl
// #include "blas.h"
// #cgo noescape h5k_dgemm
// #cgo nocallback h5k_dgemm
import "C"

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/blas/gonum"
)

func init() { blas64.Use(openBLAS{}) }

// openBLAS is gonum's BLAS with OpenBLAS behind its matrix product, on which
// gonum's LAPACK spends its time. Without OpenBLAS it is gonum's own.
type openBLAS struct{ gonum.Implementation }

func (own openBLAS) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	if !gemmFits(tA, tB, m, n, k, len(a), lda, len(b), ldb, len(c), ldc) ||
		C.h5k_dgemm(trans(tA), trans(tB), C.int64_t(m), C.int64_t(n), C.int64_t(k), C.double(alpha),
			(*C.double)(&a[0]), C.int64_t(lda), (*C.double)(&b[0]), C.int64_t(ldb), C.double(beta), (*C.double)(&c[0]), C.int64_t(ldc)) != 0 {
		own.Implementation.Dgemm(tA, tB, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
	}
}

// gemmFits reports whether there is anything to multiply, and every operand is
// of the right length; gonum reports other lengths.
func gemmFits(tA, tB blas.Transpose, m, n, k, a, lda, b, ldb, c, ldc int) bool {
	if m <= 0 || n <= 0 || k <= 0 {
		return false
	}
	rowsA, colsA, rowsB, colsB := m, k, k, n
	if tA != blas.NoTrans {
		rowsA, colsA = k, m
	}
	if tB != blas.NoTrans {
		rowsB, colsB = n, k
	}
	return lda >= colsA && ldb >= colsB && ldc >= n &&
		a >= (rowsA-1)*lda+colsA && b >= (rowsB-1)*ldb+colsB && c >= (m-1)*ldc+n
}

func trans(t blas.Transpose) C.int {
	if t == blas.NoTrans {
		return 0
	}
	return 1
}
