/* Loops over vectors of channels, in REAL: float, then double. INT is as wide. */

typedef REAL REAL_(vec) __attribute__((vector_size(64)));
typedef INT REAL_(ivec) __attribute__((vector_size(64)));
enum { REAL_(LANES) = 64 / sizeof(REAL) };

#define vec REAL_(vec)
#define ivec REAL_(ivec)
#define LANES REAL_(LANES)

/* load reads m elements, stride apart; the other lanes are 0. With constants for both
 * it is one instruction. */
INLINE vec REAL_(load)(const REAL *p, int64_t stride, int64_t m) {
	vec v = {0};
	if (stride == 1 && m == LANES)
		memcpy(&v, p, sizeof v);
	else if (stride == 1)
		LOAD_SOME(v, p, m);
	else
		for (int64_t l = 0; l < m; l++)
			v[l] = p[l * stride];
	return v;
}

INLINE void REAL_(store)(REAL *p, vec v, int64_t stride, int64_t m) {
	if (stride == 1 && m == LANES)
		memcpy(p, &v, sizeof v);
	else if (stride == 1)
		STORE_SOME(p, v, m);
	else
		for (int64_t l = 0; l < m; l++)
			p[l * stride] = v[l];
}

/* Where the window's winner is, for each channel. */
INLINE ivec REAL_(load_at)(const char *p, int64_t size, int64_t stride, int64_t m) {
	typedef uint8_t bytes __attribute__((vector_size(LANES)));
	ivec v = {0};
	if (size == 1 && stride == 1 && m == LANES) {
		bytes b;
		memcpy(&b, p, sizeof b);
		return __builtin_convertvector(b, ivec);
	}
	for (int64_t l = 0; l < m; l++)
		v[l] = size == 1 ? ((uint8_t *)p)[l * stride] : ((int32_t *)p)[l * stride];
	return v;
}

INLINE void REAL_(store_at)(char *p, ivec v, int64_t size, int64_t stride, int64_t m) {
	typedef uint8_t bytes __attribute__((vector_size(LANES)));
	if (size == 1 && stride == 1) {
		bytes b = __builtin_convertvector(v, bytes);
		memcpy(p, &b, m);
		return;
	}
	for (int64_t l = 0; l < m; l++)
		if (size == 1)
			((uint8_t *)p)[l * stride] = v[l];
		else
			((int32_t *)p)[l * stride] = v[l];
}

/* pick is a where mask is set, else b. */
INLINE vec REAL_(pick)(ivec mask, vec a, vec b) { return (vec)(((ivec)a & mask) | ((ivec)b & ~mask)); }

/* The first maximum of one window and m channels, and where; a NaN is more than anything. */
INLINE void REAL_(max_window)(const h5k_windows *g, const range *p, const range *q, REAL *y, char *at, const REAL *x, int64_t xc, int64_t yc, int64_t ac, int64_t m) {
	vec best = (vec){0} - (REAL)INFINITY;
	ivec where = (ivec){0} + (INT)(p->lo * g->kernel[1] + q->lo);
	for (int64_t a = p->lo; a < p->hi; a++)
		for (int64_t b = q->lo; b < q->hi; b++) {
			vec v = REAL_(load)(x + a * g->x[2] + b * g->x[3], xc, m);
			ivec wins = (v > best) | (v != v);
			ivec here = (ivec){0} + (INT)(a * g->kernel[1] + b);
			best = REAL_(pick)(wins, v, best);
			where = (here & wins) | (where & ~wins);
		}
	REAL_(store)(y, best, yc, m);
	if (g->at_size)
		REAL_(store_at)(at, where, g->at_size, ac, m);
}

static void REAL_(max_pool)(const h5k_windows *g, int64_t from, int64_t to, void *ys, void *at, const void *xs) {
	int tight = g->x[1] == 1 && g->y[1] == 1 && (g->at[1] == 1 || !g->at_size);
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->out[0], i = r % g->out[0], top = i * g->stride[0] - g->pad[0];
		range p = taps(g, 0, i);
		for (int64_t j = 0; j < g->out[1]; j++) {
			range q = taps(g, 1, j);
			int64_t left = j * g->stride[1] - g->pad[1];
			for (int64_t c = 0; c < g->c; c += LANES) {
				const REAL *x = (const REAL *)xs + n * g->x[0] + c * g->x[1] + top * g->x[2] + left * g->x[3];
				REAL *y = (REAL *)ys + n * g->y[0] + c * g->y[1] + i * g->y[2] + j * g->y[3];
				char *a = (char *)at + (n * g->at[0] + c * g->at[1] + i * g->at[2] + j * g->at[3]) * g->at_size;
				if (tight && g->c - c >= LANES)
					REAL_(max_window)(g, &p, &q, y, a, x, 1, 1, 1, LANES);
				else if (tight)
					REAL_(max_window)(g, &p, &q, y, a, x, 1, 1, 1, g->c - c);
				else
					REAL_(max_window)(g, &p, &q, y, a, x, g->x[1], g->y[1], g->at[1], least(g->c - c, LANES));
			}
		}
	}
}

