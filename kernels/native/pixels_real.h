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

typedef int32_t REAL_(index) __attribute__((vector_size(sizeof(int32_t) * LANES)));

INLINE ivec REAL_(load_at)(const int32_t *p, int64_t stride, int64_t m) {
	REAL_(index) v = {0};
	if (stride == 1 && m == LANES)
		memcpy(&v, p, sizeof v);
	else if (stride == 1)
		LOAD_SOME_AT(v, p, m);
	else
		for (int64_t l = 0; l < m; l++)
			v[l] = p[l * stride];
	return __builtin_convertvector(v, ivec);
}

INLINE void REAL_(store_at)(int32_t *p, ivec at, int64_t stride, int64_t m) {
	REAL_(index) v = __builtin_convertvector(at, REAL_(index));
	if (stride == 1 && m == LANES)
		memcpy(p, &v, sizeof v);
	else if (stride == 1)
		STORE_SOME_AT(p, v, m);
	else
		for (int64_t l = 0; l < m; l++)
			p[l * stride] = v[l];
}

/* pick is a where mask is set, else b. */
INLINE vec REAL_(pick)(ivec mask, vec a, vec b) { return (vec)(((ivec)a & mask) | ((ivec)b & ~mask)); }

/* all returns value in every lane. */
INLINE ivec REAL_(all)(int64_t value) { return (ivec){0} + (INT)value; }

/* The maximum of a box of elements and m channels, the first of equal ones, and its index in the image; NaN
 * is the largest. x is the first of the elements, and first its index. */
INLINE void REAL_(max_window)(box b, const REAL *x, int64_t first, REAL *y, int32_t *at, int64_t xc, int64_t yc, int64_t ac, int64_t m) {
	vec best = (vec){0} - (REAL)INFINITY;
	ivec where = REAL_(all)(first);
	for (int64_t i = 0; i < b.n[0]; i++, x += b.step[0], first += b.index[0]) {
		const REAL *row = x;
		int64_t at_row = first;
		for (int64_t j = 0; j < b.n[1]; j++, row += b.step[1], at_row += b.index[1]) {
			const REAL *p = row;
			ivec here = REAL_(all)(at_row);
			for (int64_t k = 0; k < b.n[2]; k++, p += b.step[2], here += (INT)b.index[2]) {
				vec v = REAL_(load)(p, xc, m);
				ivec larger = (v > best) | (v != v);
				best = REAL_(pick)(larger, v, best);
				where = (here & larger) | (where & ~larger);
			}
		}
	}
	REAL_(store)(y, best, yc, m);
	if (at)
		REAL_(store_at)(at, where, ac, m);
}

/* The offset of an element of an image: s holds strides of images, channels and spatial axes. */
INLINE int64_t REAL_(offset)(const int64_t s[5], int64_t n, int64_t i, int64_t j, int64_t k) { return n * s[0] + i * s[2] + j * s[3] + k * s[4]; }

static void REAL_(max_pool)(const h5k_windows *shared, int64_t from, int64_t to, void *ys, int32_t *ats, const void *xs) {
	const h5k_windows own = *shared, *g = &own; /* that stores do not change */
	const int64_t xc = g->x[1], yc = g->y[1], ac = g->at[1], channels = g->c;
	const int64_t steps[3] = {g->dilation[0] * g->x[2], g->dilation[1] * g->x[3], g->dilation[2] * g->x[4]};
	const int64_t indices[3] = {g->dilation[0] * g->size[1] * g->size[2], g->dilation[1] * g->size[2], g->dilation[2]};
	int tight = xc == 1 && yc == 1 && (!ats || ac == 1);
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->out[1] / g->out[0], i = r / g->out[1] % g->out[0], j = r % g->out[1];
		range t[3] = {taps(g, 0, i), taps(g, 1, j)};
		int64_t front = begin(g, 0, i), top = begin(g, 1, j);
		for (int64_t k = 0; k < g->out[2]; k++) {
			int64_t left = begin(g, 2, k), first = (front * g->size[1] + top) * g->size[2] + left;
			t[2] = taps(g, 2, k);
			box b = box_of(t, steps, indices);
			first = b.n[0] && b.n[1] && b.n[2] ? first + t[0].lo * indices[0] + t[1].lo * indices[1] + t[2].lo * indices[2] : -1;
			const REAL *x = (const REAL *)xs + REAL_(offset)(g->x, n, front, top, left) + t[0].lo * steps[0] + t[1].lo * steps[1] + t[2].lo * steps[2];
			REAL *y = (REAL *)ys + REAL_(offset)(g->y, n, i, j, k);
			int32_t *at = ats ? ats + REAL_(offset)(g->at, n, i, j, k) : NULL;
			for (int64_t c = 0; c < channels; c += LANES) {
				int32_t *a = at ? at + c * ac : NULL;
				if (tight && channels - c >= LANES)
					REAL_(max_window)(b, x + c, first, y + c, a, 1, 1, 1, LANES);
				else if (tight)
					REAL_(max_window)(b, x + c, first, y + c, a, 1, 1, 1, channels - c);
				else
					REAL_(max_window)(b, x + c * xc, first, y + c * yc, a, xc, yc, ac, least(channels - c, LANES));
			}
		}
	}
}

