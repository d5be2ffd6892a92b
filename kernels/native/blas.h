/* OpenBLAS, loaded when it is first wanted. */
#ifndef H5K_BLAS_H
#define H5K_BLAS_H

#include <stdint.h>

/* Row-major c (m,n) = alpha·op(a)·op(b) + beta·c by one thread. */
typedef void h5k_dgemm_fn(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
	const double *a, int lda, const double *b, int ldb, double beta, double *c, int ldc);

/* h5k_blas returns OpenBLAS's cblas_dgemm, or NULL. Its first call loads the library,
 * telling it the core type, which it may not know by itself. */
h5k_dgemm_fn *h5k_blas(void);

/* What was loaded: a file, the core type in use, the build; empty if nothing was. */
const char *h5k_blas_path(void);
const char *h5k_blas_core(void);
const char *h5k_blas_config(void);

/* h5k_dgemm is the product above by all threads; 0, or -1 without a library. */
int h5k_dgemm(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);

#endif
