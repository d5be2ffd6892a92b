#include "lzf.h"

#include <string.h>

// Runs are short: copies of a fixed size, which may write more than a run where there is
// room, need no loop and no call.
enum { WIDE = 32 };

static inline void copy_match(uint8_t *to, size_t distance, size_t n, size_t room)
{
	const uint8_t *from = to - distance;
	if (distance >= WIDE && room >= n + WIDE) {
		for (size_t k = 0; k < n; k += WIDE)
			memcpy(to + k, from + k, WIDE);
	} else if (distance >= 8 && room >= n + 8) {
		for (size_t k = 0; k < n; k += 8)
			memcpy(to + k, from + k, 8);
	} else if (distance == 1) {
		memset(to, *from, n);
	} else {
		for (size_t k = 0; k < n; k++)
			to[k] = from[k];
	}
}

ptrdiff_t hdf5_lzf_decode(uint8_t *dst, size_t room, const uint8_t *src, size_t size)
{
	uint8_t *to = dst, *const end = dst + room;
	const uint8_t *const stop = src + size;
	while (src < stop) {
		size_t control = *src++, n, distance;
		if (control < 32) {
			n = control + 1;
			if (stop - src >= WIDE && end - to >= WIDE)
				memcpy(to, src, WIDE);
			else if (n > (size_t)(stop - src) || n > (size_t)(end - to))
				return -1;
			else
				memcpy(to, src, n);
			src += n;
			to += n;
			continue;
		}
		n = control >> 5;
		if (n == 7 && src < stop)
			n += *src++;
		if (src == stop)
			return -1;
		n += 2;
		distance = ((control & 31) << 8 | *src++) + 1;
		if (distance > (size_t)(to - dst) || n > (size_t)(end - to))
			return -1;
		copy_match(to, distance, n, end - to);
		to += n;
	}
	return to - dst;
}