/* dy masked to the channels whose gradient is not cut off by y. */
INLINE vec REAL_(load_dy)(const REAL *dy, const REAL *y, int64_t yc, int64_t m) {
	vec v = REAL_(load)(dy, yc, m);
	return y ? (vec)((ivec)v & ~(REAL_(load)(y, yc, m) <= (vec){0})) : v;
}

/* The gradient of one pixel, whose index is given: the sum over the windows of which it is the maximum. */
INLINE void REAL_(max_pixel)(const h5k_windows *g, int64_t index, const range t[3], REAL *dx, const REAL *dy, const int32_t *at, const REAL *y, int64_t xc, int64_t yc, int64_t ac, int64_t m) {
	vec sum = {0};
	for (int64_t a = t[0].lo; a < t[0].hi; a++)
		for (int64_t b = t[1].lo; b < t[1].hi; b++)
			for (int64_t c = t[2].lo; c < t[2].hi; c++) {
				int64_t window = REAL_(offset)(g->y, 0, a, b, c);
				ivec here = REAL_(load_at)(at + REAL_(offset)(g->at, 0, a, b, c), ac, m) == REAL_(all)(index);
				sum += (vec)((ivec)REAL_(load_dy)(dy + window, y ? y + window : NULL, yc, m) & here);
			}
	REAL_(store)(dx, sum, xc, m);
}

INLINE void REAL_(max_pixels)(const h5k_windows *shared, int64_t from, int64_t to, REAL *dxs, const REAL *dys, const int32_t *ats, const REAL *ys, int tight) {
	const h5k_windows own = *shared, *g = &own;
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->size[1] / g->size[0], i = r / g->size[1] % g->size[0], j = r % g->size[1];
		range t[3] = {holders(g, 0, i), holders(g, 1, j)};
		for (int64_t k = 0; k < g->size[2]; k++) {
			t[2] = holders(g, 2, k);
			int64_t index = (i * g->size[1] + j) * g->size[2] + k;
			for (int64_t c = 0; c < g->c; c += LANES) {
				int64_t image = n * g->y[0] + c * g->y[1];
				REAL *dx = dxs + REAL_(offset)(g->x, n, i, j, k) + c * g->x[1];
				const REAL *y = ys ? ys + image : NULL;
				const int32_t *at = ats + n * g->at[0] + c * g->at[1];
				if (tight && g->c - c >= LANES)
					REAL_(max_pixel)(g, index, t, dx, dys + image, at, y, 1, 1, 1, LANES);
				else if (tight)
					REAL_(max_pixel)(g, index, t, dx, dys + image, at, y, 1, 1, 1, g->c - c);
				else
					REAL_(max_pixel)(g, index, t, dx, dys + image, at, y, g->x[1], g->y[1], g->at[1], least(g->c - c, LANES));
			}
		}
	}
}

/* Where windows do not overlap, the gradients of all pixels of one, and of those beside it: a box, whose first
 * pixel dx and index first are those of. */
