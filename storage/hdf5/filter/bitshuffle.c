#include "bitshuffle.h"
#include "shuffle.h"

#include <string.h>

// Transposes 8 x 8 bits (H. Warren, Hacker's Delight, 2nd ed., section 7-3).
static inline uint64_t transposed(uint64_t x)
{
	uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AA;
	x ^= t ^ (t << 7);
	t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCC;
	x ^= t ^ (t << 14);
	t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0;
	return x ^ t ^ (t << 28);
}

// The bits lie in 8k planes of n/8 bytes: plane 8p+b has bit b of byte p of
// every element. Eight planes interleaved by bytes are 8 x 8 bits in a row, and
// those transposed are byte p of eight elements.
void hdf5_bitunshuffle(uint8_t *dst, const uint8_t *src, size_t n, size_t k, uint8_t *tmp)
{
	uint8_t *planes = k == 1 ? dst : tmp;
	for (size_t p = 0; p < k; p++) {
		hdf5_unshuffle(planes + p * n, src + p * n, n, 8);
		for (size_t j = 0; j < n; j += 8) {
			uint64_t x;
			memcpy(&x, planes + p * n + j, 8);
			x = transposed(x);
			memcpy(planes + p * n + j, &x, 8);
		}
	}
	if (k > 1)
		hdf5_unshuffle(dst, tmp, n * k, k);
}
