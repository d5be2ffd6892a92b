/* One instruction set's loops: included by attention_v*.c, which set the compiler's target
 * and define H5K_ATTENTION_LOOPS, the table to fill. */
#include "attention.h"
#include "vectors.h"
#include <math.h>
#include <stdlib.h>

enum { LANES = 16 }; /* of philox.h */
#include "philox.h"

/* BLOCK rows times two vectors of columns are kept in registers. */
#if defined(__AVX512F__)
enum { BLOCK = 14 };
#elif defined(__AVX2__)
enum { BLOCK = 6 };
#else
enum { BLOCK = 4 };
#endif

enum { WIDE = BYTES / sizeof(float), ROWS = H5K_ATTENTION_ROWS, KEYS = DRAWN };

INLINE int64_t up(int64_t n) { return (n + WIDE - 1) / WIDE * WIDE; }

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* c (rows × vectors) = a·b, or c + a·b. Element (i, j) of a is at a[i·down + j·across]; rows of b and c are adjacent. */
INLINE void tile(int rows, int vectors, int64_t terms, const float *a, int64_t down, int64_t across, const float *b, int64_t b_row, float *c, int64_t c_row, int add) {
	vec total[BLOCK][2];
	int64_t at[BLOCK];
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++) {
		at[i] = i * down;
#pragma GCC unroll 2
		for (int j = 0; j < vectors; j++)
			total[i][j] = add ? load(c + i * c_row + j * WIDE) : (vec){0};
	}
	for (int64_t k = 0; k < terms; k++, a += across, b += b_row) {
		vec u[2];
#pragma GCC unroll 2
		for (int j = 0; j < vectors; j++)
			u[j] = load(b + j * WIDE);
#pragma GCC unroll 16
		for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
			for (int j = 0; j < vectors; j++)
				total[i][j] += a[at[i]] * u[j];
	}
#pragma GCC unroll 16
	for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
		for (int j = 0; j < vectors; j++)
			store(c + i * c_row + j * WIDE, total[i][j]);
}

#define TILE(n) \
	case n: \
		if (vectors == 2) \
			tile(n, 2, terms, x, down, across, b + j, b_row, z, c_row, add); \
		else \
			tile(n, 1, terms, x, down, across, b + j, b_row, z, c_row, add); \
		break;

/* c (rows × columns) = a·b, or c + a·b; columns are a multiple of WIDE. */
static void product(int64_t rows, int64_t columns, int64_t terms, const float *a, int64_t down, int64_t across, const float *b, int64_t b_row, float *c, int64_t c_row, int add) {
	int64_t blocks = (rows + BLOCK - 1) / BLOCK;
	for (int64_t j = 0; j < columns; j += 2 * WIDE) {
		int vectors = columns - j > WIDE ? 2 : 1;
		for (int64_t r = 0; r < blocks; r++) {
			int64_t first = rows * r / blocks, last = rows * (r + 1) / blocks;
			const float *x = a + first * down;
			float *z = c + first * c_row + j;
			switch (last - first) {
				TILE(1)
				TILE(2)
				TILE(3)
				TILE(4)
#if defined(__AVX2__)
				TILE(5)
				TILE(6)
#endif
#if defined(__AVX512F__)
				TILE(7)
				TILE(8)
				TILE(9)
				TILE(10)
				TILE(11)
				TILE(12)
				TILE(13)
				TILE(14)
#endif
			}
		}
	}
}

/* e^x for x of at most 0 or a little more; NaN stays. The polynomial is from Cephes' expf. */
INLINE vec exponential(vec x) {
	vec n = x * 1.44269504f + 12582912.f, r, p;
	n -= 12582912.f;
	r = x - n * 0.693359375f + n * 2.12194440e-4f;
	p = r * 1.9875691500e-4f + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1;
	ivec power = (__builtin_convertvector(n, ivec) + 127) << 23;
	return choose(x < -87.f, (vec){0}, p * (vec)power);
}

/* Copies rows of n elements to rows of padded ones, with zeros after them. */
static void pack(float *to, int64_t padded, const float *from, int64_t row, int64_t rows, int64_t n) {
	for (int64_t i = 0; i < rows; i++, to += padded, from += row) {
		memcpy(to, from, n * sizeof *to);
		memset(to + n, 0, (padded - n) * sizeof *to);
	}
}

