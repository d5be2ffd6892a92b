/* Sums and maxima along axes, in REAL.
 *
 * Sums are added in float64 from float32 sums of at most a few dozen numbers each, and split
 * by shape only, so that they do not depend on the number of threads. */

typedef REAL REAL_(vec) __attribute__((vector_size(64)));

enum { REAL_(WIDTH) = 64 / sizeof(REAL) };

/* The larger of a and b; NaN wins. */
static inline __attribute__((always_inline)) REAL REAL_(larger)(REAL a, REAL b) { return ((a > b) | (a != a)) ? a : b; }

/* The sum of n adjacent elements. */
static double REAL_(sum)(int64_t n, const REAL *x) {
	enum { W = REAL_(WIDTH), DEEP = 32 };
	double total = 0;
	while (n >= 4 * W) {
		REAL_(vec) a = {0}, b = {0}, c = {0}, d = {0}, v[4];
		int64_t m = n < 4 * W * DEEP ? n / (4 * W) : DEEP;
		for (int64_t i = 0; i < m; i++, x += 4 * W) {
			memcpy(v, x, sizeof v);
			a += v[0], b += v[1], c += v[2], d += v[3];
		}
		a = (a + b) + (c + d);
		REAL few = 0;
		for (int k = 0; k < W; k++)
			few += a[k];
		total += few;
		n -= m * 4 * W;
	}
	for (; n > 0; n--)
		total += *x++;
	return total;
}

/* The largest of n > 0 adjacent elements. */
static REAL REAL_(max)(int64_t n, const REAL *x) {
	enum { WIDE = 4 * LANES };
	REAL top = x[0], tops[WIDE];
	if (n >= WIDE) {
		memcpy(tops, x, sizeof tops);
		for (; n >= WIDE; n -= WIDE, x += WIDE) {
			_Pragma("omp simd") for (int k = 0; k < WIDE; k++) tops[k] = REAL_(larger)(x[k], tops[k]);
		}
		for (int half = WIDE / 2; half > 0; half /= 2) {
			_Pragma("omp simd") for (int k = 0; k < half; k++) tops[k] = REAL_(larger)(tops[k + half], tops[k]);
		}
		top = tops[0];
	}
	for (; n > 0; n--)
		top = REAL_(larger)(*x++, top);
	return top;
}

/* The sum or the maximum of n elements, step apart. */
static double REAL_(piece)(int max, int64_t n, const REAL *x, int64_t step) {
	REAL near[1024];
	if (step == 1)
		return max ? REAL_(max)(n, x) : REAL_(sum)(n, x);
	double total = max ? x[0] : 0;
	for (int64_t i = 0; i < n; i += 1024) {
		int64_t m = n - i < 1024 ? n - i : 1024;
		for (int64_t j = 0; j < m; j++)
			near[j] = x[(i + j) * step];
		if (max)
			total = REAL_(larger)(REAL_(max)(m, near), total);
		else
			total += REAL_(sum)(m, near);
	}
	return total;
}

/* A reduction is split into units. If the reduced elements are adjacent, a unit is one result and a
 * group of the pieces that it is the sum of; else it is a block of results and a group of the rows
 * that they are the sums of. */
typedef struct {
	const h5k_grid *kept, *over; /* x's axes that stay (with y's strides) and that go */
	const REAL *x;
	REAL *y;
	double divisor, *part; /* part: each group's results, if there are several */
	int64_t results, reduced, blocks, groups, each;
	int max;
} REAL_(reduction);

enum { REAL_(PIECE) = 8192, REAL_(COLUMNS) = 512, REAL_(GROUP) = 32768 };

static void REAL_(put)(const REAL_(reduction) *r, int64_t k, int64_t group, double total) {
	if (r->groups > 1)
		r->part[group * r->results + k] = total;
	else
		r->y[h5k_place(r->kept, 1, k)] = total / r->divisor;
}

