/* Convolutions by weights of 8 bits, a scale for each channel of y: x is rounded to 8 bits, by a scale that is given or the range of each image, and sums are
 * exact in 32 bits. Four products a lane and cycle where the processor has AVX512-VNNI (int8_vnni.c), two elsewhere (int8_v*.c). */
#ifndef H5K_INT8_H
#define H5K_INT8_H

#include "direct.h"

/* How many products the processor adds to a sum at once. */
int h5k_int8_products(void);

/* The number of bytes of packed weights: integers, then the scales and sums of channels. g is not depthwise. */
int64_t h5k_int8_packed(const h5k_direct *g);

/* w are integers from -127 to 127, of which the weights are scale[channel] times. Results are as in direct.h. */
int h5k_int8_pack(const h5k_direct *g, char *packed, int64_t packed_len, const int8_t *w, int64_t w_len, const float *scale, int64_t scale_len);
/* x is rounded to integers from 0 to 255, clamp(round(x / x_scale) + x_zero), halves to even; if x_scale is 0, by the range of each image, whose
 * scale x is multiplied by the reciprocal of. */
int h5k_int8_run(const h5k_direct *g, float *y, int64_t y_len, const float *x, int64_t x_len, const char *packed, int64_t packed_len, const float *b, int64_t b_len, float x_scale, float x_zero);

/* A part of a convolution, as h5k_direct_block: offsets and runs count groups of elements of x. A result is
 * scale·w_scale[j]·(sum - zero·w_sum[j]) + b[j]. */
typedef struct {
	int64_t segments, run;
	const int64_t *segment;
	const char *x, *w;
	const float *w_scale, *w_sum, *b; /* of the panel; padded to its width, but for b, which may be NULL */
	const int64_t *at;
	int64_t most;
	float *y;
	int64_t y_step, columns, sum;
	float low, high, scale, zero;
} h5k_int8_block;

typedef struct {
	int lanes, width, block;
	int group, bytes; /* elements of x that are multiplied at once; their size */
	void (*product)(const h5k_int8_block *p, int64_t pixels);
	void (*begin)(int64_t most), (*end)(void); /* as of h5k_direct_loops */
	void (*range)(int64_t n, const float *x, float *low, float *high);
	/* n elements of x as numbers of 8 bits: clamp(round(x / scale) + zero), and clamp(round(x · by) + zero), without divisions. */
	void (*quantize)(int64_t n, const float *x, float scale, float zero, void *q);
	void (*quantize_by)(int64_t n, const float *x, float by, float zero, void *q);
} h5k_int8_loops;

#endif
