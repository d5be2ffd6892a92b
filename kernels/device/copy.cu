// Kernels that move elements without looking at them, by their size in bytes.
#include "dialect.cuh"

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

template <class Word> struct Moved {
	int64_t to;
	Word it;
};

#define SIZE(size, word) \
	KERNEL copy_##size(Copy a) { \
		each<2, 4>( \
		    a.g, a.n, [&](Places<2> p) { return Moved<word>{p.at[0], ((const word *)a.x)[p.at[1]]}; }, \
		    [&](Moved<word> m) { ((word *)a.z)[m.to] = m.it; }); \
	} \
	KERNEL fill_##size(Fill a) { \
		EACH(i, (uint32_t)a.n)((word *)a.z)[places<1>(a.g, i).at[0]] = element<word>(a); \
	} \
	KERNEL where_##size(Where a) { \
		EACH(i, (uint32_t)a.n) { \
			Places<4> p = places<4>(a.g, i); \
			((word *)a.z)[p.at[0]] = ((const uint8_t *)a.cond)[p.at[1]] ? ((const word *)a.x)[p.at[2]] : ((const word *)a.y)[p.at[3]]; \
		} \
	}

template <class T> FN T element(const Fill &a) { return (T)a.element[0]; }
template <> __device__ __forceinline__ Pair element<Pair>(const Fill &a) { return {a.element[0], a.element[1]}; }

SIZE(1, uint8_t)
SIZE(2, uint16_t)
SIZE(4, uint32_t)
SIZE(8, uint64_t)
SIZE(16, Pair)
#undef SIZE
