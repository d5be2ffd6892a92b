// Tiled product of two matrices whose elements are addressed by row and column functions, so that the same
// code computes matrix products and convolutions.
//
// A block computes 32·DOWN rows by 32·ACROSS columns, each of its warps 32 by 32. Along k it uses tiles in
// shared memory, 16 words deep. While one tile is multiplied, the next is loaded to registers.
#pragma once
#include "types.cuh"

// The size of a product, and the number of splits of its sum over k.
struct Extent {
	uint32_t m, n, k, splits;
	uint32_t x_order, y_order; // how elements of a (x in Go) and b (y) follow one another in memory, by the bits below
};
enum { DOWN = 1, FOURS = 2 }; // DOWN: elements are adjacent along rows of a or columns of b, not along k; FOURS: in aligned groups of four or more

// The range of k that a split sums.
struct SplitRange {
	uint32_t from, to;
};
FN SplitRange split_range(const Extent &e, uint32_t split) {
	uint32_t chunk = ((e.k + e.splits - 1) / e.splits + 31) & ~31u, from = split * chunk;
	return from >= e.k ? SplitRange{e.k, e.k} : SplitRange{from, e.k - from < chunk ? e.k : from + chunk};
}

// The place of a row or a column. The offset of an element, in bytes, is the sum of the offsets of its row and of its
// column. Matrices test the sums of i and of j to find out whether an element exists; rows and columns beyond the end
// have a large i or j.
struct alignas(16) Place {
	int64_t at;
	uint32_t i, j;
};
enum : uint32_t { BEYOND = 1u << 31 };
template <class T> FN Place in_bytes(Place p) { return {p.at * (int64_t)sizeof(T), p.i, p.j}; }
template <class T> FN const T *element(const void *p, Place row, Place column) { return (const T *)((const char *)p + (row.at + column.at)); }

// The offset of word k of row i of a tile, in bytes: a row has 16 words of S bytes. Groups of 16 bytes are swizzled
// by the row, so that one column of 8 rows, or two whole rows, use all banks. Tiles are aligned to 128 bytes.
template <uint32_t S> FN uint32_t byte_at(uint32_t i, uint32_t k) { return i * 16 * S + (k * S ^ i * S / 8 % S * 16); }
template <class W> struct alignas(16) Chunk {
	W x[16 / sizeof(W)];
};

// Loads and stores in assembly, which the compiler neither splits nor moves.
FN Place load_place(const Place *p) {
	uint64_t at, ij;
	asm volatile("ld.shared.v2.u64 {%0, %1}, [%2];" : "=l"(at), "=l"(ij) : "r"(SHARED(p)) : "memory");
	return {(int64_t)at, (uint32_t)ij, (uint32_t)(ij >> 32)};
}
#define IF(there, load) "{.reg .pred %%there; setp.ne.u32 %%there, " there ", 0; @%%there " load ";}"
FN void load_half_if(bool there, const void *p, uint32_t &x) { asm volatile(IF("%2", "ld.global.u16 %0, [%1]") : "+r"(x) : "l"(p), "r"((int)there)); }
FN void load_if(bool there, const void *p, uint32_t &x) { asm volatile(IF("%2", "ld.global.u32 %0, [%1]") : "+r"(x) : "l"(p), "r"((int)there)); }
FN void load_if(bool there, const void *p, uint64_t &x) { asm volatile(IF("%2", "ld.global.u64 %0, [%1]") : "+l"(x) : "l"(p), "r"((int)there)); }
FN void load_four_halves_if(bool there, const void *p, uint32_t *x) {
	asm volatile(IF("%5", "ld.global.v4.u16 {%0, %1, %2, %3}, [%4]") : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]) : "l"(p), "r"((int)there));
}
FN void load_four_if(bool there, const void *p, uint32_t *x) {
	asm volatile(IF("%5", "ld.global.v4.u32 {%0, %1, %2, %3}, [%4]") : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]) : "l"(p), "r"((int)there));
}
FN void load_two_if(bool there, const void *p, uint64_t *x) {
	asm volatile(IF("%3", "ld.global.v2.u64 {%0, %1}, [%2]") : "+l"(x[0]), "+l"(x[1]) : "l"(p), "r"((int)there));
}
FN void load_four_if(bool there, const void *p, uint64_t *x) {
	load_two_if(there, p, x);
	load_two_if(there, (const char *)p + 16, x + 2);
}
#undef IF
FN void store_16(void *p, const uint32_t *x) {
	asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(SHARED(p)), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) : "memory");
}
FN void store_16(void *p, const uint64_t *x) { asm volatile("st.shared.v2.u64 [%0], {%1, %2};" ::"r"(SHARED(p)), "l"(x[0]), "l"(x[1]) : "memory"); }