INLINE void REAL_(max_cell)(box b, int64_t first, REAL *dx, const REAL *dy, const int32_t *at, const REAL *y, int64_t xc, int64_t yc, int64_t ac, int64_t m) {
	ivec where = REAL_(load_at)(at, ac, m) - REAL_(all)(first);
	vec v = REAL_(load_dy)(dy, y, yc, m);
	for (int64_t i = 0; i < b.n[0]; i++, dx += b.step[0], where -= REAL_(all)(b.index[0])) {
		REAL *row = dx;
		ivec at_row = where;
		for (int64_t j = 0; j < b.n[1]; j++, row += b.step[1], at_row -= REAL_(all)(b.index[1])) {
			REAL *p = row;
			ivec here = at_row;
			for (int64_t k = 0; k < b.n[2]; k++, p += b.step[2], here -= REAL_(all)(b.index[2]))
				REAL_(store)(p, (vec)((ivec)v & (here == (ivec){0})), xc, m);
		}
	}
}

INLINE void REAL_(max_cells)(const h5k_windows *shared, int64_t from, int64_t to, REAL *dxs, const REAL *dys, const int32_t *ats, const REAL *ys, int tight) {
	const h5k_windows own = *shared, *g = &own;
	const int64_t indices[3] = {g->size[1] * g->size[2], g->size[2], 1};
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->out[1] / g->out[0], i = r / g->out[1] % g->out[0], j = r % g->out[1];
		range t[3] = {cell(g, 0, i), cell(g, 1, j)};
		for (int64_t k = 0; k < g->out[2]; k++) {
			t[2] = cell(g, 2, k);
			box b = box_of(t, g->x + 2, indices);
			int64_t first = (t[0].lo * g->size[1] + t[1].lo) * g->size[2] + t[2].lo;
			for (int64_t c = 0; c < g->c; c += LANES) {
				int64_t window = REAL_(offset)(g->y, n, i, j, k) + c * g->y[1];
				REAL *dx = dxs + REAL_(offset)(g->x, n, t[0].lo, t[1].lo, t[2].lo) + c * g->x[1];
				const REAL *y = ys ? ys + window : NULL;
				const int32_t *at = ats + REAL_(offset)(g->at, n, i, j, k) + c * g->at[1];
				if (tight && g->c - c >= LANES)
					REAL_(max_cell)(b, first, dx, dys + window, at, y, 1, 1, 1, LANES);
				else if (tight)
					REAL_(max_cell)(b, first, dx, dys + window, at, y, 1, 1, 1, g->c - c);
				else
					REAL_(max_cell)(b, first, dx, dys + window, at, y, g->x[1], g->y[1], g->at[1], least(g->c - c, LANES));
			}
		}
	}
}

static void REAL_(max_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dx, const void *dy, const int32_t *at, const void *y) {
	int tight = g->x[1] == 1 && g->y[1] == 1 && g->at[1] == 1;
	if (g->apart && y)
		REAL_(max_cells)(g, from, to, dx, dy, at, y, tight);
	else if (g->apart)
		REAL_(max_cells)(g, from, to, dx, dy, at, NULL, tight);
	else
		REAL_(max_pixels)(g, from, to, dx, dy, at, y, tight);
}

/* The sum of a box of elements for each of m channels, scaled. */
INLINE void REAL_(mean)(box b, REAL *to, const REAL *from, int64_t tc, int64_t fc, int64_t m, REAL scale) {
	vec sum = {0};
	for (int64_t i = 0; i < b.n[0]; i++, from += b.step[0]) {
		const REAL *row = from;
		for (int64_t j = 0; j < b.n[1]; j++, row += b.step[1]) {
			const REAL *p = row;
			for (int64_t k = 0; k < b.n[2]; k++, p += b.step[2])
				sum += REAL_(load)(p, fc, m);
		}
	}
	REAL_(store)(to, sum * scale, tc, m);
}

INLINE void REAL_(means)(int64_t channels, box b, REAL *to, int64_t tc, const REAL *from, int64_t fc, REAL scale) {
	for (int64_t c = 0; c < channels; c += LANES) {
		int64_t m = channels - c;
		if (tc == 1 && fc == 1 && m >= LANES)
			REAL_(mean)(b, to + c, from + c, 1, 1, LANES, scale);
		else if (tc == 1 && fc == 1)
			REAL_(mean)(b, to + c, from + c, 1, 1, m, scale);
		else
			REAL_(mean)(b, to + c * tc, from + c * fc, tc, fc, m < LANES ? m : LANES, scale);
	}
}

/* Whether all windows have the same number of elements that their mean counts. */
INLINE int REAL_(uniform)(const h5k_windows *g) {
	int same = !g->exclude;
	for (int axis = 0; axis < 3; axis++)
		same &= counted(g, axis, g->out[axis] - 1) == g->kernel[axis];
	return same;
}

