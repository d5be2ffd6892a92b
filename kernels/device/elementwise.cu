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
template <class T, int W> FN void answer(const Elementwise &a, int64_t at, Pack<uint8_t, W> z) { lay((uint8_t *)a.z + at, z); }
template <class T, int W> FN void answer(const Elementwise &a, int64_t at, Pack<Calc<T>, W> z) { Packs<T>::template store<W>(a.z, at, z, a.type); }

template <class T, int W> struct Operands {
	int64_t z; // where the result belongs
	Pack<typename Packs<T>::held, W> x, y;
};

template <class T, int WIDE, bool LONG, class F> FN void elementwise(const Elementwise &a, F f) {
	auto take = [&](auto pack, Places<3> p) {
		enum { W = decltype(pack)::count };
		return Operands<T, W>{p.at[0], Packs<T>::template load<W>(a.g, 1, a.x, p.at[1], a.type), Packs<T>::template load<W>(a.g, 2, a.y, p.at[2], a.type)};
	};
	auto give = [&](auto pack, auto o) {
		enum { W = decltype(pack)::count };
		Pack<decltype(f(Calc<T>(), Calc<T>())), W> z;
		UNROLL for (int k = 0; k < W; k++) z.at[k] = f((Calc<T>)o.x.at[k], (Calc<T>)o.y.at[k]);
		answer<T, W>(a, o.z, z);
	};
	each<3, WIDE, Packs<T>::ahead, LONG>(a.g, a.n, take, give);
}

#define OP(name, result, cost, formula) \
	template <class REAL> FN auto name##_of(REAL x, REAL y, REAL a, REAL b)->result { return formula; } \
	template <class T> FN void name(const Elementwise &a) { \
		elementwise<T, cost == 1 || Packs<T>::wide < 4 ? Packs<T>::wide : 4, cost != 1>(a, [&](Calc<T> x, Calc<T> y) { return name##_of<Calc<T>>(x, y, (Calc<T>)a.a, (Calc<T>)a.b); }); \
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
