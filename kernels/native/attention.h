/* Attention of float32 by blocks of keys, as of Rabe and Staats, arXiv:2112.05682, and Dao et al., arXiv:2205.14135: the weights of a
 * block are in a processor's own cache, and no matrix of all is in memory. The loops are compiled for each level of x86-64
 * (attention_v2.c, _v3.c, _v4.c). */
#ifndef H5K_ATTENTION_H
#define H5K_ATTENTION_H

#include <stdint.h>

enum { H5K_NO_MASK, H5K_KEEPS, H5K_ADDS };

/* y (n, heads·groups, t, e) = softmax(scale·q·kᵀ)·v, of q (n, heads·groups, t, d), k (n, heads, s, d) and v (n, heads, s, e): each head of keys serves
 * groups heads of queries. Strides are of n, heads and rows, in elements; the elements of a row are adjacent. */
typedef struct {
	int64_t n, heads, groups, t, s, d, e;
	int64_t q[3], k[3], v[3], y[3];     /* strides */
	int64_t dy[3], dq[3], dk[3], dv[3]; /* of the gradients */
	int64_t mask, mask_stride[4];       /* H5K_KEEPS: bytes that are not 0 where a query takes a key; H5K_ADDS: floats to add to the scores */
	int64_t causal;                     /* 1 if query i takes the keys 0 to i alone */
	int64_t drops, least;               /* 1 if weights are dropped: those with 24 random bits below least; see random.go */
	uint64_t seed, stream;
	double scale, kept; /* of scores; of weights that are not dropped */
} h5k_attention;

/* lse (n, heads·groups, t), dense, is the logarithm of the sum of the exponentials of a query's scores, or ∞ for a query that takes no key. They return -1
 * if there is no memory, else 0. */
int h5k_attend(const h5k_attention *g, float *y, float *lse, const float *q, const float *k, const float *v, const void *mask);
int h5k_attend_grad(const h5k_attention *g, float *dq, float *dk, float *dv, const float *q, const float *k, const float *v, const float *y, const float *dy, const float *lse, const void *mask);

/* A call, for the loops. */
typedef struct {
	const h5k_attention *g;
	const float *q, *k, *v, *dy, *y_in, *lse_in;
	const void *mask;
	float *y, *lse, *dq, *dk, *dv;
	int failed;
} h5k_attention_call;

enum { H5K_ATTENTION_ROWS = 64 }; /* queries of a block */

/* What an instruction set provides: bodies of h5k_spread over blocks of queries, and over heads of keys. */
typedef struct {
	void (*forward)(void *call, int64_t from, int64_t to);
	void (*backward)(void *call, int64_t from, int64_t to);
} h5k_attention_loops;

#endif
