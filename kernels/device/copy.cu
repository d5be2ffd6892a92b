// Kernels that move elements by their size in bytes, whatever their type.
#include "grid.cuh"

struct alignas(16) Pair {
	uint64_t lo, hi;
};

struct Copy {
	void *z;
	const void *x;
	int64_t n;
	Grid g; // of z, x
};

struct Fill {
	void *z;
	int64_t n;
	uint64_t element[2];
	Grid g; // of z
};

struct Where {
	void *z;
	const void *cond, *x, *y;
	int64_t n;
	Grid g; // of z, cond, x, y
};

template <class T> FN T element(const Fill &a) { return (T)a.element[0]; }
template <> __device__ __forceinline__ Pair element<Pair>(const Fill &a) { return {a.element[0], a.element[1]}; }

// Loaded words and the place to store them.
template <class Word, int W> struct Moved {
	int64_t to;
	Pack<Word, W> it;
};
template <class Word, int W> FN Moved<Word, W> moved(Width<W>, const Copy &a, Places<2> p) { return {p.at[0], pick<W>(a.g, 1, (const Word *)a.x + p.at[1])}; }
template <class Word, int W> FN Pack<Word, W> filled(Width<W>, const Fill &a) {
	Pack<Word, W> z;
	UNROLL for (int k = 0; k < W; k++) z.at[k] = element<Word>(a);
	return z;
}
template <class Word, int W> FN Moved<Word, W> chosen(Width<W>, const Where &a, Places<4> p) {
	Pack<uint8_t, W> cond = pick<W>(a.g, 1, (const uint8_t *)a.cond + p.at[1]);
	Pack<Word, W> x = pick<W>(a.g, 2, (const Word *)a.x + p.at[2]), y = pick<W>(a.g, 3, (const Word *)a.y + p.at[3]), z;
	UNROLL for (int k = 0; k < W; k++) z.at[k] = cond.at[k] ? x.at[k] : y.at[k];
	return {p.at[0], z};
}

#define SIZE(size, Word) \
	KERNEL copy_##size(Copy a) { \
		each<2, 16 / size, 2>( \
		    a.g, a.n, [&](auto pack, Places<2> p) { return moved<Word>(pack, a, p); }, [&](auto, auto m) { lay((Word *)a.z + m.to, m.it); }); \
	} \
	KERNEL fill_##size(Fill a) { \
		each<1, 16 / size, 1>( \
		    a.g, a.n, [&](auto, Places<1> p) { return p.at[0]; }, [&](auto pack, int64_t to) { lay((Word *)a.z + to, filled<Word>(pack, a)); }); \
	} \
	KERNEL where_##size(Where a) { \
		each<4, 16 / size, 1>( \
		    a.g, a.n, [&](auto pack, Places<4> p) { return chosen<Word>(pack, a, p); }, [&](auto, auto m) { lay((Word *)a.z + m.to, m.it); }); \
	}

SIZE(1, uint8_t)
SIZE(2, uint16_t)
SIZE(4, uint32_t)
SIZE(8, uint64_t)
SIZE(16, Pair)
#undef SIZE