/* The reciprocal of the number of elements that the mean of a window counts. */
INLINE REAL REAL_(weight)(const h5k_windows *g, int64_t i, int64_t j, int64_t k) {
	return 1 / (REAL)(counted(g, 0, i) * counted(g, 1, j) * counted(g, 2, k));
}

static void REAL_(avg_pool)(const h5k_windows *shared, int64_t from, int64_t to, void *ys, const void *xs) {
	const h5k_windows own = *shared, *g = &own; /* that stores do not change */
	static const int64_t none[3];
	const int64_t channels = g->c, xc = g->x[1], yc = g->y[1];
	int uniform = REAL_(uniform)(g);
	REAL scale = 1 / (REAL)(g->kernel[0] * g->kernel[1] * g->kernel[2]);
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->out[1] / g->out[0], i = r / g->out[1] % g->out[0], j = r % g->out[1];
		range t[3] = {taps(g, 0, i), taps(g, 1, j)};
		const REAL *row = (const REAL *)xs + REAL_(offset)(g->x, n, begin(g, 0, i) + t[0].lo, begin(g, 1, j) + t[1].lo, 0);
		for (int64_t k = 0; k < g->out[2]; k++) {
			t[2] = taps(g, 2, k);
			REAL *y = (REAL *)ys + REAL_(offset)(g->y, n, i, j, k);
			REAL_(means)(channels, box_of(t, g->x + 2, none), y, yc, row + (begin(g, 2, k) + t[2].lo) * g->x[4], xc, uniform ? scale : REAL_(weight)(g, i, j, k));
		}
	}
}

/* The gradient of one pixel: the weighted sum over the windows that contain it. */
INLINE void REAL_(spread_pixel)(const h5k_windows *g, const range t[3], REAL *dx, const REAL *dy, int64_t xc, int64_t yc, int64_t m) {
	vec sum = {0};
	for (int64_t a = t[0].lo; a < t[0].hi; a++)
		for (int64_t b = t[1].lo; b < t[1].hi; b++)
			for (int64_t c = t[2].lo; c < t[2].hi; c++)
				sum += REAL_(load)(dy + REAL_(offset)(g->y, 0, a, b, c), yc, m) * REAL_(weight)(g, a, b, c);
	REAL_(store)(dx, sum, xc, m);
}

static void REAL_(avg_pool_grad)(const h5k_windows *shared, int64_t from, int64_t to, void *dxs, const void *dys) {
	const h5k_windows own = *shared, *g = &own; /* that stores do not change */
	static const int64_t none[3];
	const int64_t channels = g->c, xc = g->x[1], yc = g->y[1];
	int uniform = REAL_(uniform)(g);
	REAL scale = 1 / (REAL)(g->kernel[0] * g->kernel[1] * g->kernel[2]);
	for (int64_t r = from; r < to; r++) {
		int64_t n = r / g->size[1] / g->size[0], i = r / g->size[1] % g->size[0], j = r % g->size[1];
		range t[3] = {holders(g, 0, i), holders(g, 1, j)};
		const REAL *row = (const REAL *)dys + REAL_(offset)(g->y, n, t[0].lo, t[1].lo, 0);
		for (int64_t k = 0; k < g->size[2]; k++) {
			t[2] = holders(g, 2, k);
			REAL *dx = (REAL *)dxs + REAL_(offset)(g->x, n, i, j, k);
			if (uniform) {
				REAL_(means)(channels, box_of(t, g->y + 2, none), dx, xc, row + t[2].lo * g->y[4], yc, scale);
				continue;
			}
			for (int64_t c = 0; c < channels; c += LANES)
				REAL_(spread_pixel)(g, t, dx + c * xc, (const REAL *)dys + n * g->y[0] + c * yc, xc, yc, least(channels - c, LANES));
		}
	}
}

#undef vec
#undef ivec
#undef LANES

/* dy[i], or 0 where the mask is not positive. NULL for either is a constant that the compiler sees. */
INLINE REAL REAL_(masked)(const REAL *dy, const REAL *mask, int64_t i) {
	REAL d = dy[i]; /* read in any case, so that a loop of this can be vectorized */
	return mask && mask[i] <= 0 ? 0 : d;
}

