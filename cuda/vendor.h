/* Matrix products by cuBLASLt and convolutions by cuDNN, one C call each. A call creates, uses and
 * destroys its descriptors. The choice of an algorithm, which is slow, is made at a problem's first
 * call and cached by the caller; its state is H5_NONE if there is no algorithm. */
#ifndef H5_VENDOR_H
#define H5_VENDOR_H

#include "libraries.h"

enum { H5_UNDECIDED, H5_CHOSEN, H5_NONE };

typedef struct {
	int state;
	h5_algorithm algorithm; /* cuDNN's number is in data[0] */
	size_t needs; /* bytes of workspace */
	char about[96]; /* what the algorithm is, or why there is none */
} h5_choice;

/* A matrix in column-major order, or its transpose, repeated every batch elements. */
typedef struct {
	h5_address at;
	int64_t rows, columns, ld, batch;
	int transposed; /* H5_OP_N or H5_OP_T */
} h5_matrix;

/* d = op(a)·op(b), then what the epilogue says: a bias for each row of d (0 for none) and relu, the sums of a factor, or the
 * gradient of relu. The mask, 0 for none, has mask_ld bits for each column of d. */
typedef struct {
	int type, compute, epilogue, batches;
	h5_matrix a, b, d;
	h5_address bias, mask, workspace;
	int64_t mask_ld;
	size_t bytes; /* of workspace */
} h5_gemm;

h5_status h5_gemm_issue(h5_handle context, h5_object handle, h5_handle stream, const h5_gemm *g, h5_choice *choice);

/* An (N,C,...) array: its sizes, and its strides in elements. */
typedef struct {
	h5_address at;
	int size[5], stride[5];
} h5_image;

enum { H5_FORWARD, H5_BACKWARD_DATA, H5_BACKWARD_FILTER };

/* A convolution of x and w to y, of which kind says which is computed. Weights lie densely, in the
 * order that format says. bias is of the forward kind, with relu, or 0. */
typedef struct {
	int kind, type, compute, math, format;
	int rank, groups; /* of arrays: 4 or 5 */
	int weights[5], pad[3], stride[3], dilation[3];
	h5_image x, y;
	h5_address w, bias, workspace;
	size_t bytes;
} h5_convolution;

h5_status h5_convolution_issue(h5_handle context, h5_object handle, h5_handle stream, const h5_convolution *g, h5_choice *choice);

enum { H5_NO_CONTEXT = -1 }; /* not a library's: the device's context cannot be made current */

static inline h5_status h5_cublas_create(h5_handle context, h5_object *handle) {
	return h5_set_context(context) ? H5_NO_CONTEXT : h5_library.cublasLtCreate(handle);
}

static inline h5_status h5_cudnn_create(h5_handle context, h5_object *handle) {
	return h5_set_context(context) ? H5_NO_CONTEXT : h5_library.cudnnCreate(handle);
}

static inline const char *h5_cublas_text(h5_status status) { return h5_library.cublasLtGetStatusString(status); }
static inline const char *h5_cudnn_text(h5_status status) { return h5_library.cudnnGetErrorString(status); }

#endif
