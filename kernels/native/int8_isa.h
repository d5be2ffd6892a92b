/* One instruction set's loops: included by int8_v*.c and int8_vnni.c, which set the compiler's target and define
 * H5K_INT8_LOOPS, the table to fill. */
#include "int8.h"
#include "panels.h"
#ifdef H5K_TILES
#define ADD_TILES(sum, x, w) _tile_dpbusd(sum, x, w)
#include "tiles_isa.h"
#endif

#if defined(__AVX512VNNI__)
enum { GROUP = 4 };
typedef uint8_t element;
#else
enum { GROUP = 2 };
typedef int16_t element;
#endif

/* multiplied returns sum plus the products of a group of elements, the same for all lanes, and the weights of each lane. */
INLINE ivec multiplied(ivec sum, int32_t x, ivec w) {
#if defined(__AVX512VNNI__)
	return (ivec)_mm512_dpbusd_epi32((__m512i)sum, _mm512_set1_epi32(x), (__m512i)w);
#elif defined(__AVX512BW__)
	return sum + (ivec)_mm512_madd_epi16(_mm512_set1_epi32(x), (__m512i)w);
#elif defined(__AVX2__)
	return sum + (ivec)_mm256_madd_epi16(_mm256_set1_epi32(x), (__m256i)w);
#elif defined(__SSE2__)
	return sum + (ivec)_mm_madd_epi16(_mm_set1_epi32(x), (__m128i)w);
#else
	int16_t a[2], b[2 * LANES];
	memcpy(a, &x, sizeof a);
	memcpy(b, &w, sizeof b);
	for (int i = 0; i < LANES; i++)
		sum[i] += a[0] * b[2 * i] + a[1] * b[2 * i + 1];
	return sum;
#endif
}

/* results stores the results of sums of products. */
INLINE void results(const h5k_int8_block *p, const ivec total[][VECTORS], int pixels, int vectors) {
	const vec low = p->low - (vec){0}, high = p->high - (vec){0};
#pragma GCC unroll 2
	for (int j = 0; j < vectors; j++) {
		int64_t n = p->columns - j * LANES;
		vec b = {0}, by = p->scale * load(p->w_scale + j * LANES), zero = p->zero * load(p->w_sum + j * LANES);
		if (p->b)
			b = load_some(p->b + j * LANES, n);
#pragma GCC unroll 16
		for (int i = 0; i < pixels; i++)
			finish((__builtin_convertvector(total[i][j], vec) - zero) * by + b, p->y + i * p->y_step + j * LANES, n, p->sum, low, high);
	}
}

#ifdef H5K_TILES
static void product(const h5k_int8_block *p, int64_t pixels) {
	ivec total[TILES_BLOCK][VECTORS];
	tile_sums(p->at, pixels, p->most, p->segments, p->run, p->segment, p->x, p->w, total, p->columns > LANES ? 2 : 1);
	results(p, total, pixels, p->columns > LANES ? 2 : 1);
}
#else
INLINE void panel(const h5k_int8_block *p, int pixels, int vectors) {
	ivec total[BLOCK][VECTORS];
	int64_t at[BLOCK];
	const char *w = p->w;
#pragma GCC unroll 16
	for (int i = 0; i < pixels; i++) {
		at[i] = p->at[i] * GROUP * sizeof(element);
#pragma GCC unroll 2
		for (int j = 0; j < vectors; j++)
			total[i][j] = (ivec){0};
	}
	for (int64_t s = 0; s < p->segments; s++) {
		const char *x = p->x + p->segment[s] * GROUP * sizeof(element);
		for (int64_t k = 0; k < p->run; k++, x += GROUP * sizeof(element), w += vectors * BYTES) {
			ivec u[VECTORS];
#pragma GCC unroll 2
			for (int j = 0; j < vectors; j++)
				memcpy(&u[j], w + j * BYTES, BYTES);
#pragma GCC unroll 16
			for (int i = 0; i < pixels; i++) {
				int32_t group;
				memcpy(&group, x + at[i], sizeof group);
#pragma GCC unroll 2
				for (int j = 0; j < vectors; j++)
					total[i][j] = multiplied(total[i][j], group, u[j]);
			}
		}
	}
	results(p, total, pixels, vectors);
}

static void product(const h5k_int8_block *p, int64_t pixels) {
	switch (pixels) { PANELS }
}
#endif

static const float v_nan = __builtin_nanf("");

/* range extends low and high, which include 0, to n elements of x; high is NaN if one of them is. */
static void range(int64_t n, const float *x, float *low, float *high) {
	vec l = *low - (vec){0}, h = *high - (vec){0};
	ivec bad = {0};
	for (int64_t i = 0; i < n; i += LANES) {
		vec v = n - i >= LANES ? load(x + i) : load_some(x + i, n - i);
		l = choose(v < l, v, l);
		h = choose(v > h, v, h);
		bad |= v != v;
	}
	float least = l[0], most = h[0];
	int nan = *high != *high;
	for (int k = 0; k < LANES; k++) {
		least = l[k] < least ? l[k] : least;
		most = h[k] > most ? h[k] : most;
		nan |= bad[k];
	}
	*low = least;
	*high = nan ? v_nan : most;
}

/* An element of x as a number of 8 bits; scaled is its quotient by the scale. */
INLINE element rounded(float scaled, float zero) {
	const float to_integer = 3 << 22, most = 255 - zero; /* floats of that size are whole: the sum is rounded, to even */
	scaled = scaled > -zero ? scaled : -zero;
	scaled = scaled < most ? scaled : most;
	return (int32_t)(scaled + to_integer - to_integer + zero);
}

static void quantize(int64_t n, const float *x, float scale, float zero, void *q) {
	element *to = q;
	for (int64_t i = 0; i < n; i++)
		to[i] = rounded(x[i] / scale, zero);
}

static void quantize_by(int64_t n, const float *x, float by, float zero, void *q) {
	element *to = q;
	for (int64_t i = 0; i < n; i++)
		to[i] = rounded(x[i] * by, zero);
}

const h5k_int8_loops H5K_INT8_LOOPS = {
	.lanes = LANES,
	.width = WIDTH,
#ifdef H5K_TILES
	.block = TILES_BLOCK,
	.begin = begin,
	.end = end,
#else
	.block = BLOCK,
#endif
	.group = GROUP,
	.bytes = sizeof(element),
	.product = product,
	.range = range,
	.quantize = quantize,
	.quantize_by = quantize_by,
};
