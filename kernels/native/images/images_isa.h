/* One instruction set's loops over images: included by images_v*.c, which set the compiler's target and define
 * H5K_IMAGES, the table to fill. */
#include "images.h"
#ifdef __clang__ /* as -std=c11 has it for GCC */
#pragma STDC FP_CONTRACT OFF
#endif
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

/* The index of pixel i among n, or -1 outside. */
INLINE int64_t inside(int64_t i, int64_t n, int64_t border) {
	if (i >= 0 && i < n)
		return i;
	if (border == H5K_CONSTANT)
		return -1;
	if (border == H5K_EDGE || n == 1)
		return i < 0 ? 0 : n - 1;
	int64_t period = 2 * (n - 1);
	i = i % period;
	if (i < 0)
		i += period;
	return i < n ? i : period - i;
}

enum { CHUNK = 256 };

/* The positions of a part of a row of pixels. */
typedef struct {
	int64_t x[CHUNK], y[CHUNK];
	int32_t at[CHUNK];                 /* of the first of four neighbours, in elements */
	uint16_t fx[CHUNK], fy[CHUNK];     /* 8 bits of the fractions, for bytes */
	int64_t from, to;                  /* where all four are inside */
} positions;

/* Positions that have integer parts below 2³¹ in magnitude are clamped there: all of them are outside. */
INLINE int64_t clamped(int64_t p) {
	const int64_t most = (int64_t)1 << 61;
	return p > most ? most : p < -most ? -most : p;
}

INLINE void place(positions *p, const h5k_image *from, int64_t n, int64_t x, int64_t y, int64_t dx, int64_t dy, int64_t half) {
	for (int64_t i = 0; i < n; i++)
		p->x[i] = x + i * dx + half, p->y[i] = y + i * dy + half;
	p->from = n, p->to = n;
	int64_t w = from->w - 1, h = from->h - 1, i = 0;
	for (; i < n; i++) {
		int64_t px = p->x[i] >> 32, py = p->y[i] >> 32;
		if (px >= 0 && px < w && py >= 0 && py < h)
			break;
	}
	p->from = i;
	for (; i < n; i++) {
		int64_t px = p->x[i] >> 32, py = p->y[i] >> 32;
		if (!(px >= 0 && px < w && py >= 0 && py < h))
			break;
		p->at[i] = py * from->row + px * from->pixel;
		p->fx[i] = (p->x[i] >> 24) & 255, p->fy[i] = (p->y[i] >> 24) & 255;
	}
	p->to = i;
}

/* The value of a pixel that may be outside. */
#define TAP(type) \
	INLINE type tap_##type(const h5k_image *g, const type *x, int64_t px, int64_t py, int64_t border, type fill) { \
		px = inside(px, g->w, border), py = inside(py, g->h, border); \
		return px < 0 || py < 0 ? fill : x[py * g->row + px * g->pixel]; \
	}
TAP(uint8_t)
TAP(float)

INLINE uint32_t bilinear(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t fx, uint32_t fy) {
	return (a * (256 - fx) + b * fx) * (256 - fy) + (c * (256 - fx) + d * fx) * fy;
}

static void outer_bytes(const h5k_warp *w, const h5k_image *from, const uint8_t *x, const positions *p, int64_t i, int64_t end, uint32_t *sum) {
	uint8_t fill = w->fill;
	for (; i < end; i++) {
		int64_t px = p->x[i] >> 32, py = p->y[i] >> 32, b = w->border;
		if (b == H5K_CONSTANT && (px < -1 || py < -1 || px >= from->w || py >= from->h)) {
			sum[i] += (uint32_t)fill << 16;
			continue;
		}
		sum[i] += bilinear(tap_uint8_t(from, x, px, py, b, fill), tap_uint8_t(from, x, px + 1, py, b, fill),
			tap_uint8_t(from, x, px, py + 1, b, fill), tap_uint8_t(from, x, px + 1, py + 1, b, fill), (p->x[i] >> 24) & 255, (p->y[i] >> 24) & 255);
	}
}

/* One sample for each pixel is written without sums. */
static void inner_bytes(const positions *p, const uint8_t *x, int64_t row, int64_t pixel, uint8_t *y, int64_t step) {
	for (int64_t i = p->from; i < p->to; i++) {
		const uint8_t *q = x + p->at[i];
		y[i * step] = (bilinear(q[0], q[pixel], q[row], q[row + pixel], p->fx[i], p->fy[i]) + 32768) >> 16;
	}
}

