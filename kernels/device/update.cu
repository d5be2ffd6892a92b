// Optimizer updates of many parameters at once, and what is done to many gradients. Every line of updates.h is a unit.
#include "math.cuh"

#include "updates.h"

struct Parameter {
	void *p, *s1, *s2, *s3; // s1 and s2 are p, and s3 is s1, if there are no such buffers
	const void *g;
	uint32_t n, block; // block is the first of its blocks
};

enum { MANY = 64 };
template <class Set> struct MultiTensor {
	Set set;
	int64_t count, before; // of parameters, and of blocks of earlier launches of the same call
	Grid grid; // of a single strided parameter's p, s1, s2 and g; of rank 0 for contiguous parameters
	Parameter list[MANY];
};

// Elements of p, s1, s2, s3 and g, W adjacent ones of each, or one of each. Those of s3 are placed as those of s1.
template <class T, int W> struct OfParameter {
	typedef Pack<Calc<T>, W> Values;
	void *p, *s1, *s2, *s3;
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
	__device__ __forceinline__ Values get_s1() const { return load(s1, at.at[1]); }
	__device__ __forceinline__ Values get_s2() const { return load(s2, at.at[2]); }
	__device__ __forceinline__ Values get_s3() const { return load(s3, at.at[1]); }
	__device__ __forceinline__ Values get_g() const { return load(g, at.at[3]); }
	__device__ __forceinline__ void set_p(Values x) const { store(p, at.at[0], x); }
	__device__ __forceinline__ void set_s1(Values x) const { store(s1, at.at[1], x); }
	__device__ __forceinline__ void set_s2(Values x) const { store(s2, at.at[2], x); }
	__device__ __forceinline__ void set_s3(Values x) const { store(s3, at.at[1], x); }
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
	uint32_t first = a.list[k].block, end = k + 1 < a.count ? a.list[k + 1].block : gridDim.x;
	void *p = a.list[k].p, *s1 = a.list[k].s1, *s2 = a.list[k].s2, *s3 = a.list[k].s3;
	const void *g = a.list[k].g;
	uint32_t n = a.list[k].n, thread = (blockIdx.x - first) * blockDim.x + threadIdx.x, threads = (end - first) * blockDim.x;
	uint32_t packed = a.grid.rank > 0 || (address(p) | address(s1) | address(s2) | address(s3) | address(g)) % 16 ? 0 : n / W * W;
	for (uint32_t i = thread * W; i < packed; i += threads * W) f(OfParameter<T, W>{p, s1, s2, s3, g, {{i, i, i, i}}});
	for (uint32_t i = packed + thread; i < n; i += threads) {
		Places<4> at = {{i, i, i, i}};
		if (a.grid.rank > 0)
			at = places<4>(a.grid, i);
		f(OfParameter<T, 1>{p, s1, s2, s3, g, at});
	}
}

// The loss scaler's state, if there is a loss scaler.
[[maybe_unused]] FN bool found_inf(const float *scaler) { return scaler && scaler[2] != 0; }
[[maybe_unused]] FN float scale(const float *scaler) { return scaler ? scaler[0] : 1; }
[[maybe_unused]] FN uint32_t skips(const float *scaler) { return scaler ? (uint32_t)scaler[3] : 0; }

struct Update {
	const double *hyper; // null, or hyperparameters that replace own: see step_inputs.go
	const float *scaler;
	double settings[8], own[4];
};

// Hyperparameter i: from memory if there is any, else own. Written in assembly, because the compiler would
// select between addresses and spill own to memory.
[[maybe_unused]] FN double hyperparameter(const Update &set, int i) {
	double x = set.own[i];
	if (set.hyper)
		asm volatile("ld.global.f64 %0, [%1];" : "=d"(x) : "l"(__builtin_bit_cast(uint64_t, set.hyper + i)));
	return x;
}

#define TERM(name, value) [[maybe_unused]] REAL name = (REAL)(value);
#define UPDATE(name, buffers, changing, terms, statements, formula) \
	template <class T> FN void name(const MultiTensor<Update> &u) { \
		if (found_inf(u.set.scaler)) \
			return; \
		typedef Calc<T> REAL; \
		const double *a = u.set.settings; \
		double x[changing]; \
		UNROLL for (int i = 0; i < changing; i++) x[i] = hyperparameter(u.set, i); \
		[[maybe_unused]] double skipped = skips(u.set.scaler); \
		REAL unscale = (REAL)1 / scale(u.set.scaler); \
		terms(TERM) \
		each_element<T>(u, [&](auto e) { \
			auto ps = e.get_p(), gs = e.get_g(), s1s = gs, s2s = gs, s3s = gs; \
			if (buffers > 0) \
				s1s = e.get_s1(); \
			if (buffers > 1) \
				s2s = e.get_s2(); \
			if (buffers > 2) \
				s3s = e.get_s3(); \
			EACH_OF(k, ps) { \
				REAL p = ps.at[k], g = unscale * gs.at[k], s1 = s1s.at[k], s2 = s2s.at[k], s3 = s3s.at[k]; \
				H5K_STATEMENTS statements \
				formula; \
				ps.at[k] = p, s1s.at[k] = s1, s2s.at[k] = s2, s3s.at[k] = s3; \
			} \
			if (buffers > 0) \
				e.set_s1(s1s); \
			if (buffers > 1) \
				e.set_s2(s2s); \
			if (buffers > 2) \
				e.set_s3(s3s); \
			e.set_p(ps); \
		}); \
	} \
	FLOATS(name, MultiTensor<Update>)
#ifdef ONLY // one line of updates.h
ONLY()
#else

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

FLOATS(find_inf, MultiTensor<FindInf>)
#endif
