/* Loops over images that see a pixel as a vector of channels: pooling and normalisation.
 * Any layout will do; channels-last, where a pixel's channels are adjacent, is the fast one.
 * Like loops.h they are compiled for each level of x86-64 (pixels_v2.c, _v3.c, _v4.c). */
#ifndef H5K_PIXELS_H
#define H5K_PIXELS_H

#include "loops.h"

/* Windows that slide over images x (n, c, size) and have one element each in y (n, c, out).
 * Images of one or two axes have sizes of 1 in front. Strides x, y and at count elements: of
 * images, channels and the three spatial axes. end is where averages stop counting padding. */
typedef struct {
	int64_t n, c, size[3], out[3], end[3];
	int64_t kernel[3], stride[3], dilation[3], pad[3];
	int64_t x[5], y[5], at[5];
	int64_t apart;   /* windows do not overlap */
	int64_t exclude; /* averages do not count the padding */
} h5k_windows;

/* Maximum pooling: at, which may be NULL, is the index of the maximum in its image, row-major, or -1
 * for a window of padding only. The gradient is 0 where y, which may be NULL, is not positive. */
void h5k_max_pool(int real, const h5k_windows *g, void *y, int32_t *at, const void *x);
void h5k_max_pool_grad(int real, const h5k_windows *g, void *dx, const void *dy, const int32_t *at, const void *y);
void h5k_avg_pool(int real, const h5k_windows *g, void *y, const void *x);
void h5k_avg_pool_grad(int real, const h5k_windows *g, void *dx, const void *dy);

/* Elements (n, c, l) whose mean and variance are taken for each c. Strides likewise. */
typedef struct {
	int64_t n, c, l;
	int64_t x[3], y[3], dy[3];
	int64_t relu; /* of h5k_channel_map: y is at least 0 */
} h5k_channels;

/* sums[0..c) = Σ a and sums[c..2c) = Σ a·(x-pivot), in double, where a is dy, or x-pivot
 * if dy is NULL. Where mask, which has the strides of dy, is not positive, dy counts as 0; mask may
 * be NULL. Whatever the number of threads, they are added in the same order.
 * Returns -1 where there is no memory. */
int h5k_channel_sums(int real, const h5k_channels *g, double *sums, const void *dy, const void *mask, const void *x, const double *pivot);

/* y = a·(x-pivot) + b·dy + k, where constants is c each of pivot, a, b, k; dy may be NULL.
 * Returns -1 where there is no memory. */
int h5k_channel_map(int real, const h5k_channels *g, void *y, const void *x, const void *dy, const void *mask, const double *constants);

/* What an instruction set provides: parts of the above. Rows count images and their rows of pixels. */
typedef struct {
	void (*max_pool)(const h5k_windows *g, int64_t from, int64_t to, void *y, int32_t *at, const void *x);
	void (*max_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dx, const void *dy, const int32_t *at, const void *y);
	void (*avg_pool)(const h5k_windows *g, int64_t from, int64_t to, void *y, const void *x);
	void (*avg_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dx, const void *dy);
	void (*channel_sums)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, double *sums, const void *dy, const void *mask, const void *x, const double *pivot);
	void (*channel_map)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, void *y, const void *x, const void *dy, const void *mask, const void *const constants[4]);
} h5k_pixel_loops;

typedef struct {
	h5k_pixel_loops real[H5K_REALS];
} h5k_pixel_table;

#endif
