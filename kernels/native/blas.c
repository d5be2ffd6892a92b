#define _GNU_SOURCE
#include "blas.h"
#include "h5k.h"
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static h5k_dgemm_fn *dgemm;
static char path[4096];
static const char *core = "", *config = "";

/* The best set of OpenBLAS's kernels for this machine. Debian 12's OpenBLAS 0.3.21 takes
 * newer Intel CPUs for a Prescott (2004) and is five times slower than it could be. */
static const char *core_type(void) {
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
		return "SkylakeX";
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
#endif
	return NULL;
}

/* open loads the library with name=value in its environment, unless name is set already.
 * It is read only while loading. */
static void *open_with(const char *file, const char *name, const char *value) {
	int ours = value && !getenv(name) && setenv(name, value, 0) == 0;
	void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (ours)
		unsetenv(name);
	return lib;
}

static const char *ask(void *lib, const char *name) {
	char *(*fn)(void) = (char *(*)(void))dlsym(lib, name);
	return fn ? fn() : "";
}

static void load(void) {
	static const char *files[] = {"libopenblas.so.0", "libopenblas.so", "libopenblas.0.dylib", "libopenblas.dylib"};
	void *lib = NULL;
	for (size_t i = 0; i < sizeof files / sizeof *files && !lib; i++)
		lib = open_with(files[i], "OPENBLAS_CORETYPE", core_type());
	if (!lib)
		return;
	dgemm = (h5k_dgemm_fn *)dlsym(lib, "cblas_dgemm");
	void (*set_threads)(int) = (void (*)(int))dlsym(lib, "openblas_set_num_threads");
	if (!dgemm || !set_threads) {
		dgemm = NULL;
		return;
	}
	set_threads(1); /* the threads are ours */
	core = ask(lib, "openblas_get_corename");
	config = ask(lib, "openblas_get_config");
	Dl_info info;
	if (dladdr((void *)dgemm, &info) && info.dli_fname)
		strncpy(path, info.dli_fname, sizeof path - 1);
}

h5k_dgemm_fn *h5k_blas(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, load);
	return dgemm;
}

const char *h5k_blas_path(void) { return path; }
const char *h5k_blas_core(void) { return core; }
const char *h5k_blas_config(void) { return config; }

typedef struct {
	int trans_a, trans_b, split_rows;
	int64_t m, n, k, lda, ldb, ldc;
	double alpha, beta;
	const double *a, *b;
	double *c;
} call;

/* part computes rows, or columns, from up to to of the product. */
static void part(void *arg, int64_t from, int64_t to) {
	enum { row_major = 101, no_trans = 111 };
	const call *q = arg;
	const double *a = q->a, *b = q->b;
	double *c = q->c;
	int64_t m = q->m, n = q->n;
	if (q->split_rows) {
		a += from * (q->trans_a ? 1 : q->lda);
		c += from * q->ldc;
		m = to - from;
	} else {
		b += from * (q->trans_b ? q->ldb : 1);
		c += from;
		n = to - from;
	}
	if (m && n)
		dgemm(row_major, no_trans + q->trans_a, no_trans + q->trans_b, m, n, q->k, q->alpha, a, q->lda, b, q->ldb, q->beta, c, q->ldc);
}

int h5k_dgemm(int trans_a, int trans_b, int64_t m, int64_t n, int64_t k, double alpha,
	const double *a, int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc) {
	enum { worth_spreading = 1 << 17 }; /* multiplications: some 3 us */
	if (!h5k_blas() || m > INT_MAX || n > INT_MAX || k > INT_MAX || lda > INT_MAX || ldb > INT_MAX || ldc > INT_MAX)
		return -1;
	call q = {trans_a, trans_b, m > n, m, n, k, lda, ldb, ldc, alpha, beta, a, b, c};
	int64_t lines = q.split_rows ? m : n;
	H5K_ENTER;
	h5k_spread(lines, (double)m * n * k < worth_spreading ? lines + 1 : 0, part, &q);
	H5K_LEAVE;
	return 0;
}
