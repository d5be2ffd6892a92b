// Elements of any type: loaded into the widest type of their kind, and stored from it, as
// dtype.Convert does.
#pragma once
#include "grid.cuh"

// The types, as package dtype numbers them.
enum { BOOL = 1, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64 };

FN float half_value(uint16_t h) {
	float r;
	asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h));
	return r;
}
FN uint16_t half(float x) {
	uint16_t r;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
	return r;
}
FN float bfloat_value(uint16_t h) { return real((uint32_t)h << 16); }
FN uint16_t bfloat(float x) {
	uint32_t u = bits(x);
	return x != x ? 0x7fc0 : (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

// Rounds x to odd: the last bit is set if the result is inexact, so that rounding it again, to fewer bits,
// equals rounding x.
FN float odd(double x) {
	float y = (float)x;
	uint32_t u = bits(y);
	if ((double)y == x || x != x || (u & 0x7fffffffu) == 0x7f800000u)
		return y;
	if (((double)y > x) == (x > 0))
		u--;
	return real(u | 1);
}

// An element in the widest type of its kind.
struct Wide {
	bool real;
	uint64_t i; // the bits of an int64_t if the type is signed
	double f;
};

FN Wide whole(uint64_t x) { return {false, x, (double)x}; }
FN Wide whole(int64_t x) { return {false, (uint64_t)x, (double)x}; }
FN Wide load_whole(const void *x, int64_t at, int64_t type) {
	switch (type) {
	case BOOL: return whole((uint64_t)(((const uint8_t *)x)[at] != 0));
	case U8: return whole((uint64_t)((const uint8_t *)x)[at]);
	case U16: return whole((uint64_t)((const uint16_t *)x)[at]);
	case U32: return whole((uint64_t)((const uint32_t *)x)[at]);
	case U64: return whole(((const uint64_t *)x)[at]);
	case I8: return whole((int64_t)((const int8_t *)x)[at]);
	case I16: return whole((int64_t)((const int16_t *)x)[at]);
	case I32: return whole((int64_t)((const int32_t *)x)[at]);
	default: return whole(((const int64_t *)x)[at]);
	}
}
FN Wide load(const void *x, int64_t at, int64_t type) {
	switch (type) {
	case F16: return {true, 0, half_value(((const uint16_t *)x)[at])};
	case BF16: return {true, 0, bfloat_value(((const uint16_t *)x)[at])};
	case F32: return {true, 0, ((const float *)x)[at]};
	case F64: return {true, 0, ((const double *)x)[at]};
	}
	return load_whole(x, at, type);
}

// Truncates as a conversion to int32_t or int64_t does; values out of range become its minimum.
FN int32_t cut32(double x) { return x > -2147483648. && x < 2147483648. ? (int32_t)x : (int32_t)0x80000000; }
FN uint64_t cut64(double x) { return x > -9223372036854775808. && x < 9223372036854775808. ? (uint64_t)(int64_t)x : 1ull << 63; }
FN uint64_t cut_unsigned(double x) { return x >= 18446744073709551616. ? 0 : x >= 9223372036854775808. ? (uint64_t)x : cut64(x); }

FN void store(void *y, int64_t at, int64_t type, Wide w) {
	switch (type) {
	case BOOL: ((uint8_t *)y)[at] = w.real ? w.f != 0 : w.i != 0; return;
	case U8: case I8: ((uint8_t *)y)[at] = (uint8_t)(w.real ? cut32(w.f) : w.i); return;
	case U16: case I16: ((uint16_t *)y)[at] = (uint16_t)(w.real ? cut32(w.f) : w.i); return;
	case I32: ((uint32_t *)y)[at] = (uint32_t)(w.real ? cut32(w.f) : w.i); return;
	case U32: ((uint32_t *)y)[at] = (uint32_t)(w.real ? cut64(w.f) : w.i); return;
	case I64: ((uint64_t *)y)[at] = w.real ? cut64(w.f) : w.i; return;
	case U64: ((uint64_t *)y)[at] = w.real ? cut_unsigned(w.f) : w.i; return;
	case F16: ((uint16_t *)y)[at] = half(odd(w.f)); return;
	case BF16: ((uint16_t *)y)[at] = bfloat(odd(w.f)); return;
	case F32: ((float *)y)[at] = (float)w.f; return;
	default: ((double *)y)[at] = w.f;
	}
}

// Floats of 16 bits, computed as float and rounded once when they are stored.
template <float VALUE(uint16_t), uint16_t ROUND(float)> struct Narrow {
	uint16_t b;
	Narrow() = default;
	__device__ __forceinline__ Narrow(float x) : b(ROUND(x)) {}
	__device__ __forceinline__ Narrow(double x) : b(ROUND(odd(x))) {}
	__device__ __forceinline__ operator float() const { return VALUE(b); }
};
typedef Narrow<half_value, half> Half;
typedef Narrow<bfloat_value, bfloat> BFloat;

// Bools: bytes, true if not 0.
struct Truth {
	uint8_t b;
	Truth() = default;
	__device__ __forceinline__ Truth(int64_t x) : b(x != 0) {}
	__device__ __forceinline__ operator int64_t() const { return b != 0; }
};

// Integers and bools of any type but uint64_t, computed as int64_t; the launch gives the type.
struct Whole {};

// The type that elements of type T are computed in, and the type of long sums.
template <class T> struct Widths {
	typedef T calc, sum;
};
template <> struct Widths<float> {
	typedef float calc;
	typedef double sum;
};
template <> struct Widths<Half> {
	typedef float calc, sum;
};
template <> struct Widths<BFloat> {
	typedef float calc, sum;
};
template <> struct Widths<Whole> {
	typedef int64_t calc, sum;
};
template <class T> using Calc = typename Widths<T>::calc;
template <class T> using Total = typename Widths<T>::sum;

// Element at of an array; type matters only if T is Whole.
template <class T> FN Calc<T> get(const void *p, int64_t at, int64_t = 0) { return (Calc<T>)((const T *)p)[at]; }
template <> __device__ __forceinline__ int64_t get<Whole>(const void *p, int64_t at, int64_t type) { return (int64_t)load_whole(p, at, type).i; }
template <class T, class V> FN void put(void *p, int64_t at, V v, int64_t = 0) { ((T *)p)[at] = (T)v; }
template <> __device__ __forceinline__ void put<Whole>(void *p, int64_t at, int64_t v, int64_t type) { store(p, at, type, {false, (uint64_t)v, 0}); }

// Packs of elements of type T: the type held in registers, the elements of a pack, the packs loaded ahead,
// the columns of a thread in a reduction, and how packs are loaded from operand k of a grid, and stored.
template <class T> struct Packs {
	typedef T held;
	enum { wide = 16 / sizeof(T), ahead = 2, across = wide };
	template <int W> static __device__ __forceinline__ Pack<T, W> load(const Grid &g, int k, const void *p, int64_t at, int64_t) {
		return pick<W>(g, k, (const T *)p + at);
	}
	template <int W> static __device__ __forceinline__ void store(void *p, int64_t at, Pack<Calc<T>, W> v, int64_t) { lay((T *)p + at, v); }
};

template <int W, class I> FN Pack<int64_t, W> widened(const Grid &g, int k, const I *x) {
	Pack<I, W> narrow = pick<W>(g, k, x);
	Pack<int64_t, W> wide;
	UNROLL for (int i = 0; i < W; i++) wide.at[i] = (int64_t)narrow.at[i];
	return wide;
}
template <> struct Packs<Whole> {
	typedef int64_t held;
	enum { wide = 4, ahead = 1, across = 1 }; // the switch over types is long
	template <int W> static __device__ __forceinline__ Pack<int64_t, W> load(const Grid &g, int k, const void *p, int64_t at, int64_t type) {
		switch (type) {
		case BOOL: return widened<W>(g, k, (const Truth *)p + at);
		case U8: return widened<W>(g, k, (const uint8_t *)p + at);
		case U16: return widened<W>(g, k, (const uint16_t *)p + at);
		case U32: return widened<W>(g, k, (const uint32_t *)p + at);
		case I8: return widened<W>(g, k, (const int8_t *)p + at);
		case I16: return widened<W>(g, k, (const int16_t *)p + at);
		case I32: return widened<W>(g, k, (const int32_t *)p + at);
		default: return widened<W>(g, k, (const int64_t *)p + at);
		}
	}
	template <int W> static __device__ __forceinline__ void store(void *p, int64_t at, Pack<int64_t, W> v, int64_t type) {
		switch (type) {
		case BOOL: lay((Truth *)p + at, v); return;
		case U8: case I8: lay((uint8_t *)p + at, v); return;
		case U16: case I16: lay((uint16_t *)p + at, v); return;
		case U32: case I32: lay((uint32_t *)p + at, v); return;
		default: lay((int64_t *)p + at, v);
		}
	}
};

// A kernel of every type of float: FLOATS(softmax, Lines) makes softmax_f32, softmax_f64,
// softmax_f16 and softmax_bf16 of template softmax<T>.
#define FLOATS(name, Args) \
	KERNEL name##_f32(Args a) { name<float>(a); } \
	KERNEL name##_f64(Args a) { name<double>(a); } \
	KERNEL name##_f16(Args a) { name<Half>(a); } \
	KERNEL name##_bf16(Args a) { name<BFloat>(a); }

// A kernel of every integer type.
#define WHOLES(name, Args) \
	KERNEL name##_i64(Args a) { name<Whole>(a); } \
	KERNEL name##_u64(Args a) { name<uint64_t>(a); }
