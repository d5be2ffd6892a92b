// Batch normalization in three steps: sums over each channel, the coefficients of each channel, and a
// linear function of each element. batchnorm.go has the formulas.
#include "math.cuh"

// Constants of all channels, C of each.
struct Channels {
	double *pivot, *a, *b, *k, *s, *t;
};

struct ChannelSums {
	const void *x, *dy, *y; // if dy is null, x - pivot stands for it; if y is not, dy is 0 where y is not positive
	int64_t n, x_step, dy_step;
	Channels by;
	Grid g; // of x, dy: one channel
};

// The gradient with respect to the input of the relu whose result is y, of the same strides as dy; y may be null.
template <class T> FN Calc<T> through_relu(const void *y, const void *dy, int64_t at) { return y && get<T>(y, at) <= 0 ? 0 : get<T>(dy, at); }

template <class REAL> struct Sums {
	REAL s, t;
};

// s = Σ dy and t = Σ dy·(x - pivot), one block for each channel.
template <class T> FN void channel_sums(const ChannelSums &a) {
	typedef Total<T> REAL;
	uint32_t c = blockIdx.x;
	int64_t x = c * a.x_step, dy = c * a.dy_step;
	REAL pivot = (REAL)a.by.pivot[c];
	Sums<REAL> sums = collect<2>(
	    a.g, threadIdx.x, (uint64_t)a.n, 256, Sums<REAL>{0, 0},
	    [&](Places<2> p) {
		    REAL d = get<T>(a.x, x + p.at[0]) - pivot, e = a.dy ? (REAL)through_relu<T>(a.y, a.dy, dy + p.at[1]) : d;
		    return Sums<REAL>{e, e * d};
	    },
	    [](Sums<REAL> a, Sums<REAL> b) { return Sums<REAL>{a.s + b.s, a.t + b.t}; });
	REAL s = together<256>(sums.s, Plus()), t = together<256>(sums.t, Plus());
	if (threadIdx.x == 0)
		a.by.s[c] = s, a.by.t[c] = t;
}
FLOATS(channel_sums, ChannelSums)

struct Vector {
	void *p;
	int64_t step;
};
template <class T> FN double at(const Vector &v, uint32_t c) { return get<T>(v.p, c * v.step); }
template <class T> FN void set(const Vector &v, uint32_t c, double x) { put<T>(v.p, c * v.step, x); }

struct Norm {
	int64_t channels, count; // number of elements of a channel
	double epsilon, momentum;
	Vector x, gamma, beta, mean, std, running_mean, running_variance, dgamma, dbeta;
	Channels by;
};

#define CHANNEL(name) \
	template <class T> FN void name##_of(const Norm &a, uint32_t c); \
	template <class T> FN void name(const Norm &a) { EACH(c, (uint32_t)a.channels) name##_of<T>(a, c); } \
	FLOATS(name, Norm) \
	template <class T> FN void name##_of(const Norm &a, uint32_t c)

// Sums are taken about one of the elements, so that a large mean does not cancel the variance.
CHANNEL(norm_pivot) { a.by.pivot[c] = at<T>(a.x, c); }

template <class T> FN void blend(const Vector &v, uint32_t c, double x, double weight) {
	if (v.p)
		set<T>(v, c, (1 - weight) * at<T>(v, c) + weight * x);
}

CHANNEL(norm_train) {
	double m = (double)a.count, mean = a.by.s[c] / m, variance = a.by.t[c] / m - mean * mean;
	mean += a.by.pivot[c];
	variance = variance < 0 ? 0 : variance;
	double inverse = 1 / SQRT(variance + a.epsilon);
	set<T>(a.mean, c, mean);
	set<T>(a.std, c, inverse);
	blend<T>(a.running_mean, c, mean, a.momentum);
	blend<T>(a.running_variance, c, variance * m / (m - 1), a.momentum);
	a.by.pivot[c] = mean, a.by.a[c] = at<T>(a.gamma, c) * inverse, a.by.b[c] = 0, a.by.k[c] = at<T>(a.beta, c);
}

CHANNEL(norm_eval) {
	a.by.pivot[c] = at<T>(a.mean, c), a.by.a[c] = at<T>(a.gamma, c) / SQRT(at<T>(a.std, c) + a.epsilon);
	a.by.b[c] = 0, a.by.k[c] = at<T>(a.beta, c);
}

CHANNEL(norm_grad_pivot) { a.by.pivot[c] = at<T>(a.mean, c); }

template <class T> FN double gradients(const Norm &a, uint32_t c, double inverse) {
	set<T>(a.dgamma, c, a.by.t[c] * inverse);
	set<T>(a.dbeta, c, a.by.s[c]);
	a.by.a[c] = 0, a.by.k[c] = 0;
	return a.by.b[c] = at<T>(a.gamma, c) * inverse;
}

CHANNEL(norm_grad) {
	double inverse = at<T>(a.std, c), b = gradients<T>(a, c, inverse), m = (double)a.count;
	a.by.a[c] = -b * inverse * inverse * a.by.t[c] / m;
	a.by.k[c] = -b * a.by.s[c] / m;
}

CHANNEL(norm_eval_grad) { gradients<T>(a, c, 1 / SQRT(at<T>(a.std, c) + a.epsilon)); }

struct ChannelMap {
	void *z;
	const void *x, *dy, *y; // dy and y may be null, as above
	int64_t channel, n, relu; // channel is that of the first element
	Channels by;
	Grid g; // of z, x, dy, and the channel
};

// z = a·(x - pivot) + b·dy + k, or its relu.
template <class T> FN void channel_map(const ChannelMap &a) {
	typedef Total<T> REAL;
	EACH(i, (uint32_t)a.n) {
		Places<4> p = places<4>(a.g, i);
		int64_t c = a.channel + p.at[3];
		REAL v = (REAL)a.by.a[c] * (get<T>(a.x, p.at[1]) - (REAL)a.by.pivot[c]) + (REAL)a.by.k[c];
		if (a.dy)
			v += (REAL)a.by.b[c] * through_relu<T>(a.y, a.dy, p.at[2]);
		put<T>(a.z, p.at[0], a.relu && v < 0 ? 0 : v);
	}
}
FLOATS(channel_map, ChannelMap)
