/* Philox4x32-10 (Salmon et al., doi:10.1145/2063384.2063405), for DRAWN elements at a time. */

enum { DRAWN = 4 * LANES };

/* What elements get: their word, the two words of their pair, and whether they are its second. */
typedef struct {
	uint32_t own[DRAWN], first[DRAWN], second[DRAWN];
	int32_t odd[DRAWN];
} h5k_drawn;

static void h5k_philox(uint32_t *restrict a, uint32_t *restrict b, uint32_t *restrict c, uint32_t *restrict d, uint64_t seed) {
	uint32_t k0 = seed, k1 = seed >> 32;
	for (int round = 0; round < 10; round++) {
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint64_t p = (uint64_t)0xD2511F53 * a[k], q = (uint64_t)0xCD9E8D57 * c[k];
			a[k] = (uint32_t)(q >> 32) ^ b[k] ^ k0;
			b[k] = q;
			c[k] = (uint32_t)(p >> 32) ^ d[k] ^ k1;
			d[k] = p;
		}
		k0 += 0x9E3779B9, k1 += 0xBB67AE85;
	}
}

/* Elements i0, i0 + step, …; four neighbours share a block, if they are asked for in order. */
static void h5k_words(h5k_drawn *w, uint64_t i0, int64_t step, uint64_t seed, uint64_t stream) {
	uint32_t a[LANES], b[LANES], c[LANES], d[LANES];
	int shared = step == 1 && i0 % 4 == 0;
	for (int part = 0; part < DRAWN; part += LANES) {
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint64_t block = shared ? i0 / 4 + k : (i0 + (part + k) * step) / 4;
			a[k] = block, b[k] = block >> 32, c[k] = stream, d[k] = stream >> 32;
		}
		h5k_philox(a, b, c, d, seed);
		if (shared)
			break;
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint32_t own = (i0 + (part + k) * step) & 3, first = own & 2 ? c[k] : a[k], second = own & 2 ? d[k] : b[k];
			w->own[part + k] = own & 1 ? second : first;
			w->first[part + k] = first, w->second[part + k] = second;
			w->odd[part + k] = own & 1;
		}
	}
	if (!shared)
		return;
	for (int k = 0; k < LANES; k++) {
		w->own[4 * k] = a[k], w->own[4 * k + 1] = b[k], w->own[4 * k + 2] = c[k], w->own[4 * k + 3] = d[k];
		w->first[4 * k] = a[k], w->first[4 * k + 1] = a[k], w->first[4 * k + 2] = c[k], w->first[4 * k + 3] = c[k];
		w->second[4 * k] = b[k], w->second[4 * k + 1] = b[k], w->second[4 * k + 2] = d[k], w->second[4 * k + 3] = d[k];
		w->odd[4 * k] = 0, w->odd[4 * k + 1] = 1, w->odd[4 * k + 2] = 0, w->odd[4 * k + 3] = 1;
	}
}
