#include "images.h"
#include <string.h>

extern const h5k_image_table h5k_images_v2, h5k_images_v3, h5k_images_v4;

static const h5k_image_table *loops = &h5k_images_v2;

void h5k_images_for(const char *isa) {
#ifdef __x86_64__
	if (!strcmp(isa, "avx512"))
		loops = &h5k_images_v4;
	else if (!strcmp(isa, "avx2"))
		loops = &h5k_images_v3;
#else
	(void)isa;
#endif
}

void h5k_warp_image(int type, const h5k_warp *w, const h5k_image *to, void *y, const h5k_image *from, const void *x) {
	loops->warp[type](w, to, y, from, x);
}

void h5k_warp_nearest(int size, const h5k_warp *w, const void *fill, const h5k_image *to, void *y, const h5k_image *from, const void *x) {
	loops->nearest(size, w, fill, to, y, from, x);
}

void h5k_color(int type, int what, const h5k_colors *g, void *x, int64_t a) { loops->color[type](what, g, x, a); }

int h5k_blur(int type, const h5k_image *g, void *y, const void *x, int64_t size, const uint32_t *k) {
	return loops->blur[type](g, y, x, size, k);
}

void h5k_lookup(int64_t n, uint8_t *x, const uint8_t table[256]) {
	for (int64_t i = 0; i < n; i++)
		x[i] = table[x[i]];
}