typedef REAL REAL_(eight) __attribute__((vector_size(8 * sizeof(REAL))));
typedef INT REAL_(ieight) __attribute__((vector_size(8 * sizeof(REAL))));
typedef double REAL_(wide) __attribute__((vector_size(64)));

INLINE REAL_(wide) REAL_(load_wide)(const REAL *p, const REAL *mask) {
	REAL_(eight) v, m;
	memcpy(&v, p, sizeof v);
	if (mask) {
		memcpy(&m, mask, sizeof m);
		v = (REAL_(eight))((REAL_(ieight))v & ~(m <= (REAL_(eight)){0}));
	}
	return __builtin_convertvector(v, REAL_(wide));
}

enum { REAL_(ROWS) = 4, REAL_(ROWS_AHEAD) = 16 };

/* Channels side by side, of at most ROWS pixels: c sums, and c sums of products at products. 16 channels at a
 * time are added in registers. Memory is asked for ROWS_AHEAD pixels ahead. */
INLINE void REAL_(sums_across)(int64_t pixels, int64_t c, double *sums, double *products, const REAL *dy, const REAL *mask, int64_t dl, const REAL *x, int64_t xl, const double *pivot) {
	int64_t i = 0;
	for (; i + 16 <= c; i += 16) {
		REAL_(wide) s[2], t[2], middle[2];
		memcpy(s, sums + i, sizeof s);
		memcpy(t, products + i, sizeof t);
		memcpy(middle, pivot + i, sizeof middle);
		for (int64_t p = 0; p < pixels; p++) {
			__builtin_prefetch(x + (p + REAL_(ROWS_AHEAD)) * xl + i);
			if (dy)
				__builtin_prefetch(dy + (p + REAL_(ROWS_AHEAD)) * dl + i);
			if (mask)
				__builtin_prefetch(mask + (p + REAL_(ROWS_AHEAD)) * dl + i);
			for (int k = 0; k < 2; k++) {
				int64_t at = i + 8 * k;
				REAL_(wide) d = REAL_(load_wide)(x + p * xl + at, NULL) - middle[k];
				REAL_(wide) a = dy ? REAL_(load_wide)(dy + p * dl + at, mask ? mask + p * dl + at : NULL) : d;
				s[k] += a;
				t[k] += a * d;
			}
		}
		memcpy(sums + i, s, sizeof s);
		memcpy(products + i, t, sizeof t);
	}
	for (int64_t p = 0; p < pixels; p++)
		_Pragma("omp simd") for (int64_t j = i; j < c; j++) {
			double d = x[p * xl + j] - pivot[j], a = dy ? REAL_(masked)(dy, mask, p * dl + j) : d;
			sums[j] += a;
			products[j] += a * d;
		}
}

/* One channel's pixels side by side. */
INLINE void REAL_(sums_along)(int64_t l, double *sum, double *product, const REAL *dy, const REAL *mask, const REAL *x, double pivot) {
	double s = 0, t = 0;
	_Pragma("omp simd reduction(+ : s, t)") for (int64_t i = 0; i < l; i++) {
		double d = x[i] - pivot, a = dy ? REAL_(masked)(dy, mask, i) : d;
		s += a;
		t += a * d;
	}
	*sum += s;
	*product += t;
}

