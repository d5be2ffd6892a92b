/* The lines of reductions.h along axes, in REAL. Results are joined in TOTAL from parts, in PART, of
 * at most a few dozen elements each, and split by shape only, so that they do not depend on the
 * number of threads. Elements are STORED, whose numbers are LOADED as REAL; of 16-bit floats, that is HALF, the functions of
 * numbers are float's. */

#define INLINE static inline __attribute__((always_inline))

#ifdef HALF
#define OWN(name) PASTE(name, _f32)
#else
#define OWN REAL_

#define REDUCTION(name, types, start, counts, join) \
	case H5K_REDUCE_##name: return start;
INLINE TOTAL REAL_(start)(int op) {
	switch (op) { H5K_REDUCTIONS(REDUCTION) }
	return 0;
}
#undef REDUCTION

#define REDUCTION(name, types, start, counts, join) \
	case H5K_REDUCE_##name: return counts;
INLINE PART REAL_(counts)(int op, PART x, PART m) {
	(void)m;
	switch (op) { H5K_REDUCTIONS(REDUCTION) }
	return 0;
}
#undef REDUCTION

#define REDUCTION(name, types, start, counts, join) \
	case H5K_REDUCE_##name: return join;
INLINE PART REAL_(join)(int op, PART a, PART b) {
	switch (op) { H5K_REDUCTIONS(REDUCTION) }
	return 0;
}
INLINE TOTAL REAL_(join_totals)(int op, TOTAL a, TOTAL b) {
	switch (op) { H5K_REDUCTIONS(REDUCTION) }
	return 0;
}
#undef REDUCTION

/* Adjacent elements. */
INLINE TOTAL REAL_(reduce_line)(int op, int64_t n, const REAL *x, PART m) {
	enum { WIDE = 4 * LANES, DEEP = 32 };
	TOTAL total = REAL_(start)(op);
	IF_FLOATS(if (op == H5K_REDUCE_sum) return REAL_(sum)(n, x);)
	while (n >= WIDE) {
		PART lane[WIDE];
		int64_t deep = n / WIDE < DEEP ? n / WIDE : DEEP;
		_Pragma("omp simd") for (int k = 0; k < WIDE; k++) lane[k] = REAL_(counts)(op, x[k], m);
		x += WIDE;
		for (int64_t i = 1; i < deep; i++, x += WIDE) {
			_Pragma("omp simd") for (int k = 0; k < WIDE; k++) lane[k] = REAL_(join)(op, REAL_(counts)(op, x[k], m), lane[k]);
		}
		for (int half = WIDE / 2; half > 0; half /= 2) {
			_Pragma("omp simd") for (int k = 0; k < half; k++) lane[k] = REAL_(join)(op, lane[k + half], lane[k]);
		}
		total = REAL_(join_totals)(op, lane[0], total);
		n -= deep * WIDE;
	}
	for (; n > 0; n--)
		total = REAL_(join_totals)(op, REAL_(counts)(op, *x++, m), total);
	return total;
}

#endif

/* Elements that are step apart. */
INLINE TOTAL REAL_(reduce_steps)(int op, int64_t n, const STORED *x, int64_t step, PART m) {
	REAL near[1024];
#ifndef HALF
	if (step == 1)
		return REAL_(reduce_line)(op, n, x, m);
#endif
	TOTAL total = OWN(start)(op);
	for (int64_t i = 0; i < n; i += 1024) {
		int64_t count = n - i < 1024 ? n - i : 1024;
#ifdef HALF
		if (step == 1)
			LOADS(count, near, x + i);
		else
#endif
			for (int64_t j = 0; j < count; j++)
				near[j] = LOADED(x[(i + j) * step]);
		total = OWN(join_totals)(op, OWN(reduce_line)(op, count, near, m), total);
	}
	return total;
}

/* A reduction is split into units. If the reduced elements are adjacent, a unit is one result and a
 * group of the pieces that it is the join of; else it is a block of results and a group of the rows
 * that they are the joins of. */
typedef struct {
	const h5k_grid *kept, *over; /* x's axes that stay (with the strides of y and m) and that go */
	const STORED *x, *m;         /* m may be NULL */
	void *y;
	double divisor;
	TOTAL *part; /* each group's results, if there are several */
	int64_t results, reduced, blocks, groups, each;
	int wide; /* whether y is of TOTAL instead of REAL */
} REAL_(reduction);