/* The same of adjacent pixels, as sums: pairs of neighbours are collected one by one, and combined many at a time. */
INLINE void adjacent_sums(const positions *p, const uint8_t *x, int64_t row, uint32_t *restrict v) {
	uint16_t above[CHUNK], below[CHUNK];
	int64_t n = p->to - p->from;
	const int32_t *at = p->at + p->from;
	const uint16_t *fx = p->fx + p->from, *fy = p->fy + p->from;
	for (int64_t i = 0; i < n; i++) {
		memcpy(above + i, x + at[i], 2);
		memcpy(below + i, x + at[i] + row, 2);
	}
	for (int64_t i = 0; i < n; i++) {
		uint16_t f = fx[i], a = above[i], b = below[i];
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
		uint16_t up = (a & 255) * (256 - f) + (a >> 8) * f, down = (b & 255) * (256 - f) + (b >> 8) * f;
#else
		uint16_t up = (a >> 8) * (256 - f) + (a & 255) * f, down = (b >> 8) * (256 - f) + (b & 255) * f;
#endif
		v[i] += (uint32_t)up * (uint16_t)(256 - fy[i]) + (uint32_t)down * fy[i];
	}
}

static void adjacent_bytes(const positions *p, const uint8_t *x, int64_t row, uint8_t *y) {
	uint32_t v[CHUNK];
	uint8_t mean[CHUNK];
	int64_t n = p->to - p->from;
	for (int64_t i = 0; i < n; i++)
		v[i] = 32768;
	adjacent_sums(p, x, row, v);
	for (int64_t i = 0; i < n; i++)
		mean[i] = v[i] >> 16;
	memcpy(y + p->from, mean, n > 0 ? n : 0);
}

static void one_sample(const h5k_warp *w, const h5k_image *to, uint8_t *y, const h5k_image *from, const uint8_t *x, const positions *p, int64_t n) {
	uint32_t sum[CHUNK];
	for (int64_t c = 0; c < to->c; c++, x += from->channel, y += to->channel) {
		if (p->from > 0 || p->to < n)
			memset(sum, 0, n * sizeof *sum);
		outer_bytes(w, from, x, p, 0, p->from, sum);
		outer_bytes(w, from, x, p, p->to, n, sum);
		for (int64_t i = 0; i < p->from; i++)
			y[i * to->pixel] = (sum[i] + 32768) >> 16;
		for (int64_t i = p->to; i < n; i++)
			y[i * to->pixel] = (sum[i] + 32768) >> 16;
		if (from->pixel == 1 && to->pixel == 1)
			adjacent_bytes(p, x, from->row, y);
		else
			inner_bytes(p, x, from->row, from->pixel, y, to->pixel);
	}
}

/* The position of sample (i, j) of the first pixel of a row. */
INLINE void sample_at(const h5k_warp *w, int64_t x, int64_t y, int64_t i, int64_t j, int64_t *px, int64_t *py) {
	int64_t s = w->samples, u = 2 * i + 1 - s, v = 2 * j + 1 - s;
	*px = clamped(w->m[2]) + w->m[0] * x + w->m[1] * y + (w->m[0] * u + w->m[1] * v) / (2 * s);
	*py = clamped(w->m[5]) + w->m[3] * x + w->m[4] * y + (w->m[3] * u + w->m[4] * v) / (2 * s);
}

/* The sums of at most 16² samples for each pixel are below 2³². */
enum { TOGETHER = 4 }; /* channels that share positions */

