/* Products of matrices of any strides, single or in batches, by a library's gemm. */
#ifndef H5K_MATMUL_H
#define H5K_MATMUL_H

#include <stdint.h>

enum { H5K_BATCH_AXES = 6 };

/* z (m,n) = x (m,k) · y (k,n), for every index of the batch axes. Strides count elements
 * and may be anything; z's elements are distinct. */
typedef struct {
	int64_t m, n, k;
	int64_t x[2], y[2], z[2]; /* strides: down, across */
	int64_t axes, batch[H5K_BATCH_AXES];
	int64_t x_batch[H5K_BATCH_AXES], y_batch[H5K_BATCH_AXES], z_batch[H5K_BATCH_AXES];
} h5k_product;

/* Each returns 0, or -1 where memory or the library is missing. */
int h5k_product_f32(const h5k_product *p, float *z, const float *x, const float *y);
int h5k_product_f64(const h5k_product *p, double *z, const double *x, const double *y);

#endif