// Float32 whose factors may be rounded to TF32, as tensor cores multiply it.
struct TF32 {
	float x;
	TF32() = default;
	__device__ __forceinline__ TF32(float x) : x(x) {}
	__device__ __forceinline__ operator float() const { return x; }
};
template <> struct Widths<TF32> : Widths<float> {};

// An element in a register, and the conversion of its bits to a word of a tile.
template <class T> struct Carried { // of halves
	typedef uint32_t Bits;
	FN void load(bool there, const void *p, Bits &x) { load_half_if(there, p, x); }
	FN void load_four(bool there, const void *p, Bits *x) { load_four_halves_if(there, p, x); }
	FN Bits word(Bits x) { return bits((float)__builtin_bit_cast(T, (uint16_t)x)); }
};
template <class UINT> struct CarriedWhole {
	typedef UINT Bits;
	FN void load(bool there, const void *p, Bits &x) { load_if(there, p, x); }
	FN void load_four(bool there, const void *p, Bits *x) { load_four_if(there, p, x); }
	FN Bits word(Bits x) { return x; }
};
template <> struct Carried<float> : CarriedWhole<uint32_t> {};
template <> struct Carried<double> : CarriedWhole<uint64_t> {};
template <> struct Carried<TF32> : CarriedWhole<uint32_t> {
#if __CUDA_ARCH__ >= 800
	FN Bits word(Bits x) {
		Bits rounded;
		asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "r"(x));
		return rounded;
	}
#endif
};

// Four words loaded from memory, of one element each.
template <class T> struct HeldSingles {
	typedef typename Carried<T>::Bits Word;
	enum { EACH = 1 };
	Word x[4];
	__device__ __forceinline__ void clear() { UNROLL for (int e = 0; e < 4; e++) x[e] = 0; }
	template <class M> __device__ __forceinline__ void four(const M &m, Place row, Place first, Place, bool) {
		Carried<T>::load_four(m.holds(row, first), m.find(row, first), x);
	}
	template <class M> __device__ __forceinline__ void one(int e, const M &m, Place row, Place first, Place) {
		Carried<T>::load(m.holds(row, first), m.find(row, first), x[e]);
	}
	__device__ __forceinline__ Word at(int e) const { return Carried<T>::word(x[e]); }
};
template <class T> struct Held : HeldSingles<T> {};

// The sums of a warp, 8 by 4 of each thread, which loads words by 16 bytes.
template <class T> struct WarpSums {
	typedef Calc<T> REAL;
	enum { S = sizeof(REAL), WORDS = 16 / S, ROWS = 8, COLUMNS = 4 };
	REAL sum[ROWS][COLUMNS];
	uint32_t a, b; // the first word in tiles of both
	__device__ __forceinline__ static uint32_t row(int r) { return r / 2 * 8 + threadIdx.x % 32 / 8 * 2 + r % 2; }
	__device__ __forceinline__ static uint32_t column(int c) { return 8 * c + threadIdx.x % 8; }
	__device__ __forceinline__ REAL &at(int r, int c) { return sum[r][c]; }
	__device__ __forceinline__ WarpSums(uint32_t top, uint32_t left) : a(byte_at<S>(top + row(0), 0)), b(byte_at<S>(left + column(0), 0)) {}
	__device__ __forceinline__ void add(const char *as, const char *bs) {
		_Pragma("unroll 1") for (uint32_t k = 0; k < 16 * S; k += 16) {
			Chunk<REAL> y[COLUMNS];
			UNROLL for (int c = 0; c < COLUMNS; c++) y[c] = *(const Chunk<REAL> *)(bs + (b ^ k) + c * 128 * S);
			UNROLL for (int r = 0; r < ROWS; r++) {
				Chunk<REAL> x = *(const Chunk<REAL> *)(as + (a ^ k ^ r % 2 * S / 8 * 16) + (r / 2 * 8 + r % 2) * 16 * S);
				UNROLL for (int i = 0; i < WORDS; i++) UNROLL for (int c = 0; c < COLUMNS; c++) sum[r][c] = fma(x.x[i], y[c].x[i], sum[r][c]);
			}
		}
	}
};

