// Rows of samples, loss scaling and metrics; gather.go, scaler.go and metrics.go have the formulas.
#include "call.cuh"
#include "fault.cuh"
#include "math.cuh"

struct Take {
	void *y;
	const void *x;
	const int64_t *rows, *first; // the indices of the rows of this launch, and of the whole call
	Fault *fault;
	int64_t n, step, all, row_step;
	double a, b; // of take_cast
	Grid g;      // of y, of x at row 0, of rows
};

FN bool missing(const Take &a, int64_t row) { return row < 0 || row >= a.all; }

// Only the threads of the first invalid row report it.
FN void refuse_row(const Take &a, const int64_t *row) {
	int64_t at = a.row_step ? (row - a.first) / a.row_step : 0;
	for (int64_t i = 0; i < at; i++) {
		if (missing(a, a.first[i * a.row_step]))
			return;
	}
	refuse(a.fault, {at, *row, -1 - a.all});
}

// Calls f with the offsets in y and x of each element of the thread's rows.
template <class F> FN void take(const Take &a, F f) {
	EACH(i, (uint32_t)a.n) {
		Places<3> p = places<3>(a.g, i);
		const int64_t *row = a.rows + p.at[2];
		if (missing(a, *row))
			refuse_row(a, row);
		else
			f(p.at[0], p.at[1] + *row * a.step);
	}
}

#define TAKE(size, word) \
	KERNEL take_##size(Take a) { \
		take(a, [&](int64_t y, int64_t x) { ((word *)a.y)[y] = ((const word *)a.x)[x]; }); \
	}
struct alignas(16) Sixteen {
	uint64_t lo, hi;
};
TAKE(1, uint8_t)
TAKE(2, uint16_t)
TAKE(4, uint32_t)
TAKE(8, uint64_t)
TAKE(16, Sixteen)
#undef TAKE

template <class T> FN void take_cast(const Take &a) {
	take(a, [&](int64_t y, int64_t x) { put<T>(a.y, y, (Calc<T>)((const uint8_t *)a.x)[x] * (Calc<T>)a.a + (Calc<T>)a.b); });
}
FLOATS(take_cast, Take)

// One thread of the whole launch.
FN bool only() { return blockIdx.x + threadIdx.x == 0; }

struct UpdateScale { // UpdateScaleOptions
	int64_t growth_interval;
};
KERNEL update_scale_f32(CallWith<UpdateScale> c) {
	if (!only())
		return;
	float *g = (float *)c.out[0].p; // scale, growth tracker, found-inf flag, skipped steps: see step_inputs.go
	if (g[2] != 0) {
		g[1] = 0, g[3] += 1;
		if (g[0] / 2 >= 0x1p-126f)
			g[0] /= 2, g[2] = 0;
		return;
	}
	g[1] += 1;
	if ((int64_t)g[1] >= c.set.growth_interval) {
		float twice = 2 * g[0];
		g[0] = twice < 1073741824.f ? twice : 1073741824.f, g[1] = 0;
	}
}

struct AddMetrics { // MetricsOptions
	int64_t samples;
};
template <class T> FN void add_metrics(const CallWith<AddMetrics> &c) {
	if (!only())
		return;
	double *sums = (double *)c.out[0].p; // loss, correct, steps, the first step whose loss was not finite, and ignored
	const int64_t *correct = (const int64_t *)c.in[1].p, *ignored = (const int64_t *)c.in[2].p;
	double loss = get<T>(c.in[0].p, 0);
	sums[0] += loss * (double)c.set.samples;
	if (correct)
		sums[1] += (double)*correct;
	sums[2] += 1;
	if (sums[3] == 0 && !(loss - loss == 0))
		sums[3] = sums[2];
	if (ignored)
		sums[4] += (double)*ignored;
}
FLOATS(add_metrics, CallWith<AddMetrics>)
