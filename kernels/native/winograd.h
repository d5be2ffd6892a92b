/* Convolutions of images with stride 1 by Winograd's algorithms (Lavin and Gray, arXiv:1509.09308):
 * windows of 3 x 3 by F(4x4, 3x3), 36 multiplications for 4 x 4 results instead of 144, and windows of 3 to
 * 7 pixels along one axis by F(9-r, r), 8 multiplications for 9-r results instead of (9-r)·r.
 * Tiles of 6 x 6 or 8 pixels and the weights are transformed to values at 36 or 8 points, where the
 * convolution is a matrix product for each point, and its results are transformed back. The gradient of
 * x is the convolution of dy with the weights turned around; that of the weights is
 * F(3x3, 4x4) or F(r, 9-r), with the same points.
 * Like loops.h the transforms are compiled for each level of x86-64 (winograd_v2.c, _v3.c, _v4.c). */
#ifndef H5K_WINOGRAD_H
#define H5K_WINOGRAD_H

#include <stdint.h>

/* A convolution of x (n, c, x_size) by w (o, c, window), dense, to y (n, o, y_size). Channels are
 * adjacent, and multiples of 16. The window is 3 x 3, or 1 x 3 to 1 x 7. */
typedef struct {
	int64_t n, c, o;
	int64_t x_size[2], y_size[2];
	int64_t window[2];
	int64_t pad[2];     /* zeros above and to the left of x */
	int64_t x[3], y[3]; /* strides of images, rows and columns */
	int64_t relu;       /* of h5k_winograd_conv: y is at least 0 */
	int64_t sum;        /* of h5k_winograd_conv: the results are added to y */
} h5k_winograd;

/* y, of x, w and b, which may be NULL; dx, of dy and w; dw and db, which may be NULL, of x and dy.
 * Unless act is -1, z, which may be y, is act(y), act being a line of ops.h.
 * Results are the same bits whenever the number of threads is the same.
 * They return -1 where there is no memory. */
int h5k_winograd_conv(const h5k_winograd *g, float *y, const float *x, const float *w, const float *b, int act, float *z);
int h5k_winograd_grad_x(const h5k_winograd *g, float *dx, const float *dy, const float *w);
int h5k_winograd_grad_w(const h5k_winograd *g, float *dw, float *db, const float *x, const float *dy);

/* Weights that are transformed once: their number of elements, and h5k_winograd_conv with them. w has o·c·window elements.
 * They return -2 if an operand is shorter than that. */
int64_t h5k_winograd_packed(const h5k_winograd *g);
int h5k_winograd_pack(const h5k_winograd *g, float *packed, int64_t packed_len, const float *w, int64_t w_len);
int h5k_winograd_run(const h5k_winograd *g, float *y, int64_t y_len, const float *x, int64_t x_len, const float *packed, int64_t packed_len, const float *b, int64_t b_len);

/* A matrix of rows x cols for each of the points: element (p, i, j) is
 * at[p·point + (j/width·rows + i)·width + j%width], width being the instruction set's. */
typedef struct {
	float *at;
	int64_t rows, cols, points, point;
} h5k_spectrum;

enum { H5K_MOST_PIXELS = 36, H5K_MOST_RESULTS = 16 }; /* of a tile */

/* The transforms of an algorithm: it makes tile[0] x tile[1] results from values at that many points. */
typedef struct {
	int points, tile[2];
	/* Row i of v from the pixels of a tile, Bᵀd. next are the pixels of the next row, to ask memory for. */
	void (*input)(const h5k_spectrum *v, int64_t i, const float *const from[], const float *const next[]);
	/* Row i of v from the gradients of a tile's results, Gd of the gradient of the weights. sums, which may be
	 * NULL, grows by them. */
	void (*grad)(const h5k_spectrum *v, int64_t i, const float *const from[], const float *const next[], float *sums);
	/* A tile's results from row i of m, Aᵀm; bias may be NULL, finish is a set of H5K_FINISH_. */
	void (*output)(const h5k_spectrum *m, int64_t i, float *const to[], const float *bias, int finish);
	/* 16 columns from j on of u, Gw: w has a window of adjacent elements for each row and column. */
	void (*filter)(const h5k_spectrum *u, int64_t j, const float *w, int64_t row, int64_t col, int turned);
	/* The window of w for each row and each of 16 columns from j on of the sum of n u, that many
	 * elements apart, Aᵀu of the gradient of the weights. */
	void (*filter_grad)(int64_t n, int64_t apart, const h5k_spectrum *u, int64_t j, float *w, int64_t row, int64_t col);
} h5k_winograd_transforms;

enum { H5K_FINISH_RELU = 1, H5K_FINISH_SUM = 2 };

/* What an instruction set provides. */
typedef struct {
	int width, block; /* columns that are adjacent in a spectrum; its rows are multiples of block */
	h5k_winograd_transforms plane, line[5]; /* windows of 3 x 3, and of 3 to 7 pixels */
	/* m = v·u, and u = vᵀ·d or, if it is to be added to, u += vᵀ·d. */
	void (*product)(const h5k_spectrum *m, const h5k_spectrum *v, const h5k_spectrum *u);
	void (*product_grad)(const h5k_spectrum *u, const h5k_spectrum *v, const h5k_spectrum *d, int add);
} h5k_winograd_loops;

#endif