#if __CUDA_ARCH__ >= 800
// The same of halves, two in a word, which are neighbours along k.
template <class T> struct HeldPairs {
	typedef uint32_t Word;
	enum { EACH = 2 };
	uint32_t lo[4], hi[4];
	__device__ __forceinline__ void clear() { UNROLL for (int e = 0; e < 4; e++) lo[e] = hi[e] = 0; }
	template <class M> __device__ __forceinline__ void four(const M &m, Place row, Place first, Place second, bool down) {
		if (!down) { // whole words
			load_four_if(m.holds(row, first), m.find(row, first), lo);
			return;
		}
		load_four_halves_if(m.holds(row, first), m.find(row, first), lo);
		load_four_halves_if(m.holds(row, second), m.find(row, second), hi);
	}
	template <class M> __device__ __forceinline__ void one(int e, const M &m, Place row, Place first, Place second) {
		load_half_if(m.holds(row, first), m.find(row, first), lo[e]);
		load_half_if(m.holds(row, second), m.find(row, second), hi[e]);
	}
	__device__ __forceinline__ uint32_t at(int e) const { return hi[e] << 16 | lo[e]; }
};
template <> struct Held<Half> : HeldPairs<Half> {};
template <> struct Held<BFloat> : HeldPairs<BFloat> {};

// Tensor cores multiply 16 rows by 8 columns, 8 words deep. Lane 4g + t holds, of a, rows g and g + 8 at words t
// and t + 4; of b, columns g at these; of the sum, rows g and g + 8 at columns 2t and 2t + 1 (PTX ISA, "Matrix Fragments
// for mma.m16n8k16" and "mma.m16n8k8", which are one when halves are counted in words).
#define MULTIPLY_ADD(T, shape, type) \
	FN void multiply_add(float *c, const uint32_t *a, const uint32_t *b, T) { \
		asm("mma.sync.aligned." shape ".row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
		    : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) \
		    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
	}
MULTIPLY_ADD(Half, "m16n8k16", "f16")
MULTIPLY_ADD(BFloat, "m16n8k16", "bf16")
MULTIPLY_ADD(TF32, "m16n8k8", "tf32")
#undef MULTIPLY_ADD

// Loads four matrices of 8 rows of 4 words; this lane says where row lane % 8 of matrix lane / 8 is, and
// gets word lane % 4 of row lane / 4 of each (PTX ISA, "ldmatrix").
FN void load_matrices(uint32_t *to, const char *row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
	             : "r"(SHARED(row))
	             : "memory");
}

// The sums of a warp by tensor cores: 2 by 4 of their products.
template <class T> struct TensorSums {
	enum { S = 4, ROWS = 4, COLUMNS = 8 };
	float sum[2][4][4];
	uint32_t a, b; // the first words of which this lane tells
	__device__ __forceinline__ static uint32_t row(int r) { return 8 * r + threadIdx.x % 32 / 4; }
	__device__ __forceinline__ static uint32_t column(int c) { return c / 2 * 8 + threadIdx.x % 4 * 2 + c % 2; }
	__device__ __forceinline__ float &at(int r, int c) { return sum[r / 2][c / 2][r % 2 * 2 + c % 2]; }
	__device__ __forceinline__ TensorSums(uint32_t top, uint32_t left) {
		uint32_t lane = threadIdx.x % 32;
		a = byte_at<S>(top + lane % 16, lane / 16 * 4), b = byte_at<S>(left + lane / 16 * 8 + lane % 8, lane / 8 % 2 * 4);
	}
	__device__ __forceinline__ void add(const char *as, const char *bs) {
		UNROLL for (uint32_t k = 0; k < 16 * S; k += 8 * S) {
			uint32_t x[2][4], y[2][4];
			UNROLL for (int h = 0; h < 2; h++) load_matrices(x[h], as + (a ^ k) + h * 256 * S), load_matrices(y[h], bs + (b ^ k) + h * 256 * S);
			UNROLL for (int h = 0; h < 2; h++) UNROLL for (int w = 0; w < 4; w++) multiply_add(sum[h][w], x[h], y[w / 2] + w % 2 * 2, T());
		}
	}
};
template <> struct WarpSums<TF32> : TensorSums<TF32> {
	using TensorSums::TensorSums;
};
template <> struct WarpSums<Half> : TensorSums<Half> {
	using TensorSums::TensorSums;
};
template <> struct WarpSums<BFloat> : TensorSums<BFloat> {
	using TensorSums::TensorSums;
};
#endif

