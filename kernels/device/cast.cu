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

// An element of x, and where it belongs.
template <class T> struct Element {
	int64_t to;
	T x;
};
template <class T> FN Element<T> element(const Cast &a, Places<2> p) { return {p.at[0], ((const T *)a.x)[p.at[1]]}; }

// The bytes of images as floats: the cast that a training step begins with.
template <class T> FN void cast_bytes(const Cast &a) {
	each<2, 4>(
	    a.g, a.n, [&](Places<2> p) { return element<uint8_t>(a, p); }, [&](Element<uint8_t> e) { put<T>(a.y, e.to, (Calc<T>)e.x * (Calc<T>)a.a + (Calc<T>)a.b); });
}
FLOATS(cast_bytes, Cast)

// Between float32 and halves: the casts that training in mixed precision is full of.
template <class TO, class FROM> FN void recast(const Cast &a) {
	each<2, 4>(
	    a.g, a.n, [&](Places<2> p) { return element<FROM>(a, p); }, [&](Element<FROM> e) { put<TO>(a.y, e.to, (Calc<FROM>)e.x); });
}
KERNEL cast_f32_f16(Cast a) { recast<Half, float>(a); }
KERNEL cast_f32_bf16(Cast a) { recast<BFloat, float>(a); }
KERNEL cast_f16_f32(Cast a) { recast<float, Half>(a); }
KERNEL cast_bf16_f32(Cast a) { recast<float, BFloat>(a); }