/* to (n × padded) is scale·fromᵀ, of rows of n elements, with zeros after them. */
static void pack_transposed(float *to, int64_t padded, const float *from, int64_t row, int64_t rows, int64_t n, float scale) {
	for (int64_t i0 = 0; i0 < padded; i0 += WIDE)
		for (int64_t j = 0; j < n; j++)
			for (int64_t i = i0; i < i0 + WIDE; i++)
				to[j * padded + i] = i < rows ? scale * from[i * row + j] : 0;
}

/* A block of scores: of some queries, from first on, and keys from key on. */
typedef struct {
	const h5k_attention *g;
	const char *mask; /* of the head; NULL for none */
	int64_t index;    /* of the head's first weight among all */
	int64_t key, keys;
} block;

/* masks a row of scores, of the given query, and sets those of padding: up(keys) numbers. */
INLINE void mask_row(const block *b, float *s, int64_t query) {
	const h5k_attention *g = b->g;
	int64_t n = b->keys;
	if (b->mask) {
		int64_t step = g->mask_stride[3], at = query * g->mask_stride[2] + b->key * step;
		if (g->mask == H5K_KEEPS) {
			const char *m = b->mask + at;
			for (int64_t j = 0; j < n; j++)
				s[j] = m[j * step] ? s[j] : -INFINITY;
		} else {
			const float *m = (const float *)b->mask + at;
			for (int64_t j = 0; j < n; j++)
				s[j] += m[j * step];
		}
	}
	if (g->causal && query - b->key + 1 < n)
		n = query - b->key + 1 > 0 ? query - b->key + 1 : 0;
	for (int64_t j = n; j < up(b->keys); j++)
		s[j] = -INFINITY;
}

/* draws the factors of a row of weights, 0 for those that are dropped. */
static void draw(const block *b, float *factor, int64_t query) {
	h5k_drawn w;
	const h5k_attention *g = b->g;
	uint32_t least = g->least;
	float kept = g->kept;
	h5k_words(&w, b->index + query * g->s + b->key, 1, g->seed, g->stream, 0);
	_Pragma("omp simd") for (int j = 0; j < KEYS; j++) factor[j] = w.own[j] >> 8 < least ? 0 : kept;
}

INLINE float sum_of(vec v) {
	float sum = 0;
	for (int i = 0; i < WIDE; i++)
		sum += v[i];
	return sum;
}

static float dot(int64_t n, const float *x, const float *y) {
	vec sum = {0};
	float rest = 0;
	int64_t i = 0;
	for (; i + WIDE <= n; i += WIDE)
		sum += load(x + i) * load(y + i);
	for (; i < n; i++)
		rest += x[i] * y[i];
	return sum_of(sum) + rest;
}

/* soften makes a row of scores weights, with the largest score and the sum of the weights so far, and returns by how much those of earlier
 * keys are to be multiplied. */
INLINE float soften(const block *b, float *s, int64_t query, float *top, float *sum) {
	int64_t n = up(b->keys);
	mask_row(b, s, query);
	vec most = load(s), total = {0};
	for (int64_t j = WIDE; j < n; j += WIDE) {
		vec v = load(s + j);
		most = choose(v > most, v, most);
	}
	float high = *top;
	for (int i = 0; i < WIDE; i++)
		high = most[i] > high ? most[i] : high;
	float from = high == -INFINITY ? 0 : high, shrunk = *top == high ? 1 : expf(*top - from);
	for (int64_t j = 0; j < n; j += WIDE) {
		vec e = exponential(load(s + j) - from);
		total += e;
		store(s + j, e);
	}
	*sum = *sum * shrunk + sum_of(total);
	*top = high;
	if (b->g->drops) {
		float factor[KEYS];
		draw(b, factor, query);
		for (int64_t j = 0; j < n; j += WIDE)
			store(s + j, load(s + j) * load(factor + j));
	}
	return shrunk;
}

/* keys_of returns how many keys some of the queries before last take. */
INLINE int64_t keys_of(const h5k_attention *g, int64_t last) { return g->causal ? least(last, g->s) : g->s; }

INLINE int64_t head_of(const int64_t *stride, int64_t head, int64_t in) { return head / in * stride[0] + head % in * stride[1]; }

