#include "h5k.h"
#include <omp.h>
#include <signal.h>

int h5k_pool = 1;
_Thread_local int h5k_alone;
_Thread_local int h5k_gathered;
static _Thread_local int flushing; /* the size of the team that flushes denormals */

void h5k_set_alone(int alone) { h5k_alone = alone; }

void h5k_set_threads(int n) { __atomic_store_n(&h5k_pool, n, __ATOMIC_RELAXED); }

/* Signals are for Go's threads, which take them on a stack apart. The pool's have
 * none, and code of oneDNN's matrix products keeps data where the signal's frame
 * would go: profiling such a program corrupted its heap. */
static void h5k_deafen(void) {
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/* The calling thread's own mode is set by H5K_ENTER and restored by H5K_LEAVE; the
 * others of its team are nobody else's, and keep it. */
void h5k_gather(int threads) {
	omp_set_dynamic(0);
	omp_set_num_threads(threads);
	h5k_gathered = threads;
	if (threads == 1 || threads == flushing)
		return;
	flushing = threads;
#pragma omp parallel num_threads(threads)
	if (omp_get_thread_num() > 0) {
		h5k_flush();
		h5k_deafen();
	}
}

void h5k_spread(int64_t n, int64_t grain, h5k_body *body, void *arg) {
	int threads = h5k_threads();
	if (n < grain || threads == 1 || omp_in_parallel()) {
		body(arg, 0, n);
		return;
	}
	h5k_team(threads);
#pragma omp parallel num_threads(threads)
	{
		int64_t i = omp_get_thread_num(), of = omp_get_num_threads();
		body(arg, n * i / of, n * (i + 1) / of);
	}
}