enum { REAL_(PIECE) = 8192, REAL_(COLUMNS) = 1024, REAL_(GROUP) = 65536 };

static void REAL_(put)(const REAL_(reduction) *r, int64_t k, int64_t group, TOTAL total) {
	if (r->groups > 1) {
		r->part[group * r->results + k] = total;
		return;
	}
	int64_t at = h5k_place(r->kept, 1, k);
	if (r->divisor != 1)
		total /= r->divisor;
	if (r->wide)
		((TOTAL *)r->y)[at] = total;
	else
		((STORED *)r->y)[at] = STORE(total);
}

INLINE PART REAL_(m)(const REAL_(reduction) *r, int64_t k) { return r->m ? LOADED(r->m[h5k_place(r->kept, 2, k)]) : 0; }

INLINE void REAL_(reduce_rows)(int op, const REAL_(reduction) *r, int64_t from, int64_t to) {
	const h5k_grid *over = r->over;
	int64_t run = over->shape[over->rank - 1], step = over->stride[0][over->rank - 1];
	int64_t cuts = (run + REAL_(PIECE) - 1) / REAL_(PIECE), pieces = r->reduced / run * cuts;
	if (pieces == 1) { /* without divisions, which take as long as a short row */
		for (int64_t k = from; k < to; k++)
			REAL_(put)(r, k, 0, OWN(join_totals)(op, REAL_(reduce_steps)(op, run, r->x + h5k_place(r->kept, 0, k), step, REAL_(m)(r, k)), OWN(start)(op)));
		return;
	}
	for (int64_t u = from; u < to; u++) {
		int64_t k = u / r->groups, group = u % r->groups;
		const STORED *x = r->x + h5k_place(r->kept, 0, k);
		PART m = REAL_(m)(r, k);
		int64_t p = group * r->each, end = p + r->each < pieces ? p + r->each : pieces;
		TOTAL total = OWN(start)(op);
		for (; p < end; p++) {
			int64_t at = p % cuts * REAL_(PIECE), n = run - at < REAL_(PIECE) ? run - at : REAL_(PIECE);
			total = OWN(join_totals)(op, REAL_(reduce_steps)(op, n, x + h5k_place(over, 0, p / cuts * run) + at * step, step, m), total);
		}
		REAL_(put)(r, k, group, total);
	}
}

INLINE void REAL_(reduce_columns)(int op, const REAL_(reduction) *r, int64_t from, int64_t to) {
	enum { DEEP = 32, C = REAL_(COLUMNS) };
	const h5k_grid *kept = r->kept;
	int64_t width = kept->shape[kept->rank - 1], step = kept->stride[0][kept->rank - 1];
	for (int64_t u = from; u < to; u++) {
		int64_t group = u % r->groups, block = u / r->groups % r->blocks, outer = u / r->groups / r->blocks;
		int64_t at = block * C, n = width - at < C ? width - at : C;
		const STORED *x = r->x + h5k_place(kept, 0, outer * width) + at * step;
		int64_t i = group * r->each, end = i + r->each < r->reduced ? i + r->each : r->reduced;
		TOTAL total[C];
		PART some[C], m[C];
		REAL near[C];
		for (int64_t j = 0; j < n; j++)
			total[j] = OWN(start)(op), m[j] = REAL_(m)(r, outer * width + at + j);
		while (i < end) {
			int64_t stop = i + DEEP < end ? i + DEEP : end;
			for (int64_t first = i; i < stop; i++) {
				const STORED *stored = x + h5k_place(r->over, 0, i);
#ifdef HALF
				const REAL *row = near;
				if (step == 1)
					LOADS(n, near, stored);
#else
				const REAL *row = stored;
#endif
				if (step != 1) {
					for (int64_t j = 0; j < n; j++)
						near[j] = LOADED(stored[j * step]);
					row = near;
				}
				if (i == first) {
					_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] = OWN(counts)(op, row[j], m[j]);
				} else {
					_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] = OWN(join)(op, OWN(counts)(op, row[j], m[j]), some[j]);
				}
			}
			_Pragma("omp simd") for (int64_t j = 0; j < n; j++) total[j] = OWN(join_totals)(op, some[j], total[j]);
		}
		for (int64_t j = 0; j < n; j++)
			REAL_(put)(r, outer * width + at + j, group, total[j]);
	}
}

