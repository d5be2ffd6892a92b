// Optimizer updates of many parameters at once; sgd.go and adam.go have the formulas.
#include "math.cuh"

struct Parameter {
	void *p, *m, *v; // m and v are p if there are no such buffers
	const void *g;
	int64_t n, block; // block is the first of its blocks
};

enum { MANY = 64 };
template <class Set> struct MultiTensor {
	Set set;
	int64_t count, before; // of parameters, and of blocks of earlier launches of the same call
	Grid grid; // of a single strided parameter's p, m, v and g; of rank 0 for contiguous parameters
	Parameter list[MANY];
};

// Elements of p, m, v and g, W adjacent ones of each, or one of each.
template <class T, int W> struct OfParameter {
	typedef Pack<Calc<T>, W> Values;
	void *p, *m, *v;
	const void *g;
	Places<4> at;
	FN Values load(const void *x, int64_t at) {
		Pack<T, W> own = adjacent<W, T>(x, at);
		Values values;
		UNROLL for (int k = 0; k < W; k++) values.at[k] = (Calc<T>)own.at[k];
		return values;
	}
	FN void store(void *x, int64_t at, Values values) { lay((T *)x + at, values); }
	__device__ __forceinline__ Values get_p() const { return load(p, at.at[0]); }
	__device__ __forceinline__ Values get_m() const { return load(m, at.at[1]); }
	__device__ __forceinline__ Values get_v() const { return load(v, at.at[2]); }
	__device__ __forceinline__ Values get_g() const { return load(g, at.at[3]); }
	__device__ __forceinline__ void set_p(Values x) const { store(p, at.at[0], x); }
	__device__ __forceinline__ void set_m(Values x) const { store(m, at.at[1], x); }
	__device__ __forceinline__ void set_v(Values x) const { store(v, at.at[2], x); }
};
#define EACH_OF(k, values) UNROLL for (uint32_t k = 0; k < sizeof(values) / sizeof(values.at[0]); k++)

// Calls f with this thread's elements of the block's parameter: 16 bytes at once where contiguous arrays are aligned,
// and the remainder one by one.
template <class T, class Set, class F> FN void each_element(const MultiTensor<Set> &a, F f) {
	enum { W = 16 / sizeof(T) };
	uint32_t k = 0;
	UNROLL for (uint32_t step = MANY / 2; step > 0; step /= 2) {
		if (k + step < a.count && a.list[k + step].block <= blockIdx.x)
			k += step;
	}
	uint32_t first = (uint32_t)a.list[k].block, end = k + 1 < a.count ? (uint32_t)a.list[k + 1].block : gridDim.x;
	void *p = a.list[k].p, *m = a.list[k].m, *v = a.list[k].v;
	const void *g = a.list[k].g;
	uint32_t n = (uint32_t)a.list[k].n, thread = (blockIdx.x - first) * blockDim.x + threadIdx.x, threads = (end - first) * blockDim.x;
	uint32_t packed = a.grid.rank > 0 || (address(p) | address(m) | address(v) | address(g)) % 16 ? 0 : n / W * W;
	for (uint32_t i = thread * W; i < packed; i += threads * W) f(OfParameter<T, W>{p, m, v, g, {{i, i, i, i}}});
	for (uint32_t i = packed + thread; i < n; i += threads) {
		Places<4> at = {{i, i, i, i}};
		if (a.grid.rank > 0)
			at = places<4>(a.grid, i);
		f(OfParameter<T, 1>{p, m, v, g, at});
	}
}

// Hyperparameter i: from memory if there is any, else own. Written in assembly, because the compiler would
// select between addresses and spill own to memory.
FN double hyperparameter(const double *hyper, int i, double own) {
	if (hyper)
		asm volatile("ld.global.f64 %0, [%1];" : "=d"(own) : "l"(__builtin_bit_cast(uint64_t, hyper + i)));
	return own;
}
// The loss scaler's state, if there is a loss scaler.
FN bool found_inf(const float *scaler) { return scaler && scaler[2] != 0; }
FN float scale(const float *scaler) { return scaler ? scaler[0] : 1; }
FN uint32_t skipped(const float *scaler) { return scaler ? (uint32_t)scaler[3] : 0; }

struct SGD {
	const double *hyper; // null, or hyperparameters that replace rate: see step_inputs.go
	const float *scaler;
	double rate, momentum, decay;
	int64_t nesterov;
};

template <class T> FN void sgd(const MultiTensor<SGD> &a) {
	const SGD &set = a.set;
	if (found_inf(set.scaler))
		return;
	typedef Calc<T> REAL;
	REAL unscale = (REAL)1 / scale(set.scaler);
	REAL rate = (REAL)hyperparameter(set.hyper, 0, set.rate), momentum = (REAL)set.momentum, decay = (REAL)set.decay;
	each_element<T>(a, [&](auto e) {
		auto p = e.get_p(), d = e.get_g();
		EACH_OF(k, d) d.at[k] = unscale * d.at[k] + decay * p.at[k];
		if (momentum != 0) {
			auto v = e.get_v();
			EACH_OF(k, v) v.at[k] = momentum * v.at[k] + d.at[k];
			e.set_v(v);
			EACH_OF(k, d) d.at[k] = set.nesterov ? d.at[k] + momentum * v.at[k] : v.at[k];
		}
		EACH_OF(k, p) p.at[k] -= rate * d.at[k];
		e.set_p(p);
	});
}

struct Adam {
	const double *hyper; // null, or hyperparameters that replace own
	const float *scaler;
	double beta1, beta2, eps, decay, own[3];
	int64_t decoupled;
};

