/* Sorting: see h5k_sort. */
#include "table.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
	const h5k_order *order;
	const h5k_grid *kept;
	char *z;
	const char *x;
	int64_t *index;
	int failed;
} sorter;

#define KEY uint32_t
#define PAIR uint64_t
#define KEY_(name) name##_32
#define KEYS_OF(KEYS) KEYS(uint8_t) KEYS(uint16_t) KEYS(uint32_t)
static void keys_32(const h5k_order *o, int64_t n, uint32_t *key, const void *x, int64_t step);
#include "order.h"
static void keys_32(const h5k_order *o, int64_t n, uint32_t *key, const void *x, int64_t step) {
	switch (o->size) {
	case 1: keys_uint8_t_32(o, n, key, x, step); break;
	case 2: keys_uint16_t_32(o, n, key, x, step); break;
	default: keys_uint32_t_32(o, n, key, x, step);
	}
}
#undef KEY
#undef PAIR
#undef KEY_
#undef KEYS_OF

#define KEY uint64_t
#define PAIR unsigned __int128
#define KEY_(name) name##_64
#define KEYS_OF(KEYS) KEYS(uint64_t)
#define keys_64 keys_uint64_t_64
#include "order.h"

int h5k_sort(const h5k_order *order, const h5k_grid *kept, void *z, const void *x, int64_t *index) {
	sorter s = {order, kept, z, x, index, 0};
	int64_t lines = h5k_count(kept);
	h5k_spread(lines, lines * order->n < H5K_GRAIN / 8 ? INT64_MAX : 2, order->size == 8 ? some_64 : some_32, &s);
	return !s.failed;
}