static void warp_bytes(const h5k_warp *w, const h5k_image *to, void *y, const h5k_image *from, const void *x) {
	positions p;
	int64_t s = w->samples, px, py;
	for (int64_t r = 0; r < to->h; r++)
		for (int64_t first = 0; first < to->w; first += CHUNK) {
			int64_t n = to->w - first < CHUNK ? to->w - first : CHUNK;
			uint8_t *out = (uint8_t *)y + r * to->row + first * to->pixel;
			if (s == 1) {
				sample_at(w, first, r, 0, 0, &px, &py);
				place(&p, from, n, px, py, w->m[0], w->m[3], 1 << 23);
				one_sample(w, to, out, from, x, &p, n);
				continue;
			}
			for (int64_t c = 0; c < to->c; c += TOGETHER) {
				uint32_t sum[TOGETHER][CHUNK];
				int64_t some = to->c - c < TOGETHER ? to->c - c : TOGETHER;
				memset(sum, 0, some * sizeof *sum);
				for (int64_t j = 0; j < s * s; j++) {
					sample_at(w, first, r, j % s, j / s, &px, &py);
					place(&p, from, n, px, py, w->m[0], w->m[3], 1 << 23);
					for (int64_t k = 0; k < some; k++) {
						const uint8_t *in = (const uint8_t *)x + (c + k) * from->channel;
						outer_bytes(w, from, in, &p, 0, p.from, sum[k]);
						outer_bytes(w, from, in, &p, p.to, n, sum[k]);
						if (from->pixel == 1) {
							adjacent_sums(&p, in, from->row, sum[k] + p.from);
							continue;
						}
						for (int64_t i = p.from; i < p.to; i++) {
							const uint8_t *q = in + p.at[i];
							sum[k][i] += bilinear(q[0], q[from->pixel], q[from->row], q[from->row + from->pixel], p.fx[i], p.fy[i]);
						}
					}
				}
				for (int64_t k = 0; k < some; k++)
					for (int64_t i = 0; i < n; i++)
						out[(c + k) * to->channel + i * to->pixel] = (sum[k][i] + (uint32_t)(32768 * s * s)) / (uint32_t)(65536 * s * s);
			}
		}
}

static void warp_floats(const h5k_warp *w, const h5k_image *to, void *y, const h5k_image *from, const void *x) {
	int64_t s = w->samples, b = w->border, px, py;
	float fill = w->fill;
	for (int64_t c = 0; c < to->c; c++) {
		const float *in = (const float *)x + c * from->channel;
		for (int64_t r = 0; r < to->h; r++)
			for (int64_t k = 0; k < to->w; k++) {
				double sum = 0;
				for (int64_t j = 0; j < s; j++)
					for (int64_t i = 0; i < s; i++) {
						sample_at(w, k, r, i, j, &px, &py);
						double fx = (double)(px & 0xffffffff) * 0x1p-32, fy = (double)(py & 0xffffffff) * 0x1p-32;
						px >>= 32, py >>= 32;
						double v0 = (1 - fx) * tap_float(from, in, px, py, b, fill) + fx * tap_float(from, in, px + 1, py, b, fill);
						double v1 = (1 - fx) * tap_float(from, in, px, py + 1, b, fill) + fx * tap_float(from, in, px + 1, py + 1, b, fill);
						sum += (1 - fy) * v0 + fy * v1;
					}
				((float *)y)[c * to->channel + r * to->row + k * to->pixel] = sum / (double)(s * s);
			}
	}
}

static void warp_nearest(int size, const h5k_warp *w, const void *fill, const h5k_image *to, void *y, const h5k_image *from, const void *x) {
	int64_t half = (int64_t)1 << 31;
	for (int64_t r = 0; r < to->h; r++)
		for (int64_t k = 0; k < to->w; k++) {
			int64_t px = inside((clamped(w->m[2]) + w->m[0] * k + w->m[1] * r + half) >> 32, from->w, w->border);
			int64_t py = inside((clamped(w->m[5]) + w->m[3] * k + w->m[4] * r + half) >> 32, from->h, w->border);
			for (int64_t c = 0; c < to->c; c++) {
				const char *in = px < 0 || py < 0 ? fill : (const char *)x + (c * from->channel + py * from->row + px * from->pixel) * size;
				memcpy((char *)y + (c * to->channel + r * to->row + k * to->pixel) * size, in, size);
			}
		}
}

INLINE uint8_t byte_of(int32_t v) { return v < 0 ? 0 : v > 255 ? 255 : v; }

INLINE int32_t grey_of(int32_t r, int32_t g, int32_t b) { return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16; }

/* The hue of (r, g, b), in sixths of 4096, is turned by a: the largest and the smallest stay what they are, and the third
 * follows from the fraction of the sixth. The quotient of floats is exact: both are integers below 2²⁴. */
INLINE int32_t select(int32_t condition, int32_t a, int32_t b) { return (-condition & a) | ((condition - 1) & b); }