// The part of a tile that a thread loads: groups of four words, 32 rows apart.
template <class T, int ROWS> struct Panel {
	typedef Held<T> H;
	typedef typename H::Word Word;
	enum { S = sizeof(Word), FOURS_ = ROWS / 32 };
	H held[FOURS_];
	bool fours, down;
	uint32_t i, k, at; // the first word
	__device__ __forceinline__ Panel(uint32_t order) : fours(order & FOURS), down(order & DOWN) {
		uint32_t t = threadIdx.x;
		if (fours) // 8 rows by 16 words are a warp's
			i = down ? t / 32 * 8 + t % 2 * 4 : t / 4, k = down ? t / 2 % 16 : t % 4 * 4;
		else // 8 rows by 4 words at once, or 2 by 16; the other words of a four are 8 rows apart
			i = down ? t % 8 : t / 16, k = down ? t / 8 : t % 16;
		at = byte_at<S>(i, k);
	}
	template <class M> __device__ __forceinline__ void fetch(const M &m, const Place *rows, const Place *columns) {
		Place first = load_place(columns + k * H::EACH), second = H::EACH > 1 ? load_place(columns + k * H::EACH + 1) : first;
		UNROLL for (int q = 0; q < FOURS_; q++) held[q].clear();
		if (fours)
			UNROLL for (int q = 0; q < FOURS_; q++) held[q].four(m, load_place(rows + 32 * q + i), first, second, down);
		else
			UNROLL for (int q = 0; q < FOURS_; q++) UNROLL for (int e = 0; e < 4; e++) held[q].one(e, m, load_place(rows + 32 * q + i + 8 * e), first, second);
	}
	__device__ __forceinline__ void stash(char *tile) const {
		Word x[FOURS_][4];
		UNROLL for (int q = 0; q < FOURS_; q++) UNROLL for (int e = 0; e < 4; e++) x[q][e] = held[q].at(e);
		char *first = tile + at;
		if (!fours)
			UNROLL for (int q = 0; q < FOURS_; q++) UNROLL for (int e = 0; e < 4; e++) *(Word *)(first + (32 * q + 8 * e) * 16 * S) = x[q][e];
		else if (down)
			UNROLL for (int q = 0; q < FOURS_; q++) UNROLL for (int e = 0; e < 4; e++) *(Word *)(tile + (at ^ e * S / 8 * 16) + (32 * q + e) * 16 * S) = x[q][e];
		else
			UNROLL for (int q = 0; q < FOURS_; q++) UNROLL for (int c = 0; c < S / 4; c++) store_16(tile + (at ^ c * 16) + 32 * q * 16 * S, x[q] + c * 16 / S);
	}
};

// The destination of a split's sums: part[i][j].
template <class REAL> struct Part {
	REAL *p;
	uint32_t n;
	__device__ __forceinline__ uint64_t row(uint32_t i) const { return (uint64_t)i * n; }
	__device__ __forceinline__ uint32_t column(uint32_t j) const { return j; }
	__device__ __forceinline__ void put(uint64_t row, uint32_t column, REAL sum) const { p[row + column] = sum; }
	enum { ACTIVATES = 0 };
};

// Passes a warp's sums to c. An activation is applied afterwards, to the elements that each thread has just stored:
// in the unrolled loop over sums, its code would be repeated 32 times.
template <class S, class C> FN void finish(const Extent &e, uint32_t top, uint32_t left, S &sums, const C &c) {
	decltype(c.column(0)) columns[S::COLUMNS];
	UNROLL for (int s = 0; s < S::COLUMNS; s++) columns[s] = c.column(left + sums.column(s) < e.n ? left + sums.column(s) : 0);
	UNROLL for (int r = 0; r < S::ROWS; r++) {
		if (top + sums.row(r) >= e.m)
			continue;
		auto row = c.row(top + sums.row(r));
		UNROLL for (int s = 0; s < S::COLUMNS; s++) {
			if (left + sums.column(s) < e.n)
				c.put(row, columns[s], sums.at(r, s));
		}
	}
	if constexpr (C::ACTIVATES) {
		if (!c.activates())
			return;
		_Pragma("unroll 1") for (int r = 0; r < S::ROWS; r++) {
			uint32_t i = top + S::row(r);
			_Pragma("unroll 1") for (int s = 0; s < S::COLUMNS; s++) {
				uint32_t j = left + S::column(s);
				if (i < e.m && j < e.n)
					c.activate(i, j);
			}
		}
	}
}

