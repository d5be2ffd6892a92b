// Batch normalisation in three steps: sums over each channel, what follows from them for the
// channel, and a line through every element. Formulas are in batchnorm.go.
#include "math.cuh"

// Constants of all channels, C of each.
struct Channels {
	double *pivot, *a, *b, *k, *s, *t;
};

struct ChannelSums {
	const void *x, *dy; // without dy it is x - pivot
	int64_t n, x_step, dy_step;
	Channels by;
	Grid g; // of x, dy: one channel
};

// s = Σ dy and t = Σ dy·(x - pivot), a block for each channel.
template <class REAL> FN void channel_sums(const ChannelSums &a) {
	uint32_t c = blockIdx.x;
	const REAL *x = (const REAL *)a.x + c * a.x_step, *dy = (const REAL *)a.dy + c * a.dy_step;
	double pivot = a.by.pivot[c], s = 0, t = 0;
	for (uint32_t i = threadIdx.x; i < a.n; i += 256) {
		Places<2> p = places<2>(a.g, i);
		double d = (double)x[p.at[0]] - pivot, e = a.dy ? (double)dy[p.at[1]] : d;
		s += e;
		t += e * d;
	}
	s = together<256>(s, Plus());
	t = together<256>(t, Plus());
	if (threadIdx.x == 0)
		a.by.s[c] = s, a.by.t[c] = t;
}
BOTH(channel_sums, ChannelSums)

struct Vector {
	void *p;
	int64_t step;
};
template <class REAL> FN REAL &at(const Vector &v, uint32_t c) { return ((REAL *)v.p)[c * v.step]; }

struct Norm {
	int64_t channels, count; // elements of a channel
	double epsilon, momentum;
	Vector x, gamma, beta, mean, deviation, running_mean, running_variance, dgamma, dbeta;
	Channels by;
};

#define CHANNEL(name) \
	template <class REAL> FN void name##_of(const Norm &a, uint32_t c); \
	template <class REAL> FN void name(const Norm &a) { EACH(c, (uint32_t)a.channels) name##_of<REAL>(a, c); } \
	BOTH(name, Norm) \
	template <class REAL> FN void name##_of(const Norm &a, uint32_t c)

// Large means do not cancel the variance if sums are taken about an element.
CHANNEL(norm_pivot) { a.by.pivot[c] = at<REAL>(a.x, c); }

template <class REAL> FN void blend(const Vector &v, uint32_t c, double x, double weight) {
	if (v.p)
		at<REAL>(v, c) = (REAL)((1 - weight) * at<REAL>(v, c) + weight * x);
}

CHANNEL(norm_train) {
	double m = (double)a.count, mean = a.by.s[c] / m, variance = a.by.t[c] / m - mean * mean;
	mean += a.by.pivot[c];
	variance = variance < 0 ? 0 : variance;
	double inverse = 1 / SQRT(variance + a.epsilon);
	at<REAL>(a.mean, c) = (REAL)mean;
	at<REAL>(a.deviation, c) = (REAL)inverse;
	blend<REAL>(a.running_mean, c, mean, a.momentum);
	blend<REAL>(a.running_variance, c, variance * m / (m - 1), a.momentum);
	a.by.pivot[c] = mean, a.by.a[c] = at<REAL>(a.gamma, c) * inverse, a.by.b[c] = 0, a.by.k[c] = at<REAL>(a.beta, c);
}

CHANNEL(norm_eval) {
	a.by.pivot[c] = at<REAL>(a.mean, c), a.by.a[c] = at<REAL>(a.gamma, c) / SQRT((double)at<REAL>(a.deviation, c) + a.epsilon);
	a.by.b[c] = 0, a.by.k[c] = at<REAL>(a.beta, c);
}

CHANNEL(norm_grad_pivot) { a.by.pivot[c] = at<REAL>(a.mean, c); }

template <class REAL> FN double slopes(const Norm &a, uint32_t c, double inverse) {
	at<REAL>(a.dgamma, c) = (REAL)(a.by.t[c] * inverse);
	at<REAL>(a.dbeta, c) = (REAL)a.by.s[c];
	a.by.a[c] = 0, a.by.k[c] = 0;
	return a.by.b[c] = at<REAL>(a.gamma, c) * inverse;
}

CHANNEL(norm_grad) {
	double inverse = at<REAL>(a.deviation, c), b = slopes<REAL>(a, c, inverse), m = (double)a.count;
	a.by.a[c] = -b * inverse * inverse * a.by.t[c] / m;
	a.by.k[c] = -b * a.by.s[c] / m;
}

CHANNEL(norm_eval_grad) { slopes<REAL>(a, c, 1 / SQRT((double)at<REAL>(a.deviation, c) + a.epsilon)); }

struct ChannelMap {
	void *y;
	const void *x, *dy;
	int64_t channel, n; // of the first element
	Channels by;
	Grid g; // of y, x, dy, and the channel
};

// y = a·(x - pivot) + b·dy + k.
template <class REAL> FN void channel_map(const ChannelMap &a) {
	EACH(i, (uint32_t)a.n) {
		Places<4> p = places<4>(a.g, i);
		int64_t c = a.channel + p.at[3];
		double v = a.by.a[c] * ((double)((const REAL *)a.x)[p.at[1]] - a.by.pivot[c]) + a.by.k[c];
		if (a.dy)
			v += a.by.b[c] * (double)((const REAL *)a.dy)[p.at[2]];
		((REAL *)a.y)[p.at[0]] = (REAL)v;
	}
}
BOTH(channel_map, ChannelMap)