static void REAL_(channel_sums)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, double *sums, const void *dys, const void *masks, const void *xs, const double *pivot) {
	const REAL *x = (const REAL *)xs + n * g->x[0], *dy = dys ? (const REAL *)dys + n * g->dy[0] : NULL, *mask = masks ? (const REAL *)masks + n * g->dy[0] : NULL;
	if (g->x[1] == 1 && (!dy || g->dy[1] == 1)) {
		const int64_t c = g->c, xl = g->x[2], dl = g->dy[2];
		for (int64_t i = from; i < to; i += REAL_(ROWS)) {
			int64_t rows = least(REAL_(ROWS), to - i);
			if (mask)
				REAL_(sums_across)(rows, c, sums, sums + c, dy + i * dl, mask + i * dl, dl, x + i * xl, xl, pivot);
			else if (dy)
				REAL_(sums_across)(rows, c, sums, sums + c, dy + i * dl, NULL, dl, x + i * xl, xl, pivot);
			else
				REAL_(sums_across)(rows, c, sums, sums + c, NULL, NULL, 0, x + i * xl, xl, pivot);
		}
		return;
	}
	for (int64_t c = 0; c < g->c; c++) {
		const REAL *xc = x + c * g->x[1], *dyc = dy ? dy + c * g->dy[1] : NULL, *mc = mask ? mask + c * g->dy[1] : NULL;
		if (g->x[2] == 1 && !dy) {
			REAL_(sums_along)(to - from, sums + c, sums + g->c + c, NULL, NULL, xc + from, pivot[c]);
			continue;
		}
		if (g->x[2] == 1 && g->dy[2] == 1) {
			if (mask)
				REAL_(sums_along)(to - from, sums + c, sums + g->c + c, dyc + from, mc + from, xc + from, pivot[c]);
			else
				REAL_(sums_along)(to - from, sums + c, sums + g->c + c, dyc + from, NULL, xc + from, pivot[c]);
			continue;
		}
		for (int64_t i = from; i < to; i++) {
			double d = xc[i * g->x[2]] - pivot[c], a = dyc ? REAL_(masked)(dyc, mc, i * g->dy[2]) : d;
			sums[c] += a;
			sums[g->c + c] += a * d;
		}
	}
}

/* y = a·(x-pivot) + b·dy + k over m elements, at least 0 if relu; the constants move on by step. */
INLINE void REAL_(map_run)(int64_t m, int relu, REAL *y, int64_t ys, const REAL *x, int64_t xs, const REAL *dy, const REAL *mask, int64_t ds, const REAL *pivot, const REAL *a, const REAL *b, const REAL *k, int64_t step) {
	_Pragma("omp simd") for (int64_t i = 0; i < m; i++) {
		REAL v = a[i * step] * (x[i * xs] - pivot[i * step]) + k[i * step];
		if (dy)
			v += b[i * step] * REAL_(masked)(dy, mask, i * ds);
		y[i * ys] = relu && v < 0 ? 0 : v;
	}
}

static void REAL_(channel_map)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, void *ys, const void *xs, const void *dys, const void *masks, const void *const constants[4]) {
	const REAL *pivot = constants[0], *a = constants[1], *b = constants[2], *k = constants[3];
	const REAL *x = (const REAL *)xs + n * g->x[0], *dy = dys ? (const REAL *)dys + n * g->dy[0] : NULL, *mask = masks ? (const REAL *)masks + n * g->dy[0] : NULL;
	REAL *y = (REAL *)ys + n * g->y[0];
	if (g->x[1] == 1 && g->y[1] == 1 && (!dy || g->dy[1] == 1)) {
		for (int64_t i = from; i < to; i++)
			if (mask)
				REAL_(map_run)(g->c, 0, y + i * g->y[2], 1, x + i * g->x[2], 1, dy + i * g->dy[2], mask + i * g->dy[2], 1, pivot, a, b, k, 1);
			else if (dy)
				REAL_(map_run)(g->c, 0, y + i * g->y[2], 1, x + i * g->x[2], 1, dy + i * g->dy[2], NULL, 1, pivot, a, b, k, 1);
			else if (g->relu)
				REAL_(map_run)(g->c, 1, y + i * g->y[2], 1, x + i * g->x[2], 1, NULL, NULL, 1, pivot, a, b, k, 1);
			else
				REAL_(map_run)(g->c, 0, y + i * g->y[2], 1, x + i * g->x[2], 1, NULL, NULL, 1, pivot, a, b, k, 1);
		return;
	}
	for (int64_t c = 0; c < g->c; c++) {
		const REAL *xc = x + c * g->x[1] + from * g->x[2], *dyc = dy ? dy + c * g->dy[1] + from * g->dy[2] : NULL, *mc = mask ? mask + c * g->dy[1] + from * g->dy[2] : NULL;
		REAL *yc = y + c * g->y[1] + from * g->y[2];
		if (g->x[2] == 1 && g->y[2] == 1 && (!dy || g->dy[2] == 1) && !mask)
			REAL_(map_run)(to - from, g->relu, yc, 1, xc, 1, dyc, NULL, 1, pivot + c, a + c, b + c, k + c, 0);
		else
			REAL_(map_run)(to - from, g->relu, yc, g->y[2], xc, g->x[2], dyc, mc, g->dy[2], pivot + c, a + c, b + c, k + c, 0);
	}
}
