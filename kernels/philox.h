/* Philox4x32-10 (Salmon et al., doi:10.1145/2063384.2063405), LANES elements at a time. */

/* word[k] is that of element i0 + k·step, of the block of four that it owns a part of;
 * pair[k] and pair[LANES + k] are the two words of its pair, of which it is the
 * first unless odd[k]. Where step is 1
 * and i0 a multiple of 4, four elements share the work for a block. */
static void h5k_words(uint32_t *word, uint32_t *pair, uint32_t *odd, uint64_t i0, int64_t step, uint64_t seed, uint64_t stream) {
	uint32_t w[4][LANES], k0 = seed, k1 = seed >> 32;
	int shared = step == 1 && i0 % 4 == 0;
	for (int k = 0; k < LANES; k++) {
		uint64_t block = shared ? i0 / 4 + k : (i0 + k * step) / 4;
		w[0][k] = block, w[1][k] = block >> 32, w[2][k] = stream, w[3][k] = stream >> 32;
	}
	for (int round = 0; round < 10; round++) {
		_Pragma("omp simd") for (int k = 0; k < LANES; k++) {
			uint64_t p = (uint64_t)0xD2511F53 * w[0][k], q = (uint64_t)0xCD9E8D57 * w[2][k];
			w[0][k] = (uint32_t)(q >> 32) ^ w[1][k] ^ k0;
			w[1][k] = q;
			w[2][k] = (uint32_t)(p >> 32) ^ w[3][k] ^ k1;
			w[3][k] = p;
		}
		k0 += 0x9E3779B9, k1 += 0xBB67AE85;
	}
	for (int k = 0; k < LANES; k++) {
		int lane = shared ? k / 4 : k, own = (shared ? (uint64_t)k : i0 + k * step) % 4;
		word[k] = w[own][lane];
		odd[k] = own & 1;
		pair[k] = w[own & 2][lane];
		pair[LANES + k] = w[own | 1][lane];
	}
}
