/* Random numbers, in REAL: which, says random.go. */

typedef struct {
	int what;
	const h5k_grid *g; /* y, x, and the row-major indices */
	REAL *y;
	const REAL *x;
	int64_t index; /* the first element's */
	uint64_t seed, stream;
	double a, b;
	int64_t parts;
} REAL_(drawing);

enum { REAL_(DRAW) = 4096 };

static void REAL_(some_draws)(void *arg, int64_t from, int64_t to) {
	const REAL_(drawing) *d = arg;
	const h5k_grid *g = d->g;
	int inner = g->rank - 1;
	int64_t width = g->shape[inner], ys = g->stride[0][inner], xs = g->stride[1][inner], is = g->stride[2][inner];
	REAL a = d->a, b = d->b, unit = 1. / (1 << 24), turn = 6.283185307179586 / (1 << 24);
	uint32_t least = d->what == H5K_DROPOUT ? d->a : 0;
	h5k_drawn w;
	for (int64_t u = from; u < to; u++) {
		int64_t row = u / d->parts * width, at = u % d->parts * REAL_(DRAW), end = at + REAL_(DRAW) < width ? at + REAL_(DRAW) : width;
		REAL *y = d->y + h5k_place(g, 0, row), z[DRAWN] = {0};
		const REAL *x = d->what == H5K_DROPOUT ? d->x + h5k_place(g, 1, row) : NULL;
		uint64_t first = d->index + h5k_place(g, 2, row);
		for (; at < end; at += DRAWN) {
			int n = end - at < DRAWN ? end - at : DRAWN;
			if (d->what == H5K_NORMAL)
				h5k_words(&w, first + at * is, is, d->seed, d->stream, 1);
			else
				h5k_words(&w, first + at * is, is, d->seed, d->stream, 0);
			switch (d->what) {
			case H5K_UNIFORM:
				_Pragma("omp simd") for (int k = 0; k < DRAWN; k++) z[k] = a + (b - a) * (unit * (REAL)(int32_t)(w.own[k] >> 8));
				break;
			case H5K_NORMAL: /* sin φ = cos(φ − a quarter turn) */
				_Pragma("omp simd") for (int k = 0; k < DRAWN; k++) {
					REAL radius = SQRT(-2 * LOG(unit * (REAL)(int32_t)((w.first[k] >> 8) + 1)));
					REAL angle = turn * (REAL)((int32_t)(w.second[k] >> 8) - (w.odd[k] << 22));
					z[k] = a + b * (radius * COS(angle));
				}
				break;
			case H5K_DROPOUT:
				if (xs == 1 && n == DRAWN)
					memcpy(z, x + at, sizeof z);
				else
					for (int k = 0; k < n; k++)
						z[k] = x[(at + k) * xs];
				_Pragma("omp simd") for (int k = 0; k < DRAWN; k++) z[k] = w.own[k] >> 8 < least ? 0 : z[k] * b;
			}
			if (ys == 1 && n == DRAWN)
				memcpy(y + at, z, sizeof z);
			else
				for (int k = 0; k < n; k++)
					y[(at + k) * ys] = z[k];
		}
	}
}

static void REAL_(draw)(int what, const h5k_grid *g, void *y, const void *x, int64_t index, uint64_t seed, uint64_t stream, double a, double b) {
	int64_t width = g->shape[g->rank - 1], parts = (width + REAL_(DRAW) - 1) / REAL_(DRAW);
	REAL_(drawing) d = {what, g, y, x, index, seed, stream, a, b, parts};
	h5k_spread(h5k_count(g) / width * parts, h5k_count(g) * 8 < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_draws), &d);
}
