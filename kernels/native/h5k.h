/* Shared by all C entry points of this package: one pool of threads, OpenMP's, which oneDNN uses
 * too, and arithmetic that flushes denormals to zero.
 *
 *	void h5k_something(...) {
 *		H5K_ENTER;
 *		...                    no return in between
 *		H5K_LEAVE;
 *	}
 */
#ifndef H5K_H
#define H5K_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
/* Flush results (bit 15) and operands (bit 6) in the denormal range to zero. */
static inline uint64_t h5k_flush(void) {
	unsigned old = _mm_getcsr();
	_mm_setcsr(old | 0x8040);
	return old;
}
static inline void h5k_restore(uint64_t old) { _mm_setcsr((unsigned)old); }
#elif defined(__aarch64__)
static inline void h5k_restore(uint64_t old) { __asm__ volatile("msr fpcr, %0" ::"r"(old)); }
static inline uint64_t h5k_flush(void) {
	uint64_t old;
	__asm__ volatile("mrs %0, fpcr" : "=r"(old));
	h5k_restore(old | 1 << 24); /* FZ */
	return old;
}
#else
static inline uint64_t h5k_flush(void) { return 0; }
static inline void h5k_restore(uint64_t old) { (void)old; }
#endif

extern int h5k_pool; /* how many threads compute */
extern _Thread_local int h5k_alone; /* whether the calling thread computes alone */
static inline int h5k_threads(void) { return h5k_alone ? 1 : __atomic_load_n(&h5k_pool, __ATOMIC_RELAXED); }

/* h5k_team makes OpenMP, and so oneDNN, use that many threads when the calling thread
 * next asks for them. OpenMP keeps both the number and the threads for each calling
 * thread; where there are more threads in all than processors they sleep instead of
 * spinning, and waking them costs tens of microseconds. So a call that computes alone
 * must not gather a team. */
extern _Thread_local int h5k_gathered;
void h5k_gather(int threads);
static inline void h5k_team(int threads) {
	if (h5k_gathered != threads)
		h5k_gather(threads);
}

/* The mode of a Go thread must be restored: Go computes with denormals. */
#define H5K_ENTER uint64_t h5k_mode = h5k_flush()
#define H5K_LEAVE h5k_restore(h5k_mode)

/* h5k_spread calls body(arg, from, to) on contiguous parts of [0, n): all of it at once
 * if n < grain, else one part for each thread. Parts depend on the number of threads,
 * so a body whose result does too must split its work by itself. */
typedef void h5k_body(void *arg, int64_t from, int64_t to);
void h5k_spread(int64_t n, int64_t grain, h5k_body *body, void *arg);

void h5k_set_threads(int n);
void h5k_set_alone(int alone); /* of the calling thread */

#endif