INLINE void turn(uint8_t *r8, uint8_t *g8, uint8_t *b8, int32_t a) {
	int32_t r = *r8, g = *g8, b = *b8; /* masks choose instead of branches, so that loops are vectorized */
	int32_t hi = r > g ? r : g, lo = r < g ? r : g;
	hi = hi > b ? hi : b, lo = lo < b ? lo : b;
	int32_t span = hi - lo, red = hi == r, green = hi == g;
	int32_t base = select(red, 0, select(green, 8192, 16384));
	int32_t rise = select(red, g - b, select(green, b - r, r - g));
	int32_t sign = rise >> 31;
	int32_t steep = (int32_t)((float)(((rise ^ sign) - sign) * 4096) / (float)(span + (span == 0)));
	int32_t hue = base + ((steep ^ sign) - sign) + a;
	hue += 24576 & (hue >> 31);
	hue -= 24576 & -(hue >= 24576);
	int32_t sixth = hue >> 12, part = (span * (hue & 4095) + 2048) >> 12;
	int32_t mid = select(sixth & 1, hi - part, lo + part);
	*r8 = select((sixth == 0) | (sixth == 5), hi, select((sixth == 1) | (sixth == 4), mid, lo));
	*g8 = select((sixth == 1) | (sixth == 2), hi, select((sixth == 0) | (sixth == 3), mid, lo));
	*b8 = select((sixth == 3) | (sixth == 4), hi, select((sixth == 2) | (sixth == 5), mid, lo));
}

INLINE void color_bytes_of(int what, const h5k_colors *g, uint8_t *x, int32_t a, int64_t step) {
	int64_t n = g->n, ch = g->channel;
	uint8_t *p = x, *q = x + ch, *r = x + 2 * ch;
	if (what == H5K_HUE) {
		for (int64_t first = 0; first < n; first += CHUNK) { /* of copies, which do not overlap */
			uint8_t red[CHUNK], green[CHUNK], blue[CHUNK];
			int64_t some = n - first < CHUNK ? n - first : CHUNK;
			for (int64_t i = 0; i < some; i++)
				red[i] = p[(first + i) * step], green[i] = q[(first + i) * step], blue[i] = r[(first + i) * step];
			for (int64_t i = 0; i < some; i++)
				turn(red + i, green + i, blue + i, a);
			for (int64_t i = 0; i < some; i++)
				p[(first + i) * step] = red[i], q[(first + i) * step] = green[i], r[(first + i) * step] = blue[i];
		}
		return;
	}
	if (what == H5K_SATURATION) {
		for (int64_t i = 0; i < n; i++) {
			int32_t m = grey_of(p[i * step], q[i * step], r[i * step]) * (65536 - a) + 32768;
			p[i * step] = byte_of((p[i * step] * a + m) >> 16);
			q[i * step] = byte_of((q[i * step] * a + m) >> 16);
			r[i * step] = byte_of((r[i * step] * a + m) >> 16);
		}
		return;
	}
	int32_t m = 0;
	if (what == H5K_CONTRAST && n) {
		int64_t sum = 0;
		if (g->c == 3)
			for (int64_t i = 0; i < n; i++)
				sum += grey_of(p[i * step], q[i * step], r[i * step]);
		else
			for (int64_t i = 0; i < n; i++)
				sum += p[i * step];
		m = (sum + n / 2) / n * (65536 - a);
	}
	for (int64_t c = 0; c < g->c; c++)
		for (int64_t i = 0; i < n; i++)
			x[c * ch + i * step] = byte_of((x[c * ch + i * step] * a + m + 32768) >> 16);
}

static void color_bytes(int what, const h5k_colors *g, void *x, int64_t a) {
	if (g->pixel == 1) { /* channels do not overlap, which the compiler has to see */
		switch (what) {
		case H5K_HUE: color_bytes_of(H5K_HUE, g, x, a, 1); break;
		case H5K_SATURATION: color_bytes_of(H5K_SATURATION, g, x, a, 1); break;
		case H5K_CONTRAST: color_bytes_of(H5K_CONTRAST, g, x, a, 1); break;
		default: color_bytes_of(H5K_BRIGHTNESS, g, x, a, 1);
		}
	} else
		color_bytes_of(what, g, x, a, g->pixel);
}

INLINE float limited(double v, double max) { return v < 0 ? 0 : v > max ? max : v; }

static double grey_float(const h5k_colors *g, const float *x, int64_t i) {
	const float *p = x + i * g->pixel;
	if (g->c != 3)
		return *p;
	return (19595. * p[0] + 38470. * p[g->channel] + 7471. * p[2 * g->channel]) / 65536;
}