/* dy where the window has its winner at tap and, if there is a y, that is not cut off. */
INLINE vec REAL_(won)(const REAL *dy, const char *at, const REAL *y, int64_t tap, int64_t size, int64_t yc, int64_t ac, int64_t m) {
	ivec here = REAL_(load_at)(at, size, ac, m) == (ivec){0} + (INT)tap;
	if (y)
		here &= ~(REAL_(load)(y, yc, m) <= (vec){0});
	return (vec)((ivec)REAL_(load)(dy, yc, m) & here);
}

/* The gradient to one pixel: of all windows that hold it, those it won. */
INLINE void REAL_(max_pixel)(const h5k_windows *g, int64_t i, int64_t j, const range *p, const range *q, REAL *dx, const REAL *dy, const char *at, const REAL *y, int64_t xc, int64_t yc, int64_t ac, int64_t m) {
	vec sum = {0};
	for (int64_t a = p->lo; a < p->hi; a++)
		for (int64_t b = q->lo; b < q->hi; b++) {
			int64_t tap = (i + g->pad[0] - a * g->stride[0]) * g->kernel[1] + j + g->pad[1] - b * g->stride[1];
			int64_t window = a * g->y[2] + b * g->y[3];
			sum += REAL_(won)(dy + window, at + (a * g->at[2] + b * g->at[3]) * g->at_size, y ? y + window : NULL, tap, g->at_size, yc, ac, m);
		}
	REAL_(store)(dx, sum, xc, m);
}

INLINE void REAL_(max_pixels)(const h5k_windows *g, int64_t from, int64_t to, REAL *dxs, const REAL *dys, const char *at, const REAL *ys, int tight) {
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->size[0], i = r % g->size[0];
		range p = holders(g, 0, i);
		for (int64_t j = 0; j < g->size[1]; j++) {
			range q = holders(g, 1, j);
			for (int64_t c = 0; c < g->c; c += LANES) {
				REAL *dx = dxs + n * g->x[0] + c * g->x[1] + i * g->x[2] + j * g->x[3];
				const REAL *dy = dys + n * g->y[0] + c * g->y[1], *y = ys ? ys + n * g->y[0] + c * g->y[1] : NULL;
				const char *a = at + (n * g->at[0] + c * g->at[1]) * g->at_size;
				if (tight && g->c - c >= LANES)
					REAL_(max_pixel)(g, i, j, &p, &q, dx, dy, a, y, 1, 1, 1, LANES);
				else
					REAL_(max_pixel)(g, i, j, &p, &q, dx, dy, a, y, g->x[1], g->y[1], g->at[1], least(g->c - c, LANES));
			}
		}
	}
}

/* Where windows do not overlap, the gradients to all pixels of one, and to those beside it. */
INLINE void REAL_(max_cell)(const h5k_windows *g, const range *p, const range *q, int64_t top, int64_t left, REAL *dx, const REAL *dy, const char *at, const REAL *y, int64_t xc, int64_t yc, int64_t ac, int64_t m) {
	ivec where = REAL_(load_at)(at, g->at_size, ac, m);
	vec v = REAL_(load)(dy, yc, m);
	if (y)
		v = (vec)((ivec)v & ~(REAL_(load)(y, yc, m) <= (vec){0}));
	for (int64_t i = p->lo; i < p->hi; i++)
		for (int64_t j = q->lo; j < q->hi; j++) {
			int64_t a = i - top, b = j - left;
			int inside = a >= 0 && a < g->kernel[0] && b >= 0 && b < g->kernel[1];
			ivec here = where == (ivec){0} + (INT)(inside ? a * g->kernel[1] + b : -1);
			REAL_(store)(dx + i * g->x[2] + j * g->x[3], (vec)((ivec)v & here), xc, m);
		}
}

