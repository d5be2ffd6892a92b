/* Layer norm and its gradient, in REAL. Sums of a row are taken in LANES columns, in float64 of a few dozen
 * numbers each. */

typedef struct {
	int64_t rows, n, x_row, dy_row, y_row; /* y is dx in the gradient */
	double epsilon;
	const REAL *x, *dy, *gamma, *beta;
	REAL *y, *mean, *invstd;
	int64_t each; /* rows of a group */
	double *part; /* of each group: sums for dgamma, then for dbeta */
	int failed;
} REAL_(layer_norms);

/* s = Σ (x − pivot) and t = Σ (x − pivot)². */
static void REAL_(moments)(int64_t n, const REAL *x, REAL pivot, double *s, double *t) {
	enum { DEEP = 32 * LANES };
	int64_t i = 0, whole = n & -LANES;
	*s = *t = 0;
	while (i < whole) {
		int64_t end = i + DEEP < whole ? i + DEEP : whole;
		REAL first[LANES] = {0}, second[LANES] = {0};
		for (; i < end; i += LANES) {
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
				REAL d = x[i + k] - pivot;
				first[k] += d;
				second[k] += d * d;
			}
		}
		*s += REAL_(fold)(first), *t += REAL_(fold)(second);
	}
	for (; i < n; i++) {
		REAL d = x[i] - pivot;
		*s += d, *t += d * d;
	}
}

static void REAL_(some_layer_norms)(void *arg, int64_t from, int64_t to) {
	const REAL_(layer_norms) *l = arg;
	int64_t n = l->n;
	for (int64_t r = from; r < to; r++) {
		const REAL *x = l->x + r * l->x_row, *gamma = l->gamma, *beta = l->beta;
		REAL *y = l->y + r * l->y_row, pivot = REAL_(sum)(n, x) / n;
		double s, t;
		REAL_(moments)(n, x, pivot, &s, &t);
		double rest = s / n, variance = t / n - rest * rest, inverse = 1 / sqrt((variance > 0 || variance != variance ? variance : 0) + l->epsilon);
		l->mean[r] = pivot + rest;
		l->invstd[r] = inverse;
		REAL a = inverse, b = -rest * inverse;
		if (gamma) {
			_Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = ((x[i] - pivot) * a + b) * gamma[i] + beta[i];
		} else {
			_Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = (x[i] - pivot) * a + b;
		}
	}
}

static void REAL_(layer_norm)(int64_t rows, int64_t n, double epsilon, int64_t x_row, int64_t y_row, const void *x, const void *gamma, const void *beta, void *y, void *mean, void *invstd) {
	REAL_(layer_norms) l = {.rows = rows, .n = n, .x_row = x_row, .y_row = y_row, .epsilon = epsilon, .x = x, .gamma = gamma, .beta = beta, .y = y, .mean = mean, .invstd = invstd};
	h5k_spread(rows, rows * n * 3 < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_layer_norms), &l);
}

/* One row of the gradient. With X = (x − mean)·invstd and g = dy·gamma, dx is invstd·(g − mean(g) − X·mean(g·X)). Adds
 * dy·X to dgamma and dy to dbeta. Without gamma, scaled is 0, a constant. */
