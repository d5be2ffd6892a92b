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

template <class T> struct Operands {
	int64_t z; // where the result belongs
	Calc<T> x, y;
};

template <class T> FN Operands<T> operands(const Elementwise &a, Places<3> p) {
	return {p.at[0], get<T>(a.x, p.at[1], a.type), get<T>(a.y, p.at[2], a.type)};
}

// What is cheap waits for memory, and loads ahead; the rest would be long code four times.
#define OP(name, result, cost, formula) \
	template <class REAL> FN auto name##_of(REAL x, REAL y, REAL a, REAL b)->result { return formula; } \
	template <class T> FN void name(const Elementwise &a) { \
		auto take = [&](Places<3> p) { return operands<T>(a, p); }; \
		auto give = [&](Operands<T> o) { answer<T>(a, o.z, name##_of<Calc<T>>(o.x, o.y, (Calc<T>)a.a, (Calc<T>)a.b)); }; \
		each<3, cost == 1 ? Ahead<T>::count : 1>(a.g, a.n, take, give); \
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
