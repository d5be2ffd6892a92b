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

// The bytes of images as floats: the cast that a training step begins with.
KERNEL cast_bytes(Cast a) {
	EACH(i, (uint32_t)a.n) {
		Places<2> p = places<2>(a.g, i);
		((float *)a.y)[p.at[0]] = (float)((const uint8_t *)a.x)[p.at[1]] * (float)a.a + (float)a.b;
	}
}