static void turn_float(float *r, float *g, float *b, double a) {
	double hi = *r > *g ? *r : *g, lo = *r < *g ? *r : *g;
	hi = hi > *b ? hi : *b, lo = lo < *b ? lo : *b;
	double span = hi - lo;
	if (!(span > 0))
		return;
	double hue = hi == *r ? ((double)*g - *b) / span : hi == *g ? 2 + ((double)*b - *r) / span : 4 + ((double)*r - *g) / span;
	hue += a;
	hue += hue < 0 ? 6 : hue >= 6 ? -6 : 0;
	int sixth = hue;
	double part = span * (hue - sixth), mid = sixth & 1 ? hi - part : lo + part;
	*r = sixth == 0 || sixth >= 5 ? hi : sixth == 1 || sixth == 4 ? mid : lo;
	*g = sixth == 1 || sixth == 2 ? hi : sixth == 0 || sixth == 3 ? mid : lo;
	*b = sixth == 3 || sixth == 4 ? hi : sixth == 2 || sixth >= 5 ? mid : lo;
}

static void color_floats(int what, const h5k_colors *g, void *v, int64_t a16) {
	float *x = v;
	double a = a16 / 65536., m = 0;
	if (what == H5K_HUE) {
		for (int64_t i = 0; i < g->n; i++)
			turn_float(x + i * g->pixel, x + i * g->pixel + g->channel, x + i * g->pixel + 2 * g->channel, a16 / 4096.);
		return;
	}
	if (what == H5K_CONTRAST && g->n) {
		for (int64_t i = 0; i < g->n; i++)
			m += grey_float(g, x, i);
		m = m / g->n * (1 - a);
	}
	for (int64_t i = 0; i < g->n; i++) {
		if (what == H5K_SATURATION)
			m = grey_float(g, x, i) * (1 - a);
		for (int64_t c = 0; c < g->c; c++) {
			float *p = x + c * g->channel + i * g->pixel;
			*p = limited(*p * a + m, g->max);
		}
	}
}

/* Rows of a channel are filtered along x into a ring of size rows, and these along y. */
#define BLUR(name, type, wide, first, last) \
	static int name(const h5k_image *g, void *yv, const void *xv, int64_t size, const uint32_t *k) { \
		int64_t half = size / 2, w = g->w; \
		type *line = malloc((w + size) * sizeof(type)); \
		wide *rows = malloc((g->h * w + 1) * sizeof(wide)), *sum = malloc((w + 1) * sizeof(wide)); \
		int ok = line && rows && sum; \
		for (int64_t c = 0; ok && c < g->c; c++) { \
			const type *x = (const type *)xv + c * g->channel; \
			type *y = (type *)yv + c * g->channel; \
			for (int64_t r = 0; r < g->h; r++) { \
				for (int64_t i = 0; i < w + size - 1; i++) \
					line[i] = x[r * g->row + inside(i - half, w, H5K_EDGE) * g->pixel]; \
				memset(sum, 0, w * sizeof(wide)); \
				for (int64_t t = 0; t < size; t++) \
					for (int64_t i = 0; i < w; i++) \
						sum[i] += (wide)k[t] * (wide)line[i + t]; \
				for (int64_t i = 0; i < w; i++) \
					rows[r * w + i] = first(sum[i]); \
			} \
			for (int64_t r = 0; r < g->h; r++) { \
				memset(sum, 0, w * sizeof(wide)); \
				for (int64_t t = 0; t < size; t++) { \
					const wide *in = rows + inside(r + t - half, g->h, H5K_EDGE) * w; \
					for (int64_t i = 0; i < w; i++) \
						sum[i] += (wide)k[t] * in[i]; \
				} \
				for (int64_t i = 0; i < w; i++) \
					y[r * g->row + i * g->pixel] = last(sum[i]); \
			} \
		} \
		free(line), free(rows), free(sum); \
		return ok; \
	}
#define FIRST_BYTES(v) (((v) + 128) >> 8)
#define LAST_BYTES(v) (((v) + (1u << 23)) >> 24)
#define FIRST_FLOATS(v) (v)
#define LAST_FLOATS(v) ((v) * 0x1p-32)
BLUR(blur_bytes, uint8_t, uint32_t, FIRST_BYTES, LAST_BYTES)
BLUR(blur_floats, float, double, FIRST_FLOATS, LAST_FLOATS)

const h5k_image_table H5K_IMAGES = {{warp_bytes, warp_floats}, warp_nearest, {color_bytes, color_floats}, {blur_bytes, blur_floats}};
