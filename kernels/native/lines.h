/* Loops over lines, in REAL: the softmax family and argmax. STORED and HALF are as in reduce.h. */

#ifdef HALF
#define OWN(name) PASTE(name, _f32)
#else
#define OWN REAL_

static REAL REAL_(max)(int64_t n, const REAL *x) { return REAL_(reduce_line)(H5K_REDUCE_max, n, x, 0); }

static inline REAL REAL_(fold)(const REAL *lane) {
	REAL sum = 0;
	for (int k = 0; k < LANES; k++)
		sum += lane[k];
	return sum;
}

/* y[i] = e^(x[i] − top); returns their sum. y may be x. Prefetches memory ahead elements further on,
 * where the next line begins: it would otherwise be idle while a line is computed (softmax of lines
 * of 4 KiB takes half the time). */
static double REAL_(exps)(int64_t n, REAL *y, const REAL *x, REAL top, int64_t ahead) {
	enum { DEEP = 64 * LANES };
	double total = 0;
	int64_t whole = n & -LANES, rest = n - whole;
	for (int64_t i = 0; i < whole;) {
		int64_t end = i + DEEP < whole ? i + DEEP : whole;
		REAL sum[LANES] = {0};
		for (; i < end; i += LANES) {
			__builtin_prefetch(x + i + ahead), __builtin_prefetch(y + i + ahead, 1);
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
				REAL e = EXP(x[i + k] - top);
				y[i + k] = e;
				sum[k] += e;
			}
		}
		total += REAL_(fold)(sum);
	}
	if (rest) {
		REAL t[LANES] = {0};
		memcpy(t, x + whole, rest * sizeof *t);
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) t[k] = EXP(t[k] - top);
		memcpy(y + whole, t, rest * sizeof *t);
		for (int k = 0; k < rest; k++)
			total += t[k];
	}
	return total;
}

static void REAL_(softmax)(int64_t n, REAL *y, const REAL *x) {
	REAL scale = 1 / REAL_(exps)(n, y, x, REAL_(max)(n, x), n);
	_Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] *= scale;
}

static void REAL_(log_softmax)(int64_t n, REAL *y, const REAL *x) {
	REAL top = REAL_(max)(n, x), room[1024];
	double sum = 0;
	for (int64_t i = 0; i < n; i += 1024)
		sum += REAL_(exps)(n - i < 1024 ? n - i : 1024, room, x + i, top, 0);
	REAL log_sum = LOG(sum);
	_Pragma("omp simd") for (int64_t i = 0; i < n; i++) y[i] = x[i] - top - log_sum;
}

static void REAL_(softmax_grad)(int64_t n, REAL *dx, const REAL *y, const REAL *dy) {
	enum { DEEP = 64 * LANES };
	int64_t whole = n & -LANES;
	double total = 0;
	for (int64_t i = 0; i < whole;) {
		int64_t end = i + DEEP < whole ? i + DEEP : whole;
		REAL some[LANES] = {0};
		for (; i < end; i += LANES) {
			_Pragma("omp simd") for (int k = 0; k < LANES; k++) some[k] += y[i + k] * dy[i + k];
		}
		total += REAL_(fold)(some);
	}
	for (int64_t i = whole; i < n; i++)
		total += y[i] * dy[i];
	REAL sum = total;
	_Pragma("omp simd") for (int64_t i = 0; i < n; i++) dx[i] = y[i] * (dy[i] - sum);
}

static void REAL_(log_softmax_grad)(int64_t n, REAL *dx, const REAL *y, const REAL *dy) {
	REAL sum = REAL_(sum)(n, dy), room[1024];
	for (int64_t i = 0; i < n; i += 1024) {
		int64_t m = n - i < 1024 ? n - i : 1024;
		REAL_(exps)(m, room, y + i, 0, 0);
		_Pragma("omp simd") for (int64_t k = 0; k < m; k++) dx[i + k] = dy[i + k] - room[k] * sum;
	}
}