static float *room(int64_t floats) { return aligned_alloc(64, (floats * sizeof(float) + 63) / 64 * 64); }

static block block_of(const h5k_attention_call *c, int64_t head) {
	const h5k_attention *g = c->g;
	block b = {.g = g, .index = head * g->t * g->s};
	if (g->mask)
		b.mask = (const char *)c->mask + head_of(g->mask_stride, head, g->heads * g->groups) * (g->mask == H5K_ADDS ? sizeof(float) : 1);
	return b;
}

static void forward(void *arg, int64_t from, int64_t to) {
	h5k_attention_call *c = arg;
	const h5k_attention *g = c->g;
	const int64_t wide_s = up(g->s), wide_e = up(g->e), blocks = (g->t + ROWS - 1) / ROWS, heads = g->heads * g->groups;
	float *kt = room(g->d * wide_s + g->s * wide_e + ROWS * (KEYS + wide_e + 2));
	if (!kt) {
		__atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
		return;
	}
	float *v = kt + g->d * wide_s, *s = v + g->s * wide_e, *y = s + ROWS * KEYS, *top = y + ROWS * wide_e, *sum = top + ROWS;
	int64_t packed = -1;
	for (int64_t u = from; u < to; u++) {
		int64_t head = u / blocks, first = u % blocks * ROWS, rows = least(ROWS, g->t - first), of_keys = head / g->groups;
		if (of_keys != packed) {
			pack_transposed(kt, wide_s, c->k + head_of(g->k, of_keys, g->heads), g->k[2], g->s, g->d, g->scale);
			pack(v, wide_e, c->v + head_of(g->v, of_keys, g->heads), g->v[2], g->s, g->e);
			packed = of_keys;
		}
		const float *q = c->q + head_of(g->q, head, heads) + first * g->q[2];
		block b = block_of(c, head);
		for (int i = 0; i < rows; i++)
			top[i] = -INFINITY, sum[i] = 0;
		memset(y, 0, rows * wide_e * sizeof *y);
		for (int64_t end = keys_of(g, first + rows); b.key < end; b.key += KEYS) {
			b.keys = least(KEYS, g->s - b.key);
			product(rows, up(b.keys), g->d, q, g->q[2], 1, kt + b.key, wide_s, s, KEYS, 0);
			for (int64_t i = 0; i < rows; i++) {
				float shrunk = soften(&b, s + i * KEYS, first + i, &top[i], &sum[i]);
				for (int64_t j = 0; shrunk != 1 && j < wide_e; j += WIDE)
					store(y + i * wide_e + j, load(y + i * wide_e + j) * shrunk);
			}
			product(rows, wide_e, b.keys, s, KEYS, 1, v + b.key * wide_e, wide_e, y, wide_e, 1);
		}
		for (int64_t i = 0; i < rows; i++) {
			float *z = c->y + head_of(g->y, head, heads) + (first + i) * g->y[2], by = sum[i] == 0 ? 0 : 1 / sum[i];
			for (int64_t j = 0; j < g->e; j++)
				z[j] = y[i * wide_e + j] * by;
			if (c->lse)
				c->lse[head * g->t + first + i] = sum[i] == 0 ? INFINITY : top[i] + logf(sum[i]);
		}
	}
	free(kt);
}

/* differentiate sets a row of scores to weights, including dropped ones, and a row of their gradients dp to gradients of the scores. */
INLINE void differentiate(const block *b, float *s, float *dp, int64_t query, float lse, float delta) {
	int64_t n = up(b->keys);
	float scale = b->g->scale, factor[KEYS];
	mask_row(b, s, query);
	if (b->g->drops)
		draw(b, factor, query);
	for (int64_t j = 0; j < n; j += WIDE) {
		vec p = exponential(load(s + j) - lse), d = load(dp + j), kept = p;
		if (b->g->drops) {
			vec f = load(factor + j);
			kept = p * f, d = d * f;
		}
		store(s + j, kept);
		store(dp + j, p * (d - delta) * scale);
	}
}

/* The gradient for the heads of keys from to to. With the weights p, those after dropping r, and Δ = Σ dy·y of a query,
 * dv = rᵀ·dy, ds = p∘(dy·vᵀ − Δ) where that is not dropped, dq = scale·ds·k and dk = scale·dsᵀ·q. */
