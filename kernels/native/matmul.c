#include "matmul.h"
#include "blas.h"
#include "dnnl_plan.h"
#include "dnnl_api.h"
#include "h5k.h"

/* A gemm multiplies row-major matrices, or transposes of such, with all threads; from
 * within a parallel region, with the one that calls. */
typedef int gemm_fn(int trans_x, int trans_y, int64_t m, int64_t n, int64_t k,
	const void *x, int64_t ldx, const void *y, int64_t ldy, void *z, int64_t ldz);

static int gemm_f32(int trans_x, int trans_y, int64_t m, int64_t n, int64_t k,
	const void *x, int64_t ldx, const void *y, int64_t ldy, void *z, int64_t ldz) {
	return dnnl_sgemm(trans_x ? 'T' : 'N', trans_y ? 'T' : 'N', m, n, k, 1, x, ldx, y, ldy, 0, z, ldz);
}

static int gemm_f64(int trans_x, int trans_y, int64_t m, int64_t n, int64_t k,
	const void *x, int64_t ldx, const void *y, int64_t ldy, void *z, int64_t ldz) {
	return h5k_dgemm(trans_x, trans_y, m, n, k, 1, x, ldx, y, ldy, 0, z, ldz);
}

/* A matrix, and its arguments of gemm. */
typedef struct {
	char *at;
	int64_t rows, cols, stride[2];
	int trans;
	int64_t lead;
	int packed;
} matrix;

/* fits reports whether rows, or columns, of the matrix are contiguous. */
static int fits(matrix *a) {
	if ((a->stride[1] == 1 || a->cols == 1) && (a->stride[0] >= a->cols || a->rows == 1)) {
		a->trans = 0;
		a->lead = a->rows == 1 ? a->cols : a->stride[0];
		return 1;
	}
	if ((a->stride[0] == 1 || a->rows == 1) && (a->stride[1] >= a->rows || a->cols == 1)) {
		a->trans = 1;
		a->lead = a->cols == 1 ? a->rows : a->stride[1];
		return 1;
	}
	a->trans = 0;
	a->lead = a->cols;
	a->packed = 1;
	return 0;
}

static size_t room(const matrix *a, size_t size) {
	return a->packed ? ((size_t)(a->rows * a->cols) * size + 63) / 64 * 64 : 0;
}

/* Copies between strided elements and contiguous rows: to them if to is not 0. */
#define MOVE(T, to)                                                                                \
	for (int64_t i = 0; i < a->rows; i++) {                                                        \
		T *far = (T *)a->at + i * a->stride[0], *near = (T *)tight + i * a->cols;                  \
		for (int64_t j = 0; j < a->cols; j++)                                                      \
			to ? (near[j] = far[j * a->stride[1]]) : (far[j * a->stride[1]] = near[j]);            \
	}

static void gather(const matrix *a, char *tight, size_t size) {
	if (size == 4) {
		MOVE(float, 1)
	} else {
		MOVE(double, 1)
	}
}

static void scatter(const matrix *a, char *tight, size_t size) {
	if (size == 4) {
		MOVE(float, 0)
	} else {
		MOVE(double, 0)
	}
}

/* multiply computes z = x·y, with contiguous copies of the matrices that gemm does not take. */
static int multiply(gemm_fn *gemm, size_t size, matrix z, matrix x, matrix y) {
	fits(&x);
	fits(&y);
	fits(&z);
	size_t x_room = room(&x, size), y_room = room(&y, size), z_room = room(&z, size);
	char *scratch = x_room + y_room + z_room ? h5k_scratch(x_room + y_room + z_room) : NULL;
	if (x_room + y_room + z_room && !scratch)
		return -1;
	if (x.packed)
		gather(&x, scratch, size);
	if (y.packed)
		gather(&y, scratch + x_room, size);
	const char *xs = x.packed ? scratch : x.at, *ys = y.packed ? scratch + x_room : y.at;
	char *zs = z.packed ? scratch + x_room + y_room : z.at;
	int status = z.trans /* z' = y'·x' */
		? gemm(!y.trans, !x.trans, z.cols, z.rows, x.cols, ys, y.lead, xs, x.lead, zs, z.lead)
		: gemm(x.trans, y.trans, z.rows, z.cols, x.cols, xs, x.lead, ys, y.lead, zs, z.lead);
	if (z.packed && !status)
		scatter(&z, zs, size);
	return status;
}

typedef struct {
	const h5k_product *p;
	gemm_fn *gemm;
	size_t size;
	char *z, *x, *y;
	int status;
} batch;

/* products computes those from up to to, of all the batch's. */
static void products(void *arg, int64_t from, int64_t to) {
	batch *b = arg;
	const h5k_product *p = b->p;
	for (int64_t i = from; i < to; i++) {
		int64_t left = i, x = 0, y = 0, z = 0;
		for (int a = p->axes - 1; a >= 0; a--) {
			int64_t at = left % p->batch[a];
			left /= p->batch[a];
			x += at * p->x_batch[a];
			y += at * p->y_batch[a];
			z += at * p->z_batch[a];
		}
		int64_t size = b->size;
		int status = multiply(b->gemm, b->size,
			(matrix){.at = b->z + z * size, .rows = p->m, .cols = p->n, .stride = {p->z[0], p->z[1]}},
			(matrix){.at = b->x + x * size, .rows = p->m, .cols = p->k, .stride = {p->x[0], p->x[1]}},
			(matrix){.at = b->y + y * size, .rows = p->k, .cols = p->n, .stride = {p->y[0], p->y[1]}});
		if (status)
			__atomic_store_n(&b->status, status, __ATOMIC_RELAXED);
	}
}

enum { WORTH = 1 << 18 }; /* multiplications that pay for a second thread: some 3 us */

/* run gives each thread products of its own if there are enough of them, and else computes each
 * product with all threads. */
static int run(batch b) {
	int64_t n = 1;
	for (int a = 0; a < b.p->axes; a++)
		n *= b.p->batch[a];
	int alone = (double)n * b.p->m * b.p->n * b.p->k <= WORTH;
	H5K_ENTER;
	h5k_team(alone ? 1 : h5k_threads());
	if (!alone && n >= 2 * h5k_threads())
		h5k_spread(n, 0, products, &b);
	else
		products(&b, 0, n);
	H5K_LEAVE;
	return b.status;
}

int h5k_product_f32(const h5k_product *p, float *z, const float *x, const float *y) {
	return run((batch){p, gemm_f32, sizeof *z, (char *)z, (char *)x, (char *)y, 0});
}

int h5k_product_f64(const h5k_product *p, double *z, const double *x, const double *y) {
	if (!h5k_blas())
		return -1;
	return run((batch){p, gemm_f64, sizeof *z, (char *)z, (char *)x, (char *)y, 0});
}
