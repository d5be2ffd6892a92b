// y = a·x + b from any type to any other.
#include "types.cuh"

struct Cast {
	void *y;
	const void *x;
	double a, b;
	int64_t n, to, from, identity;
	Grid g; // of y, x
};

KERNEL cast(Cast a) {
	EACH(i, (uint32_t)a.n) {
		Places<2> p = places<2>(a.g, i);
		Wide w = load(a.x, p.at[1], a.from);
		if (!a.identity)
			w = {true, 0, w.f * a.a + a.b};
		store(a.y, p.at[0], a.to, w);
	}
}

// Loaded elements of x and the place of their results.
template <class T, int W> struct Elements {
	int64_t to;
	Pack<T, W> x;
};
template <class T, int W> FN Elements<T, W> elements(Width<W>, const Cast &a, Places<2> p) { return {p.at[0], pick<W>(a.g, 1, (const T *)a.x + p.at[1])}; }

// y = f(x), in packs of 16 bytes of the larger type.
template <class TO, class FROM, class F> FN void each_cast(const Cast &a, F f) {
	auto give = [&](auto pack, auto e) {
		enum { W = decltype(pack)::count };
		Pack<decltype(f(e.x.at[0])), W> y;
		UNROLL for (int k = 0; k < W; k++) y.at[k] = f(e.x.at[k]);
		lay((TO *)a.y + e.to, y);
	};
	enum { SIZE = sizeof(TO) > sizeof(FROM) ? sizeof(TO) : sizeof(FROM) };
	each<2, 16 / SIZE, 2>(a.g, a.n, [&](auto pack, Places<2> p) { return elements<FROM>(pack, a, p); }, give);
}

// uint8 to float, scaled: the first kernel of a training step on images.
template <class T> FN void cast_bytes(const Cast &a) {
	each_cast<T, uint8_t>(a, [&](uint8_t x) { return (Calc<T>)x * (Calc<T>)a.a + (Calc<T>)a.b; });
}
FLOATS(cast_bytes, Cast)

// Between float32 and 16-bit floats, for mixed precision training.
template <class TO, class FROM> FN void recast(const Cast &a) {
	each_cast<TO, FROM>(a, [&](FROM x) { return (Calc<FROM>)x; });
}
KERNEL cast_f32_f16(Cast a) { recast<Half, float>(a); }
KERNEL cast_f32_bf16(Cast a) { recast<BFloat, float>(a); }
KERNEL cast_f16_f32(Cast a) { recast<float, Half>(a); }
KERNEL cast_bf16_f32(Cast a) { recast<float, BFloat>(a); }
