// Every line of ops.h that takes floats as a kernel of every float, such as add_f32; those of ANY type, and of INTEGERS, as kernels of
// integers, add_i64 of all but uint64_t and add_u64.
#include "math.cuh"

#include "ops.h"

struct Elementwise {
	void *z;
	const void *x, *y, *w; // w only with three inputs
	double a, b;
	int64_t n, type; // of the inputs: as types.cuh numbers it
	Grid g;          // of z, x, y and w
};

[[maybe_unused]] FN int64_t FABS(int64_t x) { return x < 0 ? -x : x; }
[[maybe_unused]] FN uint64_t FABS(uint64_t x) { return x; }

// Comparisons have results of bools, all others of the type of their operands.
template <class T, int W> FN void answer(const Elementwise &a, int64_t at, Pack<uint8_t, W> z) { lay((uint8_t *)a.z + at, z); }
template <class T, int W> FN void answer(const Elementwise &a, int64_t at, Pack<Calc<T>, W> z) { Packs<T>::template store<W>(a.z, at, z, a.type); }

template <class T, int W> struct Operands {
	int64_t z; // the place of the result
	Pack<typename Packs<T>::held, W> x, y;
};
template <class T, int W> struct Operands3 : Operands<T, W> {
	Pack<typename Packs<T>::held, W> w;
};

template <class T, int WIDE, bool LONG, class F> FN void elementwise(const Elementwise &a, F f) {
	auto take = [&](auto pack, Places<3> p) {
		enum { W = decltype(pack)::count };
		return Operands<T, W>{p.at[0], Packs<T>::template load<W>(a.g, 1, a.x, p.at[1], a.type), Packs<T>::template load<W>(a.g, 2, a.y, p.at[2], a.type)};
	};
	auto give = [&](auto pack, auto o) {
		enum { W = decltype(pack)::count };
		Pack<decltype(f(Calc<T>(), Calc<T>(), Calc<T>())), W> z;
		UNROLL for (int k = 0; k < W; k++) z.at[k] = f((Calc<T>)o.x.at[k], (Calc<T>)o.y.at[k], (Calc<T>)o.x.at[k]);
		answer<T, W>(a, o.z, z);
	};
	each<3, WIDE, Packs<T>::ahead, LONG>(a.g, a.n, take, give);
}

template <class T, int WIDE, bool LONG, class F> FN void elementwise3(const Elementwise &a, F f) {
	auto take = [&](auto pack, Places<4> p) {
		enum { W = decltype(pack)::count };
		Operands3<T, W> o;
		o.z = p.at[0];
		o.x = Packs<T>::template load<W>(a.g, 1, a.x, p.at[1], a.type);
		o.y = Packs<T>::template load<W>(a.g, 2, a.y, p.at[2], a.type);
		o.w = Packs<T>::template load<W>(a.g, 3, a.w, p.at[3], a.type);
		return o;
	};
	auto give = [&](auto pack, auto o) {
		enum { W = decltype(pack)::count };
		Pack<Calc<T>, W> z;
		UNROLL for (int k = 0; k < W; k++) z.at[k] = f((Calc<T>)o.x.at[k], (Calc<T>)o.y.at[k], (Calc<T>)o.w.at[k]);
		answer<T, W>(a, o.z, z);
	};
	each<4, WIDE, 1, LONG>(a.g, a.n, take, give);
}

#define ENTRIES_FLOATS(name) FLOATS(name, Elementwise)
#define ENTRIES_INTEGERS(name) WHOLES(name, Elementwise)
#define ENTRIES_ANY(name) FLOATS(name, Elementwise) WHOLES(name, Elementwise)
#define OP(name, types, inputs, result, cost, formula) \
	template <class REAL> FN auto name##_of(REAL x, REAL y, REAL w, REAL a, REAL b)->result { return formula; } \
	template <class T> FN void name(const Elementwise &a) { \
		enum { WIDE = cost > 5 ? 1 : cost == 1 || Packs<T>::wide < 4 ? Packs<T>::wide : 4 }; /* long code is not repeated */ \
		auto f = [&](Calc<T> x, Calc<T> y, Calc<T> w) { return name##_of<Calc<T>>(x, y, w, (Calc<T>)a.a, (Calc<T>)a.b); }; \
		if constexpr (inputs == 3) \
			elementwise3<T, WIDE, cost != 1>(a, f); \
		else \
			elementwise<T, WIDE, cost != 1>(a, f); \
	} \
	ENTRIES_##types(name)
#ifdef ONLY // one line of ops.h
ONLY(OP)
#else
H5K_OPS(OP)
#endif
#undef OP
