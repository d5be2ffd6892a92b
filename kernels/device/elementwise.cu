// Every line of ops.h, as a kernel of every float, add_f32; and those that integers have, add_i64
// of all but uint64_t, and add_u64.
#include "math.cuh"

#include "ops.h"

struct Elementwise {
	void *z;
	const void *x, *y;
	double a, b;
	int64_t n, type; // of x and y: as types.cuh numbers it
	Grid g;          // of z, x, y
};

FN int64_t FABS(int64_t x) { return x < 0 ? -x : x; }
FN uint64_t FABS(uint64_t x) { return x; }

// Comparisons answer in bools, all others in the type of their operands.
template <class T> FN void answer(const Elementwise &a, int64_t at, uint8_t z) { ((uint8_t *)a.z)[at] = z; }
template <class T> FN void answer(const Elementwise &a, int64_t at, Calc<T> z) { put<T>(a.z, at, z, a.type); }

#define OP(name, result, cost, formula) \
	template <class REAL> FN auto name##_of(REAL x, REAL y, REAL a, REAL b)->result { return formula; } \
	template <class T> FN void name(const Elementwise &a) { \
		EACH(i, (uint32_t)a.n) { \
			Places<3> p = places<3>(a.g, i); \
			Calc<T> x = get<T>(a.x, p.at[1], a.type), y = get<T>(a.y, p.at[2], a.type); \
			answer<T>(a, p.at[0], name##_of<Calc<T>>(x, y, (Calc<T>)a.a, (Calc<T>)a.b)); \
		} \
	} \
	FLOATS(name, Elementwise)
H5K_OPS(OP)
#undef OP

WHOLES(add, Elementwise)
WHOLES(sub, Elementwise)
WHOLES(mul, Elementwise)
WHOLES(maximum, Elementwise)
WHOLES(minimum, Elementwise)
WHOLES(neg, Elementwise)
WHOLES(abs, Elementwise)
WHOLES(less, Elementwise)
WHOLES(less_equal, Elementwise)
WHOLES(greater, Elementwise)
WHOLES(greater_equal, Elementwise)
WHOLES(equal, Elementwise)
WHOLES(not_equal, Elementwise)
