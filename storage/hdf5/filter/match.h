#ifndef H5DNN_MATCH_H
#define H5DNN_MATCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Runs are short: copies of a fixed size, which may write more than a run where there is
// room, need no loop and no call.
enum { WIDE = 32 };

// Copies n bytes to to from distance bytes before it, which may be fewer than n: they are then repeated.
static inline void copy_match(uint8_t *to, size_t distance, size_t n, size_t room)
{
	const uint8_t *from = to - distance;
	if (distance >= WIDE && room >= n + WIDE) {
		for (size_t k = 0; k < n; k += WIDE)
			memcpy(to + k, from + k, WIDE);
	} else if (distance >= 8 && room >= n + 8) {
		for (size_t k = 0; k < n; k += 8)
			memcpy(to + k, from + k, 8);
	} else if ((distance & (distance - 1)) == 0 && room >= n + 8) { // 1, 2 or 4
		uint8_t repeated[8];
		for (size_t k = 0; k < 8; k++)
			repeated[k] = from[k & (distance - 1)];
		for (size_t k = 0; k < n; k += 8)
			memcpy(to + k, repeated, 8);
	} else {
		for (size_t k = 0; k < n; k++)
			to[k] = from[k];
	}
}

#endif
