/* The steps in REAL, which is float and then double. */

enum { REAL_(LANES) = BYTES / sizeof(REAL) };
#define LANES REAL_(LANES)
typedef REAL REAL_(vec) __attribute__((vector_size(BYTES)));

/* z (rows, vectors) = x (rows, terms)·w (terms, vectors). A sum's terms are added in their order, whatever rows are. */
INLINE void REAL_(tile)(int rows, int vectors, int64_t terms, const REAL *x, int64_t x_row, const REAL *w, REAL *z) {
	REAL_(vec) total[ROWS][4];
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			total[i][j] = (REAL_(vec)){0};
	for (int64_t k = 0; k < terms; k++, w += vectors * LANES) {
		REAL_(vec) u[4];
#pragma GCC unroll 4
		for (int j = 0; j < vectors && rows >= MANY; j++)
			__builtin_prefetch(w + (AHEAD * vectors + j) * LANES);
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			memcpy(&u[j], w + j * LANES, sizeof u[j]);
#pragma GCC unroll 6
		for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
			for (int j = 0; j < vectors; j++)
				total[i][j] += x[i * x_row + k] * u[j];
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (int j = 0; j < vectors; j++)
			memcpy(z + (i * vectors + j) * LANES, &total[i][j], sizeof total[i][j]);
}

#define TILE(rows, vectors) \
	case (rows) * 8 + (vectors): \
		REAL_(tile)(rows, vectors, terms, x, x_row, w, z); \
		break;
#define TILES(rows) TILE(rows, 1) TILE(rows, 2) TILE(rows, 3) TILE(rows, 4)

static void REAL_(product)(int rows, int vectors, int64_t terms, const REAL *x, int64_t x_row, const REAL *w, REAL *z) {
	switch (rows * 8 + vectors) {
		TILES(1)
		TILES(2)
		TILES(3)
#if defined(__AVX512F__)
		TILES(4)
		TILES(5)
		TILES(6)
#endif
	}
}
#undef TILE
#undef TILES

/* A vector, whose first n elements exist. A whole one is copied by one instruction: one that loads 64 bytes waits for two that stored 32 each. */
INLINE void REAL_(copy)(REAL *to, const REAL *from) {
	REAL_(vec) v;
	memcpy(&v, from, sizeof v);
	memcpy(to, &v, sizeof v);
}
INLINE void REAL_(get)(REAL *v, const REAL *from, int64_t n) {
	if (n == LANES) {
		REAL_(copy)(v, from);
		return;
	}
	memset(v, 0, LANES * sizeof *v);
	memcpy(v, from, n * sizeof *v);
}
INLINE void REAL_(put)(REAL *to, const REAL *v, int64_t n) {
	if (n == LANES)
		REAL_(copy)(to, v);
	else
		memcpy(to, v, n * sizeof *v);
}

#define EACH _Pragma("omp simd") for (int k = 0; k < LANES; k++)
#define SIGMOID(x) H5K_SIGMOID(x)

/* One vector of units of one sample after a step's product z. The places of the others: step t, sample row, unit. */
typedef struct {
	int64_t t, row, unit, n; /* n units exist */
	const REAL *h, *c;       /* the states before the step */
} REAL_(place);

INLINE int64_t REAL_(at)(const h5k_recurrent_job *q, const REAL_(place) *p) { return (p->t * q->g->n + p->row) * q->g->hidden + p->unit; }
INLINE int64_t REAL_(among)(const h5k_recurrent_job *q, const REAL_(place) *p, int64_t step, int gates) {
	return p->t * step + p->row * gates * q->g->hidden + p->unit;
}

INLINE void REAL_(cell)(const h5k_recurrent_job *q, int cell, int set, int gates, const REAL_(place) *p, const REAL *z) {
	const int64_t hidden = q->g->hidden, n = p->n, state = p->row * hidden + p->unit;
	const h5k_recurrent_set *s = q->set + set;
	const REAL *x = (const REAL *)q->x + REAL_(at)(q, p) + ((p->t * q->g->n + p->row) * (gates - 1) + s->first) * hidden;
	REAL *gate = q->gates ? (REAL *)q->gates + REAL_(among)(q, p, q->gates_step, gates) : NULL;
	REAL *extra = q->extra ? (REAL *)q->extra + p->t * q->extra_step + state : NULL;
	REAL *y = (REAL *)q->y + REAL_(at)(q, p);
	REAL a[4][LANES], u[4][LANES], h[LANES], v[LANES]; /* of the input, of the state */
	for (int i = 0; i < s->gates; i++) {
		REAL_(get)(a[i], x + i * hidden, n);
		if (q->b)
			REAL_(get)(v, (const REAL *)q->b + (s->first + i) * hidden + p->unit, n);
		EACH u[i][k] = z[i * LANES + k] + (q->b ? v[k] : 0);
	}
	switch (cell) {
	case H5K_RNN:
		EACH h[k] = TANH(a[0][k] + u[0][k]);
		if (gate)
			REAL_(put)(gate, h, n);
		REAL_(put)(y, h, n);
		break;
	case H5K_LSTM: /* i, f, g, o */
		REAL_(get)(v, p->c + state, n);
		EACH {
			a[0][k] = SIGMOID(a[0][k] + u[0][k]);
			a[1][k] = SIGMOID(a[1][k] + u[1][k]);
			a[2][k] = TANH(a[2][k] + u[2][k]);
			a[3][k] = SIGMOID(a[3][k] + u[3][k]);
			v[k] = a[1][k] * v[k] + a[0][k] * a[2][k];
			h[k] = a[3][k] * TANH(v[k]);
		}
		for (int i = 0; gate && i < 4; i++)
			REAL_(put)(gate + i * hidden, a[i], n);
		REAL_(put)(extra, v, n);
		REAL_(put)(y, h, n);
		break;
	case H5K_GRU: /* r, z, n */
		REAL_(get)(h, p->h + state, n);
		EACH {
			a[0][k] = SIGMOID(a[0][k] + u[0][k]);
			a[1][k] = SIGMOID(a[1][k] + u[1][k]);
			a[2][k] = TANH(a[2][k] + a[0][k] * u[2][k]);
			h[k] = a[2][k] + a[1][k] * (h[k] - a[2][k]);
		}
		for (int i = 0; gate && i < 3; i++)
			REAL_(put)(gate + i * hidden, a[i], n);
		if (extra)
			REAL_(put)(extra, u[2], n);
		REAL_(put)(y, h, n);
		break;
	case H5K_GRU_BEFORE:
		REAL_(get)(h, p->h + state, n);
		if (set == 0) {
			EACH {
				a[0][k] = SIGMOID(a[0][k] + u[0][k]);
				a[1][k] = SIGMOID(a[1][k] + u[1][k]);
				h[k] *= a[0][k];
			}
			REAL_(put)(gate, a[0], n);
			REAL_(put)(gate + hidden, a[1], n);
			REAL_(put)(extra, h, n);
			break;
		}
		REAL_(get)(v, gate + hidden, n);
		EACH {
			a[0][k] = TANH(a[0][k] + u[0][k]);
			h[k] = a[0][k] + v[k] * (h[k] - a[0][k]);
		}
		REAL_(put)(gate + 2 * hidden, a[0], n);
		REAL_(put)(y, h, n);
		break;
	}
}

/* The gradients of one vector of units: z is the gradient of h from the step after, or after the reset of r·h. */
INLINE void REAL_(cell_grad)(const h5k_recurrent_job *q, int cell, int set, int gates, const REAL_(place) *p, const REAL *z) {
	const int64_t hidden = q->g->hidden, n = p->n, state = p->row * hidden + p->unit;
	const int64_t among = REAL_(among)(q, p, q->gates_step, gates);
	const REAL *gate = (const REAL *)q->gates + among, *extra = (const REAL *)q->extra + p->t * q->extra_step + state;
	REAL *dx = (REAL *)q->dx + among, *dp = (REAL *)q->dp + among, *carry = (REAL *)q->dh + state;
	REAL a[4][LANES], d[4][LANES], h[LANES], v[LANES], dh[LANES], w[LANES];
	REAL_(get)(dh, carry, n);
	if (set == 0) {
		EACH dh[k] += z[k];
		if (q->dy) {
			REAL_(get)(v, (const REAL *)q->dy + REAL_(at)(q, p), n);
			EACH dh[k] += v[k];
		}
	}
	for (int i = 0; i < gates; i++)
		REAL_(get)(a[i], gate + i * hidden, n);
	switch (cell) {
	case H5K_RNN:
		EACH {
			d[0][k] = dh[k] * (1 - a[0][k] * a[0][k]);
			dh[k] = 0;
		}
		break;
	case H5K_LSTM:
		REAL_(get)(v, extra, n);
		REAL_(get)(h, p->c + state, n);
		REAL_(get)(w, (REAL *)q->dc + state, n);
		EACH {
			REAL t = TANH(v[k]), dc = w[k] + dh[k] * a[3][k] * (1 - t * t);
			d[0][k] = dc * a[2][k] * (a[0][k] * (1 - a[0][k]));
			d[1][k] = dc * h[k] * (a[1][k] * (1 - a[1][k]));
			d[2][k] = dc * a[0][k] * (1 - a[2][k] * a[2][k]);
			d[3][k] = dh[k] * t * (a[3][k] * (1 - a[3][k]));
			w[k] = dc * a[1][k];
			dh[k] = 0;
		}
		REAL_(put)((REAL *)q->dc + state, w, n);
		break;
	case H5K_GRU:
		REAL_(get)(h, p->h + state, n);
		REAL_(get)(v, extra, n);
		EACH {
			d[2][k] = dh[k] * (1 - a[1][k]) * (1 - a[2][k] * a[2][k]);
			d[1][k] = dh[k] * (h[k] - a[2][k]) * (a[1][k] * (1 - a[1][k]));
			d[0][k] = d[2][k] * v[k] * (a[0][k] * (1 - a[0][k]));
			w[k] = d[2][k] * a[0][k];
			dh[k] *= a[1][k];
		}
		REAL_(put)(dp, d[0], n);
		REAL_(put)(dp + hidden, d[1], n);
		REAL_(put)(dp + 2 * hidden, w, n);
		break;
	case H5K_GRU_BEFORE:
		REAL_(get)(h, p->h + state, n);
		if (set == 0) {
			EACH {
				d[2][k] = dh[k] * (1 - a[1][k]) * (1 - a[2][k] * a[2][k]);
				d[1][k] = dh[k] * (h[k] - a[2][k]) * (a[1][k] * (1 - a[1][k]));
			}
			REAL_(put)(dx + hidden, d[1], n);
			REAL_(put)(dx + 2 * hidden, d[2], n);
		} else {
			EACH {
				d[0][k] = z[k] * h[k] * (a[0][k] * (1 - a[0][k]));
				dh[k] = dh[k] * a[1][k] + z[k] * a[0][k];
			}
			REAL_(put)(dx, d[0], n);
		}
		REAL_(put)(carry, dh, n);
		return;
	}
	for (int i = 0; i < gates; i++)
		REAL_(put)(dx + i * hidden, d[i], n);
	REAL_(put)(carry, dh, n);
}

/* What a thread computes of a set: samples and blocks of units. */
typedef struct {
	int64_t row, rows, block, blocks; /* the first, and the one after the last */
} REAL_(part);

INLINE REAL_(part) REAL_(part_of)(const h5k_recurrent_job *q, int set, int thread, int of) {
	const int64_t n = q->g->n, blocks = q->set[set].blocks;
	if (q->shared)
		return (REAL_(part)){0, n, blocks * thread / of, blocks * (thread + 1) / of};
	return (REAL_(part)){n * thread / of, n * (thread + 1) / of, 0, blocks};
}

/* One set of one step, forwards or backwards: the products with from, unless that is NULL, and then the cell. The last call of the
 * backward pass, which has no step, adds to the gradient of the first state. */
INLINE void REAL_(set)(h5k_recurrent_job *q, int cell, int gates, int set, int backward, int64_t t, const REAL *from, int64_t from_row, const REAL *h, const REAL *c, int thread, int of) {
	const h5k_recurrent_set *s = q->set + set;
	const REAL_(part) part = REAL_(part_of)(q, set, thread, of);
	const int each = backward ? 1 : s->gates, vectors = s->subs * each;
	const int64_t count = part.rows - part.row, tiles = (count + ROWS - 1) / ROWS;
	REAL z[ROWS * 4 * LANES] __attribute__((aligned(64)));
	for (int64_t block = part.block; block < part.blocks; block++) {
		const REAL *w = (const REAL *)q->w + s->at + block * s->size;
		for (int64_t i = 0; i < tiles; i++) {
			int64_t row = part.row + count * i / tiles, rows = part.row + count * (i + 1) / tiles - row;
			if (from)
				REAL_(product)(rows, vectors, s->terms, from + row * from_row, from_row, w, z);
			else
				memset(z, 0, sizeof z);
			for (int64_t r = 0; r < rows; r++)
				for (int64_t sub = 0; sub < s->subs; sub++) {
					REAL_(place) p = {.t = t, .row = row + r, .unit = (block * s->subs + sub) * LANES, .h = h, .c = c};
					p.n = q->g->hidden - p.unit < LANES ? q->g->hidden - p.unit : LANES;
					if (p.n <= 0)
						break;
					const REAL *u = z + (r * vectors + sub * each) * LANES;
					if (!backward)
						REAL_(cell)(q, cell, set, gates, &p, u);
					else if (t >= 0)
						REAL_(cell_grad)(q, cell, set, gates, &p, u);
					else
						for (int64_t k = 0; k < p.n; k++)
							((REAL *)q->dh)[p.row * q->g->hidden + p.unit + k] += u[k];
				}
		}
	}
	if (q->shared)
		h5k_recurrent_wait(q, of);
}

INLINE void REAL_(forward_of)(h5k_recurrent_job *q, int cell, int gates, int thread, int of) {
	const h5k_recurrent *g = q->g;
	const int64_t state = g->n * g->hidden;
	const REAL *h = q->h0, *c = q->c0;
	for (int64_t i = 0; i < g->steps; i++) {
		const int64_t t = g->reverse ? g->steps - 1 - i : i;
		REAL *extra = q->extra ? (REAL *)q->extra + t * q->extra_step : NULL;
		REAL_(set)(q, cell, gates, 0, 0, t, h, g->hidden, h, c, thread, of);
		if (cell == H5K_GRU_BEFORE)
			REAL_(set)(q, cell, gates, 1, 0, t, extra, g->hidden, h, c, thread, of);
		h = (const REAL *)q->y + t * state;
		c = extra;
	}
}

INLINE void REAL_(backward_of)(h5k_recurrent_job *q, int cell, int gates, int thread, int of) {
	const h5k_recurrent *g = q->g;
	const int64_t state = g->n * g->hidden, row = gates * g->hidden, forth = g->reverse ? -1 : 1;
	const REAL *after = NULL; /* the gradients of the step after */
	for (int64_t i = g->steps - 1; i >= 0; i--) {
		const int64_t t = g->reverse ? g->steps - 1 - i : i;
		const REAL *h = i ? (const REAL *)q->y + (t - forth) * state : q->h0, *c = i ? (const REAL *)q->extra + (t - forth) * state : q->c0;
		REAL_(set)(q, cell, gates, 0, 1, t, after, row, h, c, thread, of);
		after = (const REAL *)q->dp + t * g->n * row;
		if (cell == H5K_GRU_BEFORE)
			REAL_(set)(q, cell, gates, 1, 1, t, after + 2 * g->hidden, row, h, c, thread, of);
	}
	REAL_(set)(q, cell, gates, 0, 1, -1, after, row, NULL, NULL, thread, of);
}

#define CELLS(way) \
	static void REAL_(way)(h5k_recurrent_job *q, int thread, int of) { \
		switch (q->g->cell) { \
		case H5K_RNN: \
			REAL_(way##_of)(q, H5K_RNN, 1, thread, of); \
			break; \
		case H5K_LSTM: \
			REAL_(way##_of)(q, H5K_LSTM, 4, thread, of); \
			break; \
		case H5K_GRU: \
			REAL_(way##_of)(q, H5K_GRU, 3, thread, of); \
			break; \
		case H5K_GRU_BEFORE: \
			REAL_(way##_of)(q, H5K_GRU_BEFORE, 3, thread, of); \
			break; \
		} \
	}
CELLS(forward)
CELLS(backward)
#undef CELLS
#undef EACH
#undef SIGMOID
#undef LANES