static void REAL_(rows)(void *arg, int64_t from, int64_t to) {
	const REAL_(reduction) *r = arg;
	const h5k_grid *over = r->over;
	int64_t run = over->shape[over->rank - 1], step = over->stride[0][over->rank - 1];
	int64_t cuts = (run + REAL_(PIECE) - 1) / REAL_(PIECE), pieces = r->reduced / run * cuts;
	for (int64_t u = from; u < to; u++) {
		int64_t k = u / r->groups, group = u % r->groups;
		const REAL *x = r->x + h5k_place(r->kept, 0, k);
		int64_t p = group * r->each, end = p + r->each < pieces ? p + r->each : pieces;
		double total = 0;
		for (int first = 1; p < end; p++, first = 0) {
			int64_t at = p % cuts * REAL_(PIECE), n = run - at < REAL_(PIECE) ? run - at : REAL_(PIECE);
			double t = REAL_(piece)(r->max, n, x + h5k_place(over, 0, p / cuts * run) + at * step, step);
			if (!r->max)
				total += t;
			else
				total = first ? t : REAL_(larger)(t, total);
		}
		REAL_(put)(r, k, group, total);
	}
}

static void REAL_(columns)(void *arg, int64_t from, int64_t to) {
	enum { DEEP = 32, C = REAL_(COLUMNS) };
	const REAL_(reduction) *r = arg;
	const h5k_grid *kept = r->kept;
	int64_t width = kept->shape[kept->rank - 1], step = kept->stride[0][kept->rank - 1];
	for (int64_t u = from; u < to; u++) {
		int64_t group = u % r->groups, block = u / r->groups % r->blocks, outer = u / r->groups / r->blocks;
		int64_t at = block * C, n = width - at < C ? width - at : C;
		const REAL *x = r->x + h5k_place(kept, 0, outer * width) + at * step;
		int64_t i = group * r->each, end = i + r->each < r->reduced ? i + r->each : r->reduced;
		double total[C];
		REAL some[C], near[C];
		for (int64_t j = 0; j < n; j++)
			total[j] = r->max ? -INFINITY : 0;
		while (i < end) {
			int64_t stop = i + DEEP < end ? i + DEEP : end;
			for (int64_t j = 0; j < n; j++)
				some[j] = r->max ? -INFINITY : 0;
			for (; i < stop; i++) {
				const REAL *row = x + h5k_place(r->over, 0, i);
				if (step != 1) {
					for (int64_t j = 0; j < n; j++)
						near[j] = row[j * step];
					row = near;
				}
				if (r->max) {
					_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] = REAL_(larger)(row[j], some[j]);
				} else {
					_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += row[j];
				}
			}
			for (int64_t j = 0; j < n; j++)
				total[j] = r->max ? REAL_(larger)(some[j], total[j]) : total[j] + some[j];
		}
		for (int64_t j = 0; j < n; j++)
			REAL_(put)(r, outer * width + at + j, group, total[j]);
	}
}

static int REAL_(reduce)(int max, const h5k_grid *kept, const h5k_grid *over, const void *x, void *y, double divisor) {
	int64_t near = over->stride[0][over->rank - 1], next = kept->stride[0][kept->rank - 1];
	int64_t width = kept->shape[kept->rank - 1], run = over->shape[over->rank - 1];
	REAL_(reduction) r = {kept, over, x, y, divisor, NULL, h5k_count(kept), h5k_count(over), 1, 1, 0, max};
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
	h5k_spread(units, r.results * r.reduced < H5K_GRAIN ? INT64_MAX : 2, by_rows ? REAL_(rows) : REAL_(columns), &r);
	if (r.groups > 1) {
		int64_t groups = r.groups;
		r.groups = 1;
		for (int64_t k = 0; k < r.results; k++) {
			double total = r.part[k];
			for (int64_t g = 1; g < groups; g++)
				total = max ? REAL_(larger)(r.part[g * r.results + k], total) : total + r.part[g * r.results + k];
			REAL_(put)(&r, k, 0, total);
		}
		free(r.part);
	}
	return 1;
}
