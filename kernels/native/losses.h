/* Losses and their derivatives in one pass, in REAL. */

/* A group of rows adds up one double; groups depend on the shape alone. */
typedef struct {
	const h5k_labelled *in;
	REAL *dx;
	int64_t dx_row, dx_col, each;
	double *part;
	int failed;
} REAL_(entropy);

static void REAL_(entropies)(void *arg, int64_t from, int64_t to) {
	REAL_(entropy) *e = arg;
	const h5k_labelled *in = e->in;
	int64_t n = in->cols;
	REAL *room = malloc(2 * n * sizeof *room);
	if (!room) {
		e->failed = 1;
		return;
	}
	for (int64_t g = from; g < to; g++) {
		int64_t end = (g + 1) * e->each < in->rows ? (g + 1) * e->each : in->rows;
		double loss = 0;
		for (int64_t i = g * e->each; i < end; i++) {
			const REAL *x = REAL_(near)(room, n, (const REAL *)in->x + i * in->row, in->col);
			REAL *row = e->dx ? e->dx + i * e->dx_row : NULL, *t = row && e->dx_col == 1 ? row : room + n;
			int64_t label = h5k_label(in, i);
			REAL top = REAL_(max)(n, x), hit = x[label];
			double sum = REAL_(exps)(n, t, x, top, 0);
			loss += log(sum) + top - hit;
			if (!row)
				continue;
			REAL scale = 1 / (sum * in->rows);
			_Pragma("omp simd") for (int64_t j = 0; j < n; j++) t[j] *= scale;
			t[label] -= (REAL)1 / in->rows;
			if (t != row)
				for (int64_t j = 0; j < n; j++)
					row[j * e->dx_col] = t[j];
		}
		e->part[g] = loss;
	}
	free(room);
}

static int REAL_(cross_entropy)(const h5k_labelled *in, void *loss, void *dx, int64_t dx_row, int64_t dx_col) {
	int64_t each = 8192 / in->cols > 0 ? 8192 / in->cols : 1, groups = (in->rows + each - 1) / each;
	double few[64], *part = groups > 64 ? malloc(groups * sizeof *part) : few, total = 0;
	if (!part)
		return 0;
	REAL_(entropy) e = {in, dx, dx_row, dx_col, each, part, 0};
	h5k_spread(groups, in->rows * in->cols * 4 < H5K_GRAIN ? INT64_MAX : 2, REAL_(entropies), &e);
	for (int64_t g = 0; g < groups; g++)
		total += part[g];
	*(REAL *)loss = total / in->rows;
	if (part != few)
		free(part);
	return !e.failed;
}

static int64_t REAL_(correct)(const h5k_labelled *in) {
	int64_t correct = 0;
	for (int64_t i = 0; i < in->rows; i++) {
		const REAL *x = (const REAL *)in->x + i * in->row;
		int64_t best = 0;
		if (in->col == 1)
			best = REAL_(argmax)(in->cols, x);
		else
			for (int64_t j = 0; j < in->cols && x[best * in->col] == x[best * in->col]; j++)
				if (x[j * in->col] > x[best * in->col] || x[j * in->col] != x[j * in->col])
					best = j;
		correct += best == h5k_label(in, i);
	}
	return correct;
}

typedef struct {
	int64_t n;
	const REAL *x, *y;
	REAL *dx;
	double *part;
} REAL_(squares);

enum { REAL_(SQUARES) = 128 * LANES };

static void REAL_(some_squares)(void *arg, int64_t from, int64_t to) {
	const REAL_(squares) *s = arg;
	REAL scale = (REAL)2 / s->n;
	for (int64_t g = from; g < to; g++) {
		int64_t i = g * REAL_(SQUARES), end = i + REAL_(SQUARES) < s->n ? i + REAL_(SQUARES) : s->n;
		REAL some[LANES] = {0};
		for (; i + LANES <= end; i += LANES) {
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
				REAL d = s->x[i + k] - s->y[i + k];
				some[k] += d * d;
				if (s->dx)
					s->dx[i + k] = d * scale;
			}
		}
		double total = REAL_(fold)(some);
		for (; i < end; i++) {
			REAL d = s->x[i] - s->y[i];
			total += d * d;
			if (s->dx)
				s->dx[i] = d * scale;
		}
		s->part[g] = total;
	}
}

static int REAL_(squared_error)(int64_t n, const void *x, const void *y, void *loss, void *dx) {
	int64_t groups = (n + REAL_(SQUARES) - 1) / REAL_(SQUARES);
	double few[64], *part = groups > 64 ? malloc(groups * sizeof *part) : few, total = 0;
	if (!part)
		return 0;
	REAL_(squares) s = {n, x, y, dx, part};
	h5k_spread(groups, n < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_squares), &s);
	for (int64_t g = 0; g < groups; g++)
		total += part[g];
	*(REAL *)loss = total / n;
	if (part != few)
		free(part);
	return 1;
}

typedef struct {
	int64_t n;
	const REAL *x;
	REAL scale;
	double *part;
} REAL_(square_sums);

static void REAL_(some_square_sums)(void *arg, int64_t from, int64_t to) {
	const REAL_(square_sums) *s = arg;
	for (int64_t g = from; g < to; g++) {
		int64_t i = g * REAL_(SQUARES), end = i + REAL_(SQUARES) < s->n ? i + REAL_(SQUARES) : s->n;
		REAL some[LANES] = {0};
		for (; i + LANES <= end; i += LANES) {
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
				REAL x = s->x[i + k] * s->scale;
				some[k] += x * x;
			}
		}
		double total = REAL_(fold)(some);
		for (; i < end; i++) {
			REAL x = s->x[i] * s->scale;
			total += x * x;
		}
		s->part[g] = total;
	}
}

