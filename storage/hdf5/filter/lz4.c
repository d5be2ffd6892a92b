#include "lz4.h"

#include "match.h"

// Adds the bytes that follow a length of 15 to it, up to the first that is not 255. Returns 0 if src ends before.
static inline int extend(size_t *n, const uint8_t **src, const uint8_t *stop)
{
	uint8_t more;
	do {
		if (*src == stop)
			return 0;
		more = *(*src)++;
		*n += more;
	} while (more == 255);
	return 1;
}

// A block is sequences (LZ4 Block Format Description): a byte with the lengths of both parts, literals, and, but for the last
// sequence, a match of 4 bytes and more at a distance of 2 bytes. Lengths of 15 go on in further bytes.
ptrdiff_t hdf5_lz4_decode(uint8_t *dst, size_t room, const uint8_t *src, size_t size)
{
	uint8_t *to = dst, *const end = dst + room;
	const uint8_t *const stop = src + size;
	while (src < stop) {
		const uint8_t token = *src++;
		size_t n = token >> 4;
		if (n == 15 && !extend(&n, &src, stop))
			return -1;
		if (n > (size_t)(stop - src) || n > (size_t)(end - to))
			return -1;
		if (n <= WIDE && stop - src >= WIDE && end - to >= WIDE)
			memcpy(to, src, WIDE);
		else
			memcpy(to, src, n);
		to += n;
		src += n;
		if (src == stop)
			return to - dst;
		if (stop - src < 2)
			return -1;
		const size_t distance = src[0] | (size_t)src[1] << 8;
		src += 2;
		n = token & 15;
		if (n == 15 && !extend(&n, &src, stop))
			return -1;
		n += 4;
		if (distance == 0 || distance > (size_t)(to - dst) || n > (size_t)(end - to))
			return -1;
		copy_match(to, distance, n, (size_t)(end - to));
		to += n;
	}
	return -1;
}