/* The first NaN, or else the first largest element. */
static int64_t REAL_(argmax)(int64_t n, const REAL *x) {
	enum { WIDE = 4 * LANES };
	REAL top = REAL_(max)(n, x);
	int64_t i = 0;
	for (int found = 0; i + WIDE <= n; i += WIDE) {
		_Pragma("omp simd reduction(| : found)") for (int k = 0; k < WIDE; k++) found |= (x[i + k] == top) | (x[i + k] != x[i + k]);
		if (found)
			break;
	}
	for (; i < n; i++)
		if (x[i] == top || x[i] != x[i])
			return i;
	return 0;
}

/* y[i] is the sum of x up to x[i], added in float64, four at a time so that additions need not wait for each other. */
static void REAL_(cumsum)(int64_t n, REAL *y, const REAL *x) {
	double total = 0;
	int64_t i = 0;
	for (; i + 4 <= n; i += 4) {
		double a = x[i], b = a + x[i + 1], c = b + x[i + 2], d = c + x[i + 3];
		y[i] = total + a, y[i + 1] = total + b, y[i + 2] = total + c, y[i + 3] = total += d;
	}
	for (; i < n; i++)
		y[i] = total += x[i];
}

#endif

typedef struct {
	int line;
	const h5k_grid *kept;
	int64_t n;
	const int64_t *step;
	void *z;
	const STORED *x;
	void *y;
	int failed;
} REAL_(liner);

/* The line's elements, adjacent. */
static const REAL *REAL_(near)(REAL *room, int64_t n, const STORED *x, int64_t step) {
#ifdef HALF
	if (step == 1) {
		LOADS(n, room, x);
		return room;
	}
#else
	if (step == 1)
		return x;
#endif
	for (int64_t i = 0; i < n; i++)
		room[i] = LOADED(x[i * step]);
	return room;
}

static void REAL_(some_lines)(void *arg, int64_t from, int64_t to) {
	REAL_(liner) *l = arg;
	int64_t n = l->n, gather = sizeof(STORED) != sizeof(REAL) || l->step[0] != 1 || l->step[1] != 1 || l->step[2] != 1;
	REAL *room = gather ? malloc(3 * n * sizeof *room) : NULL;
	if (gather && !room) {
		l->failed = 1;
		return;
	}
	for (int64_t k = from; k < to; k++) {
		int64_t at = h5k_place(l->kept, 0, k), y_at = h5k_place(l->kept, 2, k);
		const STORED *from = l->x + h5k_place(l->kept, 1, k);
		const REAL *x = REAL_(near)(room, n, from, l->step[1]);
		if (l->line == H5K_ARGMAX) {
			((int64_t *)l->z)[at] = OWN(argmax)(n, x);
			continue;
		}
		if (l->line == H5K_MAX_INDEX) {
			int64_t index = OWN(argmax)(n, x);
			((int64_t *)l->y)[y_at] = index;
			((STORED *)l->z)[at] = STORE(x[index]);
			continue;
		}
		const REAL *y = REAL_(near)(room + n, n, (const STORED *)l->y + y_at, l->step[2]);
		STORED *z = (STORED *)l->z + at;
#ifdef HALF
		REAL *t = room + 2 * n;
#else
		REAL *t = l->step[0] == 1 ? z : room + 2 * n;
#endif
		switch (l->line) {
		case H5K_SOFTMAX: OWN(softmax)(n, t, x); break;
		case H5K_LOG_SOFTMAX: OWN(log_softmax)(n, t, x); break;
		case H5K_CUMSUM: OWN(cumsum)(n, t, x); break;
		case H5K_SOFTMAX_GRAD: OWN(softmax_grad)(n, t, x, y); break;
		case H5K_LOG_SOFTMAX_GRAD: OWN(log_softmax_grad)(n, t, x, y); break;
		}
#ifdef HALF
		if (l->step[0] == 1) {
			STORES(n, z, t);
			continue;
		}
#endif
		if ((void *)t != z)
			for (int64_t i = 0; i < n; i++)
				z[i * l->step[0]] = STORE(t[i]);
	}
	free(room);
}

static int REAL_(lines)(int line, const h5k_grid *kept, int64_t n, const int64_t *step, void *z, const void *x, void *y) {
	REAL_(liner) l = {line, kept, n, step, z, x, y, 0};
	int64_t lines = h5k_count(kept);
	h5k_spread(lines, lines * n * 3 < H5K_GRAIN ? INT64_MAX : 2, REAL_(some_lines), &l);
	return !l.failed;
}
#undef OWN
