/* Sorting of lines, with KEY, an unsigned type, and PAIR, twice as wide: a pair is a key, which has the order of the
 * elements, above the element's index, so that pairs of equal keys are in the order of their indices. */

enum { KEY_(BITS) = 8 * sizeof(KEY) };

/* The n keys of elements x, step apart, of SIZE bytes. */
#define KEYS(type) \
	static void KEY_(keys_##type)(const h5k_order *o, int64_t n, KEY *key, const type *x, int64_t step) { \
		const KEY sign = (KEY)1 << (8 * sizeof(type) - 1), all = (sign - 1) | sign, infinity = o->infinity, flip = o->descending ? all : 0; \
		switch (o->kind) { \
		case H5K_UNSIGNED: \
			for (int64_t i = 0; i < n; i++) \
				key[i] = x[i * step] ^ flip; \
			break; \
		case H5K_SIGNED: \
			for (int64_t i = 0; i < n; i++) \
				key[i] = x[i * step] ^ sign ^ flip; \
			break; \
		case H5K_FLOATING: \
			for (int64_t i = 0; i < n; i++) { \
				KEY bits = x[i * step], magnitude = bits & (sign - 1), order = bits & sign ? all ^ bits : bits | sign; \
				order = magnitude ? order : sign; \
				key[i] = (magnitude > infinity ? all : order) ^ flip; \
			} \
		} \
	}
KEYS_OF(KEYS)
#undef KEYS

/* Sorts n pairs by insertion. */
static void KEY_(insert)(int64_t n, PAIR *p) {
	for (int64_t i = 1; i < n; i++) {
		PAIR x = p[i];
		int64_t j = i;
		for (; j > 0 && p[j - 1] > x; j--)
			p[j] = p[j - 1];
		p[j] = x;
	}
}

/* Sorts n pairs by their keys, 8 bits at a time from the lowest; returns where they are: p, or q, of the same length.
 * Bytes that all keys share are left out. */
static PAIR *KEY_(radix)(int64_t n, PAIR *p, PAIR *q) {
	int64_t count[sizeof(KEY)][256];
	if (n <= 48) {
		KEY_(insert)(n, p);
		return p;
	}
	memset(count, 0, sizeof count);
	for (int64_t i = 0; i < n; i++) {
		KEY key = p[i] >> KEY_(BITS);
		for (unsigned b = 0; b < sizeof(KEY); b++)
			count[b][key >> 8 * b & 255]++;
	}
	for (unsigned b = 0; b < sizeof(KEY); b++) {
		int shift = KEY_(BITS) + 8 * b;
		int64_t at = 0, *place = count[b];
		if (place[(unsigned)(p[0] >> shift) & 255] == n)
			continue;
		for (int k = 0; k < 256; k++) {
			int64_t here = place[k];
			place[k] = at;
			at += here;
		}
		for (int64_t i = 0; i < n; i++)
			q[place[(unsigned)(p[i] >> shift) & 255]++] = p[i];
		PAIR *swap = p;
		p = q, q = swap;
	}
	return p;
}

/* The k smallest of n pairs, sorted, to p: for small k. */
static void KEY_(smallest)(int64_t n, const KEY *key, int64_t k, PAIR *p) {
	enum { WIDE = 64 };
	for (int64_t i = 0; i < k; i++)
		p[i] = (PAIR)key[i] << KEY_(BITS) | i;
	KEY_(insert)(k, p);
	KEY last = p[k - 1] >> KEY_(BITS);
	for (int64_t i = k; i < n; i += WIDE) {
		int64_t end = i + WIDE < n ? i + WIDE : n;
		int any = 0;
		for (int64_t j = i; j < end; j++)
			any |= key[j] < last;
		for (int64_t j = i; any && j < end; j++) {
			if (key[j] >= last)
				continue;
			int64_t at = k - 1;
			for (PAIR x = (PAIR)key[j] << KEY_(BITS) | j; at >= 0; at--) {
				if (at == 0 || p[at - 1] < x) {
					p[at] = x;
					break;
				}
				p[at] = p[at - 1];
			}
			last = p[k - 1] >> KEY_(BITS);
		}
	}
}

static void KEY_(some)(void *arg, int64_t from, int64_t to) {
	sorter *s = arg;
	const h5k_order *o = s->order;
	int64_t n = o->n;
	PAIR *p = malloc(n * (2 * sizeof(PAIR) + sizeof(KEY)));
	if (!p) {
		s->failed = 1;
		return;
	}
	KEY *key = (KEY *)(p + 2 * n);
	for (int64_t line = from; line < to; line++) {
		char *z = s->z + h5k_place(s->kept, 0, line) * o->size;
		const char *x = s->x + h5k_place(s->kept, 1, line) * o->size;
		int64_t *index = s->index + h5k_place(s->kept, 2, line);
		PAIR *sorted = p;
		KEY_(keys)(o, n, key, (const void *)x, o->step[1]);
		if (o->k <= 64 && o->k < n)
			KEY_(smallest)(n, key, o->k, p);
		else {
			for (int64_t i = 0; i < n; i++)
				p[i] = (PAIR)key[i] << KEY_(BITS) | i;
			sorted = KEY_(radix)(n, p, p + n);
		}
		for (int64_t i = 0; i < o->k; i++) {
			int64_t at = sorted[i] & (KEY)-1;
			index[i * o->step[2]] = at;
			memcpy(z + i * o->step[0] * o->size, x + at * o->step[1] * o->size, o->size);
		}
	}
	free(p);
}
