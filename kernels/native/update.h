/* The updates of updates.h, in REAL. Buffers are stored before the formula, whose roots are calls, before which registers are saved. */

typedef struct {
	const REAL *g;
	REAL *p, *s1, *s2, *s3;
	const double *shared;
	int64_t n;
} REAL_(arrays);

enum { REAL_(SLICE) = 4096 };

#define TERM(name, value) REAL name = *h++; (void)name;
#define UPDATE(name, buffers, changing, terms, statements, formula) \
	static void REAL_(update_##name##_part)(void *arg, int64_t from, int64_t to) { \
		const REAL_(arrays) *u = arg; \
		const REAL *gs = u->g; \
		REAL *ps = u->p, *s1s = u->s1, *s2s = u->s2, *s3s = u->s3; \
		const double *h = u->shared; \
		terms(TERM) \
		int64_t end = to * REAL_(SLICE) < u->n ? to * REAL_(SLICE) : u->n; \
		_Pragma("omp simd") for (int64_t k = from * REAL_(SLICE); k < end; k++) { \
			REAL p = ps[k], g = gs[k], s1 = buffers > 0 ? s1s[k] : 0, s2 = buffers > 1 ? s2s[k] : 0, s3 = buffers > 2 ? s3s[k] : 0; \
			H5K_STATEMENTS statements \
			if (buffers > 0) \
				s1s[k] = s1; \
			if (buffers > 1) \
				s2s[k] = s2; \
			if (buffers > 2) \
				s3s[k] = s3; \
			formula; \
			ps[k] = p; \
		} \
	} \
	static void REAL_(update_##name)(int64_t n, const void *g, void *p, void *const *s, const double *t) { \
		REAL_(arrays) u = {.g = g, .p = p, .s1 = s[0], .s2 = s[1], .s3 = s[2], .shared = t, .n = n}; \
		h5k_spread((n + REAL_(SLICE) - 1) / REAL_(SLICE), n * (buffers + 1) < H5K_GRAIN ? INT64_MAX : 2, REAL_(update_##name##_part), &u); \
	}
H5K_UPDATES(UPDATE)
#undef UPDATE
#undef TERM
