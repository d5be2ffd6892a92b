/* Convolutions of channels-last images over one to three axes by weights that are packed once, for models that
 * predict: sums of products in registers, then bias, the other operand of a sum, and limits.
 * Like loops.h the loops are compiled for each level of x86-64 (direct_v2.c, _v3.c, _v4.c). */
#ifndef H5K_DIRECT_H
#define H5K_DIRECT_H

#include <stdint.h>

/* A convolution of x (n, c, x_size) by w (o, c, window) or, if each channel has a window of its own,
 * (c, 1, window) with o = c, to y (n, o, y_size), which is dense and channels-last. Of two axes the first size is 1, of one the first two. */
typedef struct {
	int64_t n, c, o;
	int64_t x_size[3], y_size[3], window[3], stride[3], dilation[3];
	int64_t pad[3];    /* zeros before x; after it as many as y needs */
	int64_t x[5];      /* strides of images, channels and the three axes, in elements */
	int64_t depthwise; /* 0 or 1 */
	int64_t bf16;      /* 1 if elements of x and w are pairs of numbers of bfloat16, as bf16.h makes them */
	int64_t sum;       /* 1 if the results are added to y */
	float low, high;   /* y is limited to; NaN stays NaN */
} h5k_direct;

/* The most rows, window[0]·window[1], in the window of a depthwise convolution. */
enum { H5K_DIRECT_ROWS = 64 };

/* The number of elements of the packed weights; the instruction set decides. */
int64_t h5k_direct_packed(const h5k_direct *g);

/* They return -2 if an operand is shorter than its shape, -1 if there is no memory, else 0. Lengths are in elements. */
int h5k_direct_pack(const h5k_direct *g, float *packed, int64_t packed_len, const float *w, int64_t w_len);
int h5k_direct_run(const h5k_direct *g, float *y, int64_t y_len, const float *x, int64_t x_len, const float *packed, int64_t packed_len, const float *b, int64_t b_len);

/* Three convolutions in one, each on the results of the one before: g[0] of single pixels (left out if its n is 0), g[1] of single channels over two axes,
 * and g[2] of single pixels, all of dense channels-last images, with steps of 1 but for g[1]. If g[2] adds to y, y may be x. */
int h5k_direct_chain(const h5k_direct g[3], float *y, int64_t y_len, const float *x, int64_t x_len, const float *w0, int64_t w0_len, const float *b0, int64_t b0_len,
	const float *w1, int64_t w1_len, const float *b1, int64_t b1_len, const float *w2, int64_t w2_len, const float *b2, int64_t b2_len);

enum { H5K_DIRECT_BLOCK = 32 }; /* the most pixels that are computed at once */

/* A part of a convolution, for the loops: pixels of x lie at offsets from x, and their results at y. */
typedef struct {
	int64_t segments, run;   /* the weights of a result are that many runs of adjacent elements of x */
	const int64_t *segment;  /* where they begin, from a pixel's offset */
	const float *x, *w, *b;  /* w and b of the panel; b may be NULL */
	const float *next;       /* prefetched, a vector for each term, with weights and results; may be past the weights; NULL: no prefetching */
	const int64_t *at;       /* offsets of the pixels */
	int64_t most;            /* pixels of the largest block, which others have one less than */
	float *y;                /* of the panel's first channel of the first pixel */
	int64_t y_step, columns; /* from pixel to pixel; channels of the panel that exist */
	int64_t sum;
	float low, high;
} h5k_direct_block;

/* What an instruction set provides. */
typedef struct {
	int lanes, width, block; /* of a vector; channels of a panel; pixels that are computed at once, at most */
	void (*product)(const h5k_direct_block *p, int64_t pixels);
	void (*begin)(int64_t most), (*end)(void); /* called by a thread before and after its blocks, the largest of most pixels; may be NULL */
	/* A row of results of a depthwise convolution, of y_size[2] pixels: rows are the window's rows of x, from their first pixel on, NULL for zeros;
	 * pixels are step apart. w has rows of c weights, rounded up to vectors. */
	void (*depthwise)(const h5k_direct *g, const float *const *rows, int64_t step, const float *w, const float *b, float *y);
} h5k_direct_loops;

#endif
