// Copies and casts between arrays whose fastest axes differ, in tiles of 32 by 32 elements through shared memory:
// loaded in the order of x and stored in that of z, four elements at once where they are aligned.
#include "types.cuh"

struct Transpose {
	void *z;
	const void *x;
	int64_t rows, columns; // along the axis in which elements of x are adjacent, and the one in which those of z are
	int64_t z_step, x_step; // from row to row in z, and from column to column in x
	int64_t row_tiles, column_tiles, tiles, pack; // tiles: of all
	Divisor by_row_tiles, by_column_tiles;
	Grid g; // of z, x: all other axes
};

enum { TILE = 32 };

// The word of shared memory for an element.
template <int BYTES> struct Slot {
	typedef uint32_t type;
};
template <> struct Slot<8> {
	typedef uint64_t type;
};
template <int BYTES> struct Bits; // as an integer
template <> struct Bits<1> {
	typedef uint8_t type;
};
template <> struct Bits<2> {
	typedef uint16_t type;
};
template <> struct Bits<4> {
	typedef uint32_t type;
};
template <> struct Bits<8> {
	typedef uint64_t type;
};
template <class T> FN typename Slot<sizeof(T)>::type slot_of(T x) { return __builtin_bit_cast(typename Bits<sizeof(T)>::type, x); }
template <class T, class S> FN T value_of(S x) { return __builtin_bit_cast(T, (typename Bits<sizeof(T)>::type)x); }

template <class TO, class FROM, int W, class F> FN void move_tile(const Transpose &a, TO *z, const FROM *x, uint32_t row, uint32_t column, F f) {
	__shared__ typename Slot<sizeof(TO)>::type tile[TILE][TILE + 1]; // threads of a warp use different banks both ways
	enum { PACKS = TILE / W };
	uint32_t along = threadIdx.x % PACKS * W, across = threadIdx.x / PACKS;
	UNROLL for (uint32_t k = 0; k < TILE; k += 256 / PACKS) {
		uint32_t i = row + along, j = column + across + k;
		if (i < (uint32_t)a.rows && j < (uint32_t)a.columns) {
			Pack<FROM, W> p = adjacent<W, FROM>(x, (int64_t)j * a.x_step + i);
			UNROLL for (int w = 0; w < W; w++) tile[along + w][across + k] = slot_of((TO)f(p.at[w]));
		}
	}
	__syncthreads();
	UNROLL for (uint32_t k = 0; k < TILE; k += 256 / PACKS) {
		uint32_t i = row + across + k, j = column + along;
		if (i < (uint32_t)a.rows && j < (uint32_t)a.columns) {
			Pack<TO, W> p;
			UNROLL for (int w = 0; w < W; w++) p.at[w] = value_of<TO>(tile[across + k][along + w]);
			lay(z + (int64_t)i * a.z_step + j, p);
		}
	}
	__syncthreads();
}

template <class TO, class FROM, class F> FN void transpose(const Transpose &a, F f) {
	for (uint32_t t = blockIdx.x; t < (uint32_t)a.tiles; t += gridDim.x) {
		uint32_t rest = over(t, a.by_row_tiles), row = t - rest * (uint32_t)a.row_tiles;
		uint32_t other = over(rest, a.by_column_tiles), column = rest - other * (uint32_t)a.column_tiles;
		Places<2> p = places<2>(a.g, other);
		TO *z = (TO *)a.z + p.at[0];
		const FROM *x = (const FROM *)a.x + p.at[1];
		if (a.pack)
			move_tile<TO, FROM, 4>(a, z, x, row * TILE, column * TILE, f);
		else
			move_tile<TO, FROM, 1>(a, z, x, row * TILE, column * TILE, f);
	}
}

#define SIZE(size, Word) \
	KERNEL transpose_##size(Transpose a) { \
		transpose<Word, Word>(a, [](Word x) { return x; }); \
	}
SIZE(1, uint8_t)
SIZE(2, uint16_t)
SIZE(4, uint32_t)
SIZE(8, uint64_t)
#undef SIZE

template <class TO, class FROM> FN void recast(const Transpose &a) {
	transpose<TO, FROM>(a, [](FROM x) { return (Calc<FROM>)x; });
}
KERNEL transpose_f32_f16(Transpose a) { recast<Half, float>(a); }
KERNEL transpose_f32_bf16(Transpose a) { recast<BFloat, float>(a); }
KERNEL transpose_f16_f32(Transpose a) { recast<float, Half>(a); }
KERNEL transpose_bf16_f32(Transpose a) { recast<float, BFloat>(a); }