// xᵗ for the number of updates that were not skipped.
FN double without(double power, double x, uint32_t factors) {
	if (power == 0)
		return 0;
	double taken = 1;
	for (; factors > 0; factors /= 2, x *= x) {
		if (factors & 1)
			taken *= x;
	}
	return power / taken;
}

template <class T> FN void adam(const MultiTensor<Adam> &a) {
	const Adam &set = a.set;
	if (found_inf(set.scaler))
		return;
	typedef Calc<T> REAL;
	double rate0 = hyperparameter(set.hyper, 0, set.own[0]);
	double power1 = without(hyperparameter(set.hyper, 1, set.own[1]), set.beta1, skipped(set.scaler)), power2 = without(hyperparameter(set.hyper, 2, set.own[2]), set.beta2, skipped(set.scaler));
	REAL unscale = (REAL)1 / scale(set.scaler), rate = (REAL)(rate0 / (1 - power1)), root = (REAL)(1 / SQRT(1 - power2));
	REAL keep = (REAL)(set.decoupled ? 1 - rate0 * set.decay : 1), coupled = (REAL)(set.decoupled ? 0 : set.decay), eps = (REAL)set.eps;
	REAL beta1 = (REAL)set.beta1, beta2 = (REAL)set.beta2, rest1 = (REAL)(1 - set.beta1), rest2 = (REAL)(1 - set.beta2);
	each_element<T>(a, [&](auto e) {
		auto p = e.get_p(), mean = e.get_m(), square = e.get_v(), g = e.get_g();
		EACH_OF(k, p) {
			REAL gradient = unscale * g.at[k] + coupled * p.at[k];
			mean.at[k] = beta1 * mean.at[k] + rest1 * gradient, square.at[k] = beta2 * square.at[k] + rest2 * (gradient * gradient);
			p.at[k] = p.at[k] * keep - rate * mean.at[k] / (SQRT(square.at[k]) * root + eps);
		}
		e.set_m(mean), e.set_v(square), e.set_p(p);
	});
}

// Sets the found-inf flag of a loss scaler (step_inputs.go) if a gradient is not finite. Several blocks may do so at once.
struct FindInf {
	float *scaler;
};
FN void set_found_inf(float *scaler) {
	uint32_t before;
	asm volatile("atom.global.exch.b32 %0, [%1], %2;" : "=r"(before) : "l"(__builtin_bit_cast(uint64_t, scaler + 2)), "r"(bits(1.f)) : "memory");
}
template <class T> FN void find_inf(const MultiTensor<FindInf> &a) {
	each_element<T>(a, [&](auto e) {
		auto g = e.get_g();
		bool finite = true;
		EACH_OF(k, g) finite = finite && g.at[k] - g.at[k] == 0;
		if (!finite)
			set_found_inf(a.set.scaler);
	});
}

// Clipping of gradients by their norm; clip.go has the formulas.
struct ClipFactor {
	double *part, *factor; // the sum of each block of all launches
	const void *loss_scale; // null, or the factor of the gradients
	double limit;
	int64_t blocks, scale_type; // of all launches
};
template <class A> FN double loss_scale(const A &a) { return a.loss_scale ? load(a.loss_scale, 0, a.scale_type).f : 1; }

template <class T> FN void square_sums(const MultiTensor<ClipFactor> &a) {
	Calc<T> unscale = (Calc<T>)(1 / loss_scale(a.set));
	double sum = 0;
	each_element<T>(a, [&](auto e) {
		auto g = e.get_g();
		EACH_OF(k, g) {
			Calc<T> x = g.at[k] * unscale;
			sum += (double)x * (double)x;
		}
	});
	sum = together<256>(sum, Plus());
	if (threadIdx.x == 0)
		a.set.part[a.before + blockIdx.x] = sum;
}
FLOATS(square_sums, MultiTensor<ClipFactor>)

KERNEL clip_factor(ClipFactor a) {
	double sum = 0;
	for (int64_t i = threadIdx.x; i < a.blocks; i += 256) sum += a.part[i];
	sum = together<256>(sum, Plus());
	if (threadIdx.x == 0) {
		double norm = SQRT(sum) + 1e-6;
		*a.factor = norm < a.limit ? 1 : a.limit / norm;
	}
}

struct ClampAll {
	const void *loss_scale;
	int64_t scale_type;
	double limit;
};
template <class T> FN void clamp_all(const MultiTensor<ClampAll> &a) {
	Calc<T> limit = (Calc<T>)(a.set.limit * loss_scale(a.set));
	each_element<T>(a, [&](auto e) {
		auto g = e.get_g();
		EACH_OF(k, g) g.at[k] = g.at[k] < -limit ? -limit : g.at[k] > limit ? limit : g.at[k];
		e.set_p(g);
	});
}
FLOATS(clamp_all, MultiTensor<ClampAll>)

struct ScaleAll {
	const double *factor;
};
template <class T> FN void scale_all(const MultiTensor<ScaleAll> &a) {
	Calc<T> factor = (Calc<T>)*a.set.factor;
	each_element<T>(a, [&](auto e) {
		auto g = e.get_g();
		EACH_OF(k, g) g.at[k] *= factor;
		e.set_p(g);
	});
}
FLOATS(scale_all, MultiTensor<ScaleAll>)

FLOATS(sgd, MultiTensor<SGD>)
FLOATS(adam, MultiTensor<Adam>)
FLOATS(find_inf, MultiTensor<FindInf>)
