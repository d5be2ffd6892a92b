/* The optimizers' updates, in REAL: formulas in sgd.go and adam.go. */

typedef struct {
	const REAL *g;
	REAL *p, *m, *v;
	REAL rate, momentum, decay;
	int64_t n;
	int nesterov;
	h5k_adam_terms a;
} REAL_(update);

enum { REAL_(UPDATE) = 4096 };

static void REAL_(sgd_part)(void *arg, int64_t from, int64_t to) {
	const REAL_(update) *u = arg;
	const REAL *g = u->g;
	REAL *p = u->p, *v = u->v, rate = u->rate, momentum = u->momentum, decay = u->decay;
	int64_t i = from * REAL_(UPDATE), end = to * REAL_(UPDATE) < u->n ? to * REAL_(UPDATE) : u->n;
	if (!v) {
		_Pragma("omp simd") for (int64_t k = i; k < end; k++) p[k] -= rate * (g[k] + decay * p[k]);
	} else if (u->nesterov) {
		_Pragma("omp simd") for (int64_t k = i; k < end; k++) {
			REAL d = g[k] + decay * p[k];
			v[k] = momentum * v[k] + d;
			p[k] -= rate * (d + momentum * v[k]);
		}
	} else {
		_Pragma("omp simd") for (int64_t k = i; k < end; k++) {
			v[k] = momentum * v[k] + (g[k] + decay * p[k]);
			p[k] -= rate * v[k];
		}
	}
}

static void REAL_(sgd)(int64_t n, const void *g, void *p, void *v, double rate, double momentum, double decay, int nesterov) {
	REAL_(update) u = {.g = g, .p = p, .v = v, .rate = rate, .momentum = momentum, .decay = decay, .n = n, .nesterov = nesterov};
	h5k_spread((n + REAL_(UPDATE) - 1) / REAL_(UPDATE), n < H5K_GRAIN ? INT64_MAX : 2, REAL_(sgd_part), &u);
}

static void REAL_(adam_part)(void *arg, int64_t from, int64_t to) {
	const REAL_(update) *u = arg;
	const REAL *gs = u->g;
	REAL *ps = u->p, *ms = u->m, *vs = u->v;
	REAL beta1 = u->a.beta1, rest1 = 1 - u->a.beta1, beta2 = u->a.beta2, rest2 = 1 - u->a.beta2;
	REAL eps = u->a.eps, coupled = u->a.coupled, keep = u->a.keep, rate = u->a.rate, scale = u->a.scale;
	int64_t i = from * REAL_(UPDATE), end = to * REAL_(UPDATE) < u->n ? to * REAL_(UPDATE) : u->n;
	_Pragma("omp simd") for (int64_t k = i; k < end; k++) {
		REAL p = ps[k], g = gs[k] + coupled * p;
		REAL m = beta1 * ms[k] + rest1 * g, v = beta2 * vs[k] + rest2 * (g * g);
		ms[k] = m;
		vs[k] = v;
		ps[k] = p * keep - rate * m / (SQRT(v) * scale + eps);
	}
}

static void REAL_(adam)(int64_t n, const void *g, void *p, void *m, void *v, const h5k_adam_terms *a) {
	REAL_(update) u = {.g = g, .p = p, .m = m, .v = v, .n = n, .a = *a};
	h5k_spread((n + REAL_(UPDATE) - 1) / REAL_(UPDATE), n * 3 < H5K_GRAIN ? INT64_MAX : 2, REAL_(adam_part), &u);
}