INLINE void REAL_(max_cells)(const h5k_windows *g, int64_t from, int64_t to, REAL *dxs, const REAL *dys, const char *at, const REAL *ys, int tight) {
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->out[0], i = r % g->out[0];
		range p = cell(g, 0, i);
		for (int64_t j = 0; j < g->out[1]; j++) {
			range q = cell(g, 1, j);
			int64_t top = i * g->stride[0] - g->pad[0], left = j * g->stride[1] - g->pad[1];
			for (int64_t c = 0; c < g->c; c += LANES) {
				int64_t window = n * g->y[0] + c * g->y[1] + i * g->y[2] + j * g->y[3];
				REAL *dx = dxs + n * g->x[0] + c * g->x[1];
				const char *a = at + (n * g->at[0] + c * g->at[1] + i * g->at[2] + j * g->at[3]) * g->at_size;
				if (tight && g->c - c >= LANES)
					REAL_(max_cell)(g, &p, &q, top, left, dx, dys + window, a, ys ? ys + window : NULL, 1, 1, 1, LANES);
				else
					REAL_(max_cell)(g, &p, &q, top, left, dx, dys + window, a, ys ? ys + window : NULL, g->x[1], g->y[1], g->at[1], least(g->c - c, LANES));
			}
		}
	}
}

static void REAL_(max_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dx, const void *dy, const void *at, const void *y) {
	int tight = g->x[1] == 1 && g->y[1] == 1 && g->at[1] == 1;
	if (g->apart && y)
		REAL_(max_cells)(g, from, to, dx, dy, at, y, tight);
	else if (g->apart)
		REAL_(max_cells)(g, from, to, dx, dy, at, NULL, tight);
	else
		REAL_(max_pixels)(g, from, to, dx, dy, at, y, tight);
}

/* scale times the sum over a rectangle of pixels: the mean of a window, or the gradient
 * to a pixel from all windows that hold it. */
INLINE void REAL_(rectangle)(const range *p, const range *q, REAL *to, const REAL *from, int64_t down, int64_t across, int64_t tc, int64_t fc, int64_t m, REAL scale) {
	vec sum = {0};
	for (int64_t a = p->lo; a < p->hi; a++)
		for (int64_t b = q->lo; b < q->hi; b++)
			sum += REAL_(load)(from + a * down + b * across, fc, m);
	REAL_(store)(to, sum * scale, tc, m);
}

INLINE void REAL_(rectangles)(int64_t channels, const range *p, const range *q, REAL *to, const int64_t *ts, const REAL *from, const int64_t *fs, REAL scale) {
	for (int64_t c = 0; c < channels; c += LANES) {
		int64_t m = channels - c;
		if (ts[1] == 1 && fs[1] == 1 && m >= LANES)
			REAL_(rectangle)(p, q, to + c, from + c, fs[2], fs[3], 1, 1, LANES, scale);
		else
			REAL_(rectangle)(p, q, to + c * ts[1], from + c * fs[1], fs[2], fs[3], ts[1], fs[1], m < LANES ? m : LANES, scale);
	}
}

static void REAL_(avg_pool)(const h5k_windows *g, int64_t from, int64_t to, void *ys, const void *xs) {
	REAL scale = 1 / (REAL)(g->kernel[0] * g->kernel[1]);
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->out[0], i = r % g->out[0];
		range p = taps(g, 0, i);
		for (int64_t j = 0; j < g->out[1]; j++) {
			range q = taps(g, 1, j);
			const REAL *x = (const REAL *)xs + n * g->x[0] + (i * g->stride[0] - g->pad[0]) * g->x[2] + (j * g->stride[1] - g->pad[1]) * g->x[3];
			REAL_(rectangles)(g->c, &p, &q, (REAL *)ys + n * g->y[0] + i * g->y[2] + j * g->y[3], g->y, x, g->x, scale);
		}
	}
}

static void REAL_(avg_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dxs, const void *dys) {
	REAL scale = 1 / (REAL)(g->kernel[0] * g->kernel[1]);
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->size[0], i = r % g->size[0];
		range p = holders(g, 0, i);
		for (int64_t j = 0; j < g->size[1]; j++) {
			range q = holders(g, 1, j);
			REAL_(rectangles)(g->c, &p, &q, (REAL *)dxs + n * g->x[0] + i * g->x[2] + j * g->x[3], g->x, (const REAL *)dys + n * g->y[0], g->y, scale);
		}
	}
}

#undef vec
#undef ivec
#undef LANES