#define CASE_FLOATS(name) [H5K_REDUCE_##name] = {IF_FLOATS(REAL_(rows_##name), REAL_(columns_##name))},
#define CASE_ANY(name) [H5K_REDUCE_##name] = {REAL_(rows_##name), REAL_(columns_##name)},
#define BODY_ANY(name) \
	static void REAL_(rows_##name)(void *r, int64_t from, int64_t to) { REAL_(reduce_rows)(H5K_REDUCE_##name, r, from, to); } \
	static void REAL_(columns_##name)(void *r, int64_t from, int64_t to) { REAL_(reduce_columns)(H5K_REDUCE_##name, r, from, to); }
#define BODY_FLOATS(name) IF_FLOATS(BODY_ANY(name))
#define REDUCTION(name, types, start, counts, join) BODY_##types(name)
H5K_REDUCTIONS(REDUCTION)
#undef REDUCTION
#define REDUCTION(name, types, start, counts, join) CASE_##types(name)
static h5k_body *const REAL_(reductions)[H5K_NREDUCTIONS][2] = {H5K_REDUCTIONS(REDUCTION)};
#undef REDUCTION
#undef CASE_FLOATS
#undef CASE_ANY
#undef BODY_FLOATS
#undef BODY_ANY

/* Joins the parts of all groups to the parts of the first. */
static void REAL_(join_parts)(int op, TOTAL *part, int64_t groups, int64_t results) {
	for (int64_t g = 1; g < groups; g++) {
		const TOTAL *more = part + g * results;
#define REDUCTION(name, types, start, counts, join) \
	case H5K_REDUCE_##name: \
		_Pragma("omp simd") for (int64_t k = 0; k < results; k++) part[k] = OWN(join_totals)(H5K_REDUCE_##name, more[k], part[k]); \
		break;
		switch (op) { H5K_REDUCTIONS(REDUCTION) }
#undef REDUCTION
	}
}

static int REAL_(reduce)(int op, int wide, const h5k_grid *kept, const h5k_grid *over, const void *x, void *y, const void *m, double divisor) {
	int64_t near = over->stride[0][over->rank - 1], next = kept->stride[0][kept->rank - 1];
	int64_t width = kept->shape[kept->rank - 1], run = over->shape[over->rank - 1];
	REAL_(reduction) r = {kept, over, x, m, y, divisor, NULL, h5k_count(kept), h5k_count(over), 1, 1, 0, wide};
	int by_rows = near == 1 || width == 1 || (next != 1 && llabs(near) <= llabs(next));
	int64_t parts = by_rows ? r.reduced / run * ((run + REAL_(PIECE) - 1) / REAL_(PIECE)) : r.reduced;
	int64_t size = by_rows ? (run < REAL_(PIECE) ? run : REAL_(PIECE)) : (width < REAL_(COLUMNS) ? width : REAL_(COLUMNS));
	r.each = REAL_(GROUP) / size > 0 ? REAL_(GROUP) / size : 1;
	r.groups = (parts + r.each - 1) / r.each;
	if (!by_rows)
		r.blocks = (width + REAL_(COLUMNS) - 1) / REAL_(COLUMNS);
	if (r.groups > 1 && !(r.part = malloc(r.groups * r.results * sizeof *r.part)))
		return 0;
	int64_t units = by_rows ? r.results * r.groups : r.results / width * r.blocks * r.groups;
	h5k_spread(units, r.results * r.reduced < H5K_GRAIN ? INT64_MAX : 2, REAL_(reductions)[op][!by_rows], &r);
	if (r.groups > 1) {
		int64_t groups = r.groups;
		REAL_(join_parts)(op, r.part, groups, r.results);
		r.groups = 1;
		for (int64_t k = 0; k < r.results; k++)
			REAL_(put)(&r, k, 0, r.part[k]);
		free(r.part);
	}
	return 1;
}
#undef OWN
