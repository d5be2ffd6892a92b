// The optimizers' updates: formulas in sgd.go and adam.go.
#include "math.cuh"

struct SGD {
	void *p, *v; // v is p where there is no momentum
	const void *g;
	double rate, momentum, decay;
	int64_t nesterov, velocity, n; // velocity: whether there is a v
	Grid grid;                     // of p, v, g
};

template <class REAL> FN void sgd(const SGD &a) {
	REAL rate = (REAL)a.rate, momentum = (REAL)a.momentum, decay = (REAL)a.decay;
	EACH(i, (uint32_t)a.n) {
		Places<3> at = places<3>(a.grid, i);
		REAL &p = ((REAL *)a.p)[at.at[0]], &v = ((REAL *)a.v)[at.at[1]];
		REAL d = ((const REAL *)a.g)[at.at[2]] + decay * p;
		if (a.velocity) {
			REAL w = momentum * v + d;
			v = w;
			d = a.nesterov ? d + momentum * w : w;
		}
		p -= rate * d;
	}
}
BOTH(sgd, SGD)

struct Adam {
	void *p, *m, *v;
	const void *g;
	double beta1, beta2, eps, coupled, keep, rate, scale;
	int64_t n;
	Grid grid; // of p, m, v, g
};

template <class REAL> FN void adam(const Adam &a) {
	REAL beta1 = (REAL)a.beta1, beta2 = (REAL)a.beta2, rest1 = (REAL)(1 - a.beta1), rest2 = (REAL)(1 - a.beta2);
	EACH(i, (uint32_t)a.n) {
		Places<4> at = places<4>(a.grid, i);
		REAL p = ((REAL *)a.p)[at.at[0]], g = ((const REAL *)a.g)[at.at[3]] + (REAL)a.coupled * p;
		REAL m = beta1 * ((REAL *)a.m)[at.at[1]] + rest1 * g, v = beta2 * ((REAL *)a.v)[at.at[2]] + rest2 * (g * g);
		((REAL *)a.m)[at.at[1]] = m;
		((REAL *)a.v)[at.at[2]] = v;
		((REAL *)a.p)[at.at[0]] = p * (REAL)a.keep - (REAL)a.rate * m / (SQRT(v) * (REAL)a.scale + (REAL)a.eps);
	}
}
BOTH(adam, Adam)
