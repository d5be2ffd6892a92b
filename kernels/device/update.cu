// The optimizers' updates: formulas in sgd.go and adam.go.
#include "math.cuh"

// What is own, or in the dials. In C++ it would be a choice of addresses, and own be moved to memory.
FN double dial(const double *dials, int i, double own) {
	if (dials)
		asm volatile("ld.global.f64 %0, [%1];" : "=d"(own) : "l"(__builtin_bit_cast(uint64_t, dials + i)));
	return own;
}
// What a guard says of a gradient; without one it is as it should be.
FN bool bad(const float *guard) { return guard && guard[2] != 0; }
FN float scale(const float *guard) { return guard ? guard[0] : 1; }

struct SGD {
	void *p, *v; // v is p where there is no momentum
	const void *g;
	const double *dials; // in the place of rate, if they are there: see steer.go
	const float *guard;
	double rate, momentum, decay;
	int64_t nesterov, velocity, n; // velocity: whether there is a v
	Grid grid;                     // of p, v, g
};

template <class T> FN void sgd(const SGD &a) {
	if (bad(a.guard))
		return;
	typedef Calc<T> REAL;
	REAL unscale = (REAL)1 / scale(a.guard);
	REAL rate = (REAL)dial(a.dials, 0, a.rate), momentum = (REAL)a.momentum, decay = (REAL)a.decay;
	EACH(i, (uint32_t)a.n) {
		Places<3> at = places<3>(a.grid, i);
		REAL p = get<T>(a.p, at.at[0]), d = unscale * get<T>(a.g, at.at[2]) + decay * p;
		if (a.velocity) {
			REAL w = momentum * get<T>(a.v, at.at[1]) + d;
			put<T>(a.v, at.at[1], w);
			d = a.nesterov ? d + momentum * w : w;
		}
		put<T>(a.p, at.at[0], p - rate * d);
	}
}
FLOATS(sgd, SGD)

struct Adam {
	void *p, *m, *v;
	const void *g;
	const double *dials; // in the place of rate, keep and scale, if they are there
	const float *guard;
	double beta1, beta2, eps, coupled, keep, rate, scale;
	int64_t n;
	Grid grid; // of p, m, v, g
};

template <class T> FN void adam(const Adam &a) {
	if (bad(a.guard))
		return;
	typedef Calc<T> REAL;
	REAL unscale = (REAL)1 / scale(a.guard);
	REAL rate = (REAL)dial(a.dials, 0, a.rate), keep = (REAL)dial(a.dials, 1, a.keep), root = (REAL)dial(a.dials, 2, a.scale);
	REAL beta1 = (REAL)a.beta1, beta2 = (REAL)a.beta2, rest1 = (REAL)(1 - a.beta1), rest2 = (REAL)(1 - a.beta2);
	EACH(i, (uint32_t)a.n) {
		Places<4> at = places<4>(a.grid, i);
		REAL p = get<T>(a.p, at.at[0]), g = unscale * get<T>(a.g, at.at[3]) + (REAL)a.coupled * p;
		REAL m = beta1 * get<T>(a.m, at.at[1]) + rest1 * g, v = beta2 * get<T>(a.v, at.at[2]) + rest2 * (g * g);
		put<T>(a.m, at.at[1], m);
		put<T>(a.v, at.at[2], v);
		put<T>(a.p, at.at[0], p * keep - rate * m / (SQRT(v) * root + (REAL)a.eps));
	}
}
FLOATS(adam, Adam)
