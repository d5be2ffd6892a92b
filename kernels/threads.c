#include "h5k.h"
#include <omp.h>

int h5k_pool = 1;
_Thread_local int h5k_prepared;

void h5k_set_threads(int n) { __atomic_store_n(&h5k_pool, n, __ATOMIC_RELAXED); }

/* The calling thread's own mode is set by h5k_flush and restored by H5K_LEAVE; the
 * others of its team are nobody else's, and keep it. */
void h5k_prepare(void) {
	int n = h5k_threads();
	omp_set_dynamic(0);
	omp_set_num_threads(n);
#pragma omp parallel num_threads(n)
	h5k_flush();
	h5k_prepared = n;
}

void h5k_spread(int64_t n, int64_t grain, h5k_body *body, void *arg) {
	int threads = h5k_threads();
	if (n < grain || threads == 1 || omp_in_parallel()) {
		body(arg, 0, n);
		return;
	}
#pragma omp parallel num_threads(threads)
	{
		int64_t i = omp_get_thread_num(), of = omp_get_num_threads();
		body(arg, n * i / of, n * (i + 1) / of);
	}
}
