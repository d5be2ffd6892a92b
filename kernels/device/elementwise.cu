// Every line of ops.h, as a kernel: add_f32 and add_f64; add_half of other floats, computed as
// float; and those that integers have, add_i64 of all but uint64_t, and add_u64.
#include "math.cuh"
#include "types.cuh"

#include "ops.h"

struct Elementwise {
	void *z;
	const void *x, *y;
	double a, b;
	int64_t n, type, size; // of x and y: as types.cuh numbers it, and in bytes
	Grid g;                // of z, x, y
};

FN int64_t FABS(int64_t x) { return x < 0 ? -x : x; }
FN uint64_t FABS(uint64_t x) { return x; }

FN float from(const void *x, int64_t at, int64_t type, float) { return load_half(x, at, type); }
FN int64_t from(const void *x, int64_t at, int64_t type, int64_t) { return (int64_t)load_whole(x, at, type).i; }
FN uint64_t from(const void *x, int64_t at, int64_t, uint64_t) { return ((const uint64_t *)x)[at]; }

FN void to(const Elementwise &a, int64_t at, uint8_t z) { ((uint8_t *)a.z)[at] = z; }
FN void to(const Elementwise &a, int64_t at, float z) { store_half(a.z, at, a.type, z); }
FN void to(const Elementwise &a, int64_t at, uint64_t z) { ((uint64_t *)a.z)[at] = z; }
FN void to(const Elementwise &a, int64_t at, int64_t z) { // of bool, not 0 is 1
	store_whole(a.z, at, a.size, a.type == BOOL ? z != 0 : (uint64_t)z);
}

#define OP(name, result, cost, formula) \
	template <class REAL> FN auto name##_of(REAL x, REAL y, REAL a, REAL b)->result { return formula; } \
	template <class REAL> FN void name##_each(const Elementwise &a) { \
		EACH(i, (uint32_t)a.n) { \
			Places<3> p = places<3>(a.g, i); \
			auto z = name##_of<REAL>(((const REAL *)a.x)[p.at[1]], ((const REAL *)a.y)[p.at[2]], (REAL)a.a, (REAL)a.b); \
			((decltype(z) *)a.z)[p.at[0]] = z; \
		} \
	} \
	KERNEL name##_f32(Elementwise a) { name##_each<float>(a); } \
	KERNEL name##_f64(Elementwise a) { name##_each<double>(a); } \
	template <class REAL> FN void name##_any(const Elementwise &a) { \
		EACH(i, (uint32_t)a.n) { \
			Places<3> p = places<3>(a.g, i); \
			REAL x = from(a.x, p.at[1], a.type, REAL()), y = from(a.y, p.at[2], a.type, REAL()); \
			to(a, p.at[0], name##_of<REAL>(x, y, (REAL)a.a, (REAL)a.b)); \
		} \
	} \
	KERNEL name##_half(Elementwise a) { name##_any<float>(a); }
H5K_OPS(OP)
#undef OP

#define WHOLE(name) \
	KERNEL name##_i64(Elementwise a) { name##_any<int64_t>(a); } \
	KERNEL name##_u64(Elementwise a) { name##_any<uint64_t>(a); }
WHOLE(add)
WHOLE(sub)
WHOLE(mul)
WHOLE(maximum)
WHOLE(minimum)
WHOLE(neg)
WHOLE(abs)
WHOLE(less)
WHOLE(less_equal)
WHOLE(greater)
WHOLE(greater_equal)
WHOLE(equal)
WHOLE(not_equal)
#undef WHOLE