/* Channels side by side: a loop over them for each pixel. */
INLINE void REAL_(sums_across)(int64_t c, double *sums, const REAL *dy, const REAL *x, const double *pivot) {
	_Pragma("omp simd") for (int64_t i = 0; i < c; i++) {
		double d = x[i] - pivot[i], a = dy ? dy[i] : d;
		sums[i] += a;
		sums[c + i] += a * d;
	}
}

/* One channel's pixels side by side. */
INLINE void REAL_(sums_along)(int64_t l, double *sum, double *product, const REAL *dy, const REAL *x, double pivot) {
	double s = 0, t = 0;
	_Pragma("omp simd reduction(+ : s, t)") for (int64_t i = 0; i < l; i++) {
		double d = x[i] - pivot, a = dy ? dy[i] : d;
		s += a;
		t += a * d;
	}
	*sum += s;
	*product += t;
}

static void REAL_(channel_sums)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, double *sums, const void *dys, const void *xs, const double *pivot) {
	const REAL *x = (const REAL *)xs + n * g->x[0], *dy = dys ? (const REAL *)dys + n * g->dy[0] : NULL;
	if (g->x[1] == 1 && (!dy || g->dy[1] == 1)) {
		for (int64_t i = from; i < to; i++)
			if (dy)
				REAL_(sums_across)(g->c, sums, dy + i * g->dy[2], x + i * g->x[2], pivot);
			else
				REAL_(sums_across)(g->c, sums, NULL, x + i * g->x[2], pivot);
		return;
	}
	for (int64_t c = 0; c < g->c; c++) {
		const REAL *xc = x + c * g->x[1], *dyc = dy ? dy + c * g->dy[1] : NULL;
		if (g->x[2] == 1 && !dy) {
			REAL_(sums_along)(to - from, sums + c, sums + g->c + c, NULL, xc + from, pivot[c]);
			continue;
		}
		if (g->x[2] == 1 && g->dy[2] == 1) {
			REAL_(sums_along)(to - from, sums + c, sums + g->c + c, dyc + from, xc + from, pivot[c]);
			continue;
		}
		for (int64_t i = from; i < to; i++) {
			double d = xc[i * g->x[2]] - pivot[c], a = dyc ? dyc[i * g->dy[2]] : d;
			sums[c] += a;
			sums[g->c + c] += a * d;
		}
	}
}

/* y = a·(x-pivot) + b·dy + k over m elements; the constants move on by step. */
INLINE void REAL_(map_run)(int64_t m, REAL *y, int64_t ys, const REAL *x, int64_t xs, const REAL *dy, int64_t ds, const REAL *pivot, const REAL *a, const REAL *b, const REAL *k, int64_t step) {
	_Pragma("omp simd") for (int64_t i = 0; i < m; i++) {
		REAL v = a[i * step] * (x[i * xs] - pivot[i * step]) + k[i * step];
		y[i * ys] = dy ? v + b[i * step] * dy[i * ds] : v;
	}
}

static void REAL_(channel_map)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, void *ys, const void *xs, const void *dys, const void *const constants[4]) {
	const REAL *pivot = constants[0], *a = constants[1], *b = constants[2], *k = constants[3];
	const REAL *x = (const REAL *)xs + n * g->x[0], *dy = dys ? (const REAL *)dys + n * g->dy[0] : NULL;
	REAL *y = (REAL *)ys + n * g->y[0];
	if (g->x[1] == 1 && g->y[1] == 1 && (!dy || g->dy[1] == 1)) {
		for (int64_t i = from; i < to; i++)
			if (dy)
				REAL_(map_run)(g->c, y + i * g->y[2], 1, x + i * g->x[2], 1, dy + i * g->dy[2], 1, pivot, a, b, k, 1);
			else
				REAL_(map_run)(g->c, y + i * g->y[2], 1, x + i * g->x[2], 1, NULL, 1, pivot, a, b, k, 1);
		return;
	}
	for (int64_t c = 0; c < g->c; c++) {
		const REAL *xc = x + c * g->x[1] + from * g->x[2], *dyc = dy ? dy + c * g->dy[1] + from * g->dy[2] : NULL;
		REAL *yc = y + c * g->y[1] + from * g->y[2];
		if (g->x[2] == 1 && g->y[2] == 1 && (!dy || g->dy[2] == 1))
			REAL_(map_run)(to - from, yc, 1, xc, 1, dyc, 1, pivot + c, a + c, b + c, k + c, 0);
		else
			REAL_(map_run)(to - from, yc, g->y[2], xc, g->x[2], dyc, g->dy[2], pivot + c, a + c, b + c, k + c, 0);
	}
}