// c(row i, column j, Σ a(i, k)·b(j, k)) for a tile.
template <int DOWN_, int ACROSS, class T, class A, class B, class C>
FN void multiply(const Extent &e, uint32_t split, void *part, A a, B b, C c) {
	enum { ROWS = 32 * DOWN_, COLS = 32 * ACROSS, DEEP = 16 * Held<T>::EACH };
	enum { S = WarpSums<T>::S };
	alignas(128) __shared__ char as[2][ROWS * 16 * S], bs[2][COLS * 16 * S];
	__shared__ Place rows[ROWS], columns[COLS], deep[2][2][DEEP];
	uint32_t t = threadIdx.x, row = blockIdx.x * ROWS, col = blockIdx.y * COLS, top = t / 32 % DOWN_ * 32, left = t / 32 / DOWN_ * 32;
	SplitRange along = split_range(e, split);
	auto reach = [&](uint32_t from, Place (&to)[2][DEEP]) { // where columns are from there on
		uint32_t k = from + t % 32;
		if (t < DEEP)
			to[0][t] = k < along.to ? in_bytes<T>(a.deep(k)) : Place{0, 0, BEYOND};
		if (t - 32 < DEEP)
			to[1][t - 32] = k < along.to ? in_bytes<T>(b.deep(k)) : Place{0, 0, BEYOND};
	};
	if (t < ROWS)
		rows[t] = row + t < e.m ? in_bytes<T>(a.row(row + t)) : Place{0, BEYOND, 0};
	if (t < COLS)
		columns[t] = col + t < e.n ? in_bytes<T>(b.row(col + t)) : Place{0, BEYOND, 0};
	reach(along.from, deep[0]);
	__syncthreads();
	Panel<T, ROWS> left_panel(e.x_order);
	Panel<T, COLS> right_panel(e.y_order);
	WarpSums<T> sums(top, left);
	UNROLL for (int r = 0; r < sums.ROWS; r++) UNROLL for (int s = 0; s < sums.COLUMNS; s++) sums.at(r, s) = 0;
	uint32_t tiles = (along.to - along.from + DEEP - 1) / DEEP;
	for (uint32_t step = 0; step <= tiles; step++) {
		uint32_t now = step % 2;
		if (step < tiles) {
			left_panel.fetch(a, rows, deep[now][0]);
			right_panel.fetch(b, columns, deep[now][1]);
		}
		if (step > 0 && row + top < e.m && col + left < e.n)
			sums.add(as[1 - now], bs[1 - now]);
		if (step < tiles) {
			left_panel.stash(as[now]);
			right_panel.stash(bs[now]);
			reach(along.from + (step + 1) * DEEP, deep[1 - now]);
		}
		__syncthreads();
	}
	if (e.splits > 1)
		finish(e, row + top, col + left, sums, Part<Calc<T>>{(Calc<T> *)part + (uint64_t)split * e.m * e.n, e.n});
	else
		finish(e, row + top, col + left, sums, c);
}

// Adds the sums of all splits.
template <class T, class C> FN void add_splits(const Extent &e, const void *part, C c) {
	uint64_t all = (uint64_t)e.m * e.n;
	EACH(i, e.m * e.n) {
		const Calc<T> *p = (const Calc<T> *)part + i;
		Calc<T> sum = 0;
		_Pragma("unroll 8") for (uint32_t s = 0; s < e.splits; s++) sum += p[s * all];
		c.put(c.row(i / e.n), c.column(i % e.n), sum);
		if constexpr (C::ACTIVATES) {
			if (c.activates())
				c.activate(i / e.n, i % e.n);
		}
	}
}

// A kernel of every type of float, of 2 × 2 warps; several blocks fit on a multiprocessor.
#define TILES(blocks) extern "C" __global__ void __launch_bounds__(128, blocks)
#define PRODUCTS(name, Args) \
	TILES(3) name##_f32(Args a) { name<float>(a); } \
	TILES(3) name##_tf32(Args a) { name<TF32>(a); } \
	TILES(2) name##_f64(Args a) { name<double>(a); } \
	TILES(3) name##_f16(Args a) { name<Half>(a); } \
	TILES(3) name##_bf16(Args a) { name<BFloat>(a); }
