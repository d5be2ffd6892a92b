/* Loops that change one image: warps, colors, blurs. Arithmetic of bytes is of integers, and so the same on every
 * processor; floats are computed in double and rounded once. They are compiled for each level of
 * x86-64 (images_v2.c, _v3.c, _v4.c). */
#ifndef H5K_IMAGES_H
#define H5K_IMAGES_H

#include <stdint.h>

enum { H5K_BYTES, H5K_FLOATS }; /* the types of images */
enum { H5K_CONSTANT, H5K_EDGE, H5K_REFLECT };  /* what is outside: a number, the nearest pixel, or the mirrored image */

/* An image of c channels of h rows of w pixels, with strides that count elements. */
typedef struct {
	int64_t c, h, w, channel, row, pixel;
} h5k_image;

/* A warp sets the pixel at (x, y) to the mean of samples² bilinear samples. Sample (i, j) is at
 *   (m[0]·u + m[1]·v + m[2], m[3]·u + m[4]·v + m[5])·2⁻³² where u = x + (2i+1-samples)/(2·samples), v likewise,
 * among the pixels of the source, whose centers are integers; the terms of i and j are rounded to integers first. Bytes
 * take 8 bits of the fraction of a position, rounded, and the mean is rounded once. */
typedef struct {
	int64_t m[6], samples, border;
	double fill; /* outside, with H5K_CONSTANT */
} h5k_warp;

/* The loops for an instruction set, by its name in package native. */
void h5k_images_for(const char *isa);

void h5k_warp_image(int type, const h5k_warp *w, const h5k_image *to, void *y, const h5k_image *from, const void *x);

/* The nearest pixel, of elements of size 1, 2, 4 or 8 bytes; fill has that size. samples is ignored. */
void h5k_warp_nearest(int size, const h5k_warp *w, const void *fill, const h5k_image *to, void *y, const h5k_image *from, const void *x);

/* Changes of n colors of c channels, in place: channel and pixel are strides. Factors are a·2⁻¹⁶; floats are limited
 * to [0, max]. grey is (19595·r + 38470·g + 7471·b)·2⁻¹⁶, or the one channel, rounded; bytes round each result. */
enum {
	H5K_BRIGHTNESS, /* x·a */
	H5K_CONTRAST,   /* x·a + m·(1-a), where m is the mean of grey, rounded */
	H5K_SATURATION, /* x·a + grey·(1-a) */
	H5K_HUE,        /* the hue is turned by a sixths of the circle, of 1/4096 */
};
typedef struct {
	int64_t c, n, channel, pixel;
	double max;
} h5k_colors;
void h5k_color(int type, int what, const h5k_colors *g, void *x, int64_t a);

/* x = table[x] for n bytes. */
void h5k_lookup(int64_t n, uint8_t *x, const uint8_t table[256]);

/* The convolution of each channel with a kernel k of size weights that are symmetric and have the sum 2¹⁶, along columns
 * and rows; pixels outside are the nearest. Bytes are rounded to 8 bits below the point, and then to integers.
 * Returns 0 where there is no memory. y may be x. */
int h5k_blur(int type, const h5k_image *g, void *y, const void *x, int64_t size, const uint32_t *k);

typedef struct {
	void (*warp[2])(const h5k_warp *w, const h5k_image *to, void *y, const h5k_image *from, const void *x);
	void (*nearest)(int size, const h5k_warp *w, const void *fill, const h5k_image *to, void *y, const h5k_image *from, const void *x);
	void (*color[2])(int what, const h5k_colors *g, void *x, int64_t a);
	int (*blur[2])(const h5k_image *g, void *y, const void *x, int64_t size, const uint32_t *k);
} h5k_image_table;

#endif
