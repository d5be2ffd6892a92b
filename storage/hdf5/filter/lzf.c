#include "lzf.h"

#include "match.h"

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