static double REAL_(square_sum)(int64_t n, const void *x, double scale) {
	int64_t groups = (n + REAL_(SQUARES) - 1) / REAL_(SQUARES);
	double few[64], *part = groups > 64 ? malloc(groups * sizeof *part) : few, total = 0;
	if (!part)
		return -1;
	REAL_(square_sums) s = {n, x, scale, part};
	h5k_spread(groups, n < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_square_sums), &s);
	for (int64_t g = 0; g < groups; g++)
		total += part[g];
	if (part != few)
		free(part);
	return total;
}

/* dz = dy·act'(y), and its sums over rows. Few columns are taken several rows at a time,
 * as if they were one longer row, until the sums are put together. A unit is a block of
 * columns and a group of such rows, whose sums are added up in the end, in order. */
typedef struct {
	int act;
	REAL scale; /* of relu's gradient */
	int64_t n, width, each, groups, blocks; /* n elements in rows of width, the last one shorter */
	const REAL *y, *dy;
	REAL *dz;
	double *part; /* groups × width */
} REAL_(bias_grad);

static inline __attribute__((always_inline)) void REAL_(grad_row)(int act, REAL scale, int64_t n, const REAL *y, const REAL *dy, REAL *dz, REAL *some) {
	switch (act) {
	case 0:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = dy[j];
		break;
	case 1:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = y[j] <= 0 ? 0 : dy[j] * scale;
		break;
	case 2:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = dy[j] * (1 - y[j] * y[j]);
		break;
	case 3:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = dy[j] * (y[j] * (1 - y[j]));
		break;
	case 4:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = dy[j] * H5K_GELU_GRAD(y[j]);
		break;
	case 5:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = dy[j] * H5K_GELU_TANH_GRAD(y[j]);
		break;
	default:
		_Pragma("omp simd") for (int64_t j = 0; j < n; j++) some[j] += dz[j] = dy[j] * H5K_SILU_GRAD(y[j]);
	}
}

static void REAL_(bias_grads)(void *arg, int64_t from, int64_t to) {
	enum { DEEP = 32, C = REAL_(COLUMNS) };
	const REAL_(bias_grad) *b = arg;
	for (int64_t u = from; u < to; u++) {
		int64_t group = u % b->groups, at = u / b->groups * C, n = b->width - at < C ? b->width - at : C;
		int64_t p = group * b->each * b->width + at, end = p + b->each * b->width < b->n ? p + b->each * b->width : b->n;
		double *total = b->part + group * b->width + at;
		REAL some[C];
		for (int64_t j = 0; j < n; j++)
			total[j] = 0;
		while (p < end) {
			for (int64_t j = 0; j < n; j++)
				some[j] = 0;
			for (int i = 0; i < DEEP && p < end; i++, p += b->width)
				REAL_(grad_row)(b->act, b->scale, n < b->n - p ? n : b->n - p, b->y + p, b->dy + p, b->dz + p, some);
			for (int64_t j = 0; j < n; j++)
				total[j] += some[j];
		}
	}
}

static int REAL_(act_grad_bias)(int act, double scale, int64_t rows, int64_t cols, const void *y, const void *dy, void *dz, void *db) {
	enum { C = REAL_(COLUMNS) };
	int64_t fold = cols < C ? C / cols : 1;
	if (fold > rows)
		fold = rows;
	int64_t width = cols * fold, each = width < C / 2 ? 64 : 32;
	REAL_(bias_grad) b = {act, scale, rows * cols, width, each, (rows + fold * each - 1) / (fold * each), (width + C - 1) / C, y, dy, dz, NULL};
	double few[2 * C];
	b.part = b.groups * width <= 2 * C ? few : malloc(b.groups * width * sizeof *b.part);
	if (!b.part)
		return 0;
	h5k_spread(b.groups * b.blocks, rows * cols < H5K_GRAIN ? INT64_MAX : 2, REAL_(bias_grads), &b);
	for (int64_t j = 0; j < cols; j++) {
		double total = 0;
		for (int64_t k = j; k < b.groups * width; k += cols)
			total += b.part[k];
		((REAL *)db)[j] = total;
	}
	if (b.part != few)
		free(b.part);
	return 1;
}

typedef struct {
	const h5k_grid *kept, *over;
	REAL *dx;
	const REAL *x, *y, *dy;
} REAL_(ties);

static void REAL_(some_ties)(void *arg, int64_t from, int64_t to) {
	const REAL_(ties) *t = arg;
	int64_t n = h5k_count(t->over);
	for (int64_t k = from; k < to; k++) {
		REAL *dx = t->dx + h5k_place(t->kept, 0, k);
		const REAL *x = t->x + h5k_place(t->kept, 1, k);
		REAL top = t->y[h5k_place(t->kept, 2, k)], dy = t->dy[h5k_place(t->kept, 3, k)];
		int64_t equals = 0;
		for (int64_t i = 0; i < n; i++) {
			REAL here = x[h5k_place(t->over, 1, i)];
			equals += here == top || (here != here && top != top);
		}
		REAL share = dy / equals;
		for (int64_t i = 0; i < n; i++) {
			REAL here = x[h5k_place(t->over, 1, i)];
			dx[h5k_place(t->over, 0, i)] = here == top || (here != here && top != top) ? share : 0;
		}
	}
}

static void REAL_(max_grad)(const h5k_grid *kept, const h5k_grid *over, void *dx, const void *x, const void *y, const void *dy) {
	REAL_(ties) t = {kept, over, dx, x, y, dy};
	int64_t lines = h5k_count(kept);
	h5k_spread(lines, lines * h5k_count(over) < H5K_GRAIN / 8 ? INT64_MAX : 2, REAL_(some_ties), &t);
}