static void backward(void *arg, int64_t from, int64_t to) {
	h5k_attention_call *c = arg;
	const h5k_attention *g = c->g;
	const int64_t wide_s = up(g->s), wide_d = up(g->d), wide_e = up(g->e), heads = g->heads * g->groups;
	float *kt = room((g->d + g->e) * wide_s + g->s * (2 * wide_d + wide_e) + ROWS * (2 * KEYS + 2 * wide_d + wide_e + 1));
	if (!kt) {
		__atomic_store_n(&c->failed, 1, __ATOMIC_RELAXED);
		return;
	}
	float *vt = kt + g->d * wide_s, *k = vt + g->e * wide_s, *dk = k + g->s * wide_d, *dv = dk + g->s * wide_d;
	float *s = dv + g->s * wide_e, *ds = s + ROWS * KEYS, *q = ds + ROWS * KEYS, *dq = q + ROWS * wide_d, *dy = dq + ROWS * wide_d, *delta = dy + ROWS * wide_e;
	for (int64_t u = from; u < to; u++) {
		const float *ks = c->k + head_of(g->k, u, g->heads);
		pack_transposed(kt, wide_s, ks, g->k[2], g->s, g->d, g->scale);
		pack_transposed(vt, wide_s, c->v + head_of(g->v, u, g->heads), g->v[2], g->s, g->e, 1);
		pack(k, wide_d, ks, g->k[2], g->s, g->d);
		memset(dk, 0, g->s * (wide_d + wide_e) * sizeof *dk);
		for (int64_t head = u * g->groups; head < (u + 1) * g->groups; head++) {
			for (int64_t first = 0; first < g->t; first += ROWS) {
				int64_t rows = least(ROWS, g->t - first);
				const float *lse = c->lse_in + head * g->t + first, *y = c->y_in + head_of(g->y, head, heads) + first * g->y[2];
				pack(q, wide_d, c->q + head_of(g->q, head, heads) + first * g->q[2], g->q[2], rows, g->d);
				pack(dy, wide_e, c->dy + head_of(g->dy, head, heads) + first * g->dy[2], g->dy[2], rows, g->e);
				for (int64_t i = 0; i < rows; i++)
					delta[i] = dot(g->e, dy + i * wide_e, y + i * g->y[2]);
				block b = block_of(c, head);
				memset(dq, 0, rows * wide_d * sizeof *dq);
				for (int64_t end = keys_of(g, first + rows); b.key < end; b.key += KEYS) {
					b.keys = least(KEYS, g->s - b.key);
					product(rows, up(b.keys), g->d, q, wide_d, 1, kt + b.key, wide_s, s, KEYS, 0);
					product(rows, up(b.keys), g->e, dy, wide_e, 1, vt + b.key, wide_s, ds, KEYS, 0);
					for (int64_t i = 0; i < rows; i++)
						differentiate(&b, s + i * KEYS, ds + i * KEYS, first + i, lse[i], delta[i]);
					product(b.keys, wide_e, rows, s, 1, KEYS, dy, wide_e, dv + b.key * wide_e, wide_e, 1);
					product(b.keys, wide_d, rows, ds, 1, KEYS, q, wide_d, dk + b.key * wide_d, wide_d, 1);
					product(rows, wide_d, b.keys, ds, KEYS, 1, k + b.key * wide_d, wide_d, dq, wide_d, 1);
				}
				float *to_q = c->dq + head_of(g->dq, head, heads) + first * g->dq[2];
				for (int64_t i = 0; i < rows; i++)
					memcpy(to_q + i * g->dq[2], dq + i * wide_d, g->d * sizeof *dq);
			}
		}
		float *to_k = c->dk + head_of(g->dk, u, g->heads), *to_v = c->dv + head_of(g->dv, u, g->heads);
		for (int64_t i = 0; i < g->s; i++) {
			memcpy(to_k + i * g->dk[2], dk + i * wide_d, g->d * sizeof *dk);
			memcpy(to_v + i * g->dv[2], dv + i * wide_e, g->e * sizeof *dv);
		}
	}
	free(kt);
}

const h5k_attention_loops H5K_ATTENTION_LOOPS = {forward, backward};
