/* Loops over images that see a pixel as a vector of channels: pooling and normalisation.
 * Any layout will do; channels-last, where a pixel's channels are adjacent, is the fast one.
 * Like loops.h they are compiled for each level of x86-64 (pixels_v2.c, _v3.c, _v4.c). */
#ifndef H5K_PIXELS_H
#define H5K_PIXELS_H

#include "loops.h"

/* Windows that slide over images x (n, c, size) and have one element each in y (n, c, out).
 * Strides in elements: images, channels, down, across. */
typedef struct {
	int64_t n, c, size[2], out[2];
	int64_t kernel[2], stride[2], pad[2];
	int64_t x[4], y[4], at[4];
	int64_t at_size; /* of an index in bytes: 1, 4, or 0 if there is none */
	int64_t apart;   /* windows do not overlap */
} h5k_windows;

/* Maximum pooling: at is the winner's place in its window, row by row; where y, which may
 * be NULL, is not positive, the gradient is 0. Averages count the padding. */
void h5k_max_pool(int real, const h5k_windows *g, void *y, void *at, const void *x);
void h5k_max_pool_grad(int real, const h5k_windows *g, void *dx, const void *dy, const void *at, const void *y);
void h5k_avg_pool(int real, const h5k_windows *g, void *y, const void *x);
void h5k_avg_pool_grad(int real, const h5k_windows *g, void *dx, const void *dy);

/* Elements (n, c, l) whose mean and variance are taken for each c. Strides likewise. */
typedef struct {
	int64_t n, c, l;
	int64_t x[3], y[3], dy[3];
} h5k_channels;

/* sums[0..c) = Σ a and sums[c..2c) = Σ a·(x-pivot), in double, where a is dy, or x-pivot
 * if dy is NULL. Whatever the number of threads, they are added in the same order.
 * Returns -1 where there is no memory. */
int h5k_channel_sums(int real, const h5k_channels *g, double *sums, const void *dy, const void *x, const double *pivot);

/* y = a·(x-pivot) + b·dy + k, where constants is c each of pivot, a, b, k; dy may be NULL.
 * Returns -1 where there is no memory. */
int h5k_channel_map(int real, const h5k_channels *g, void *y, const void *x, const void *dy, const double *constants);

/* What an instruction set provides: parts of the above. Rows count images × lines. */
typedef struct {
	void (*max_pool)(const h5k_windows *g, int64_t from, int64_t to, void *y, void *at, const void *x);
	void (*max_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dx, const void *dy, const void *at, const void *y);
	void (*avg_pool)(const h5k_windows *g, int64_t from, int64_t to, void *y, const void *x);
	void (*avg_pool_grad)(const h5k_windows *g, int64_t from, int64_t to, void *dx, const void *dy);
	void (*channel_sums)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, double *sums, const void *dy, const void *x, const double *pivot);
	void (*channel_map)(const h5k_channels *g, int64_t n, int64_t from, int64_t to, void *y, const void *x, const void *dy, const void *const constants[4]);
} h5k_pixel_loops;

typedef struct {
	h5k_pixel_loops real[H5K_REALS];
} h5k_pixel_table;

#endif