static inline __attribute__((always_inline)) void REAL_(layer_norm_row)(int scaled, int64_t n, const REAL *x, const REAL *dy, REAL mean, REAL inverse, const REAL *gamma, REAL *dx, REAL *dgamma, REAL *dbeta) {
	enum { DEEP = 32 * LANES };
	int64_t i = 0, whole = n & -LANES;
	double s = 0, t = 0;
	while (i < whole) {
		int64_t end = i + DEEP < whole ? i + DEEP : whole;
		REAL first[LANES] = {0}, second[LANES] = {0};
		for (; i < end; i += LANES) {
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
				REAL g = scaled ? dy[i + k] * gamma[i + k] : dy[i + k];
				first[k] += g;
				second[k] += g * ((x[i + k] - mean) * inverse);
			}
		}
		s += REAL_(fold)(first), t += REAL_(fold)(second);
	}
	for (; i < n; i++) {
		REAL g = scaled ? dy[i] * gamma[i] : dy[i];
		s += g, t += g * ((x[i] - mean) * inverse);
	}
	REAL a = -t / n * inverse, b = -s / n * inverse;
	if (!scaled) {
		_Pragma("omp simd") for (int64_t k = 0; k < n; k++) dx[k] = dy[k] * inverse + ((x[k] - mean) * inverse * a + b);
		return;
	}
	_Pragma("omp simd") for (int64_t k = 0; k < n; k++) {
		REAL u = (x[k] - mean) * inverse, d = dy[k];
		dx[k] = d * gamma[k] * inverse + (u * a + b);
		dgamma[k] += d * u;
		dbeta[k] += d;
	}
}

static void REAL_(some_layer_norm_grads)(void *arg, int64_t from, int64_t to) {
	enum { DEEP = 32 };
	REAL_(layer_norms) *l = arg;
	int64_t n = l->n;
	REAL *some = l->gamma ? malloc(2 * n * sizeof *some) : NULL;
	if (l->gamma && !some) {
		__atomic_store_n(&l->failed, 1, __ATOMIC_RELAXED);
		return;
	}
	for (int64_t group = from; group < to; group++) {
		int64_t r = group * l->each, end = r + l->each < l->rows ? r + l->each : l->rows;
		double *total = l->gamma ? l->part + group * 2 * n : NULL;
		for (int64_t i = 0; total && i < 2 * n; i++)
			total[i] = 0;
		while (r < end) {
			int64_t stop = r + DEEP < end ? r + DEEP : end;
			if (!l->gamma) {
				for (; r < stop; r++)
					REAL_(layer_norm_row)(0, n, l->x + r * l->x_row, l->dy + r * l->dy_row, l->mean[r], l->invstd[r], NULL, l->y + r * l->y_row, NULL, NULL);
				continue;
			}
			memset(some, 0, 2 * n * sizeof *some);
			for (; r < stop; r++)
				REAL_(layer_norm_row)(1, n, l->x + r * l->x_row, l->dy + r * l->dy_row, l->mean[r], l->invstd[r], l->gamma, l->y + r * l->y_row, some, some + n);
			for (int64_t i = 0; i < 2 * n; i++)
				total[i] += some[i];
		}
	}
	free(some);
}

/* Groups of rows depend on the shape alone, and so do the sums over rows. */
static int REAL_(layer_norm_grad)(int64_t rows, int64_t n, int64_t x_row, int64_t dy_row, int64_t dx_row, const void *x, const void *dy, const void *mean, const void *invstd, const void *gamma, void *dx, void *dgamma, void *dbeta) {
	enum { GROUPS = 32, DEEP = 32 };
	int64_t each = (rows + GROUPS - 1) / GROUPS;
	each = (each + DEEP - 1) / DEEP * DEEP;
	int64_t groups = (rows + each - 1) / each;
	REAL_(layer_norms) l = {.rows = rows, .n = n, .x_row = x_row, .dy_row = dy_row, .y_row = dx_row, .x = x, .dy = dy, .gamma = gamma, .y = dx, .mean = (REAL *)(uintptr_t)mean, .invstd = (REAL *)(uintptr_t)invstd, .each = each};
	if (gamma && !(l.part = malloc(groups * 2 * n * sizeof *l.part)))
		return 0;
	h5k_spread(groups, rows * n * 4 < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_layer_norm_grads), &l);
	if (gamma && !l.failed) {
		for (int64_t g = 1; g < groups; g++)
			for (int64_t i = 0; i < 2 * n; i++)
				l.part[i] += l.part[g * 2 * n + i];
		for (int64_t i = 0; i < n; i++)
			((REAL *)dgamma)[i] = l.part[i], ((REAL *)dbeta)[i] = l.part[n + i];
	}
	free(l.part);
	return !l.failed;
}
