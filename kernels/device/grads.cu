// The gradients of an activation and of the bias before it: ActGradBias of biasact.go.
#include "last_block.cuh"
#include "activation.cuh"

struct GradBias {
	void *dz, *db;
	const void *y, *dy;
	void *part;        // splits × channels, where there are several splits
	uint32_t *counter; // for each tile of channels
	double scale;
	uint64_t channels, over;
	int64_t splits, chunk, act, pack, step[4]; // chunk: of over, of each split; pack: adjacent channels are aligned; step: from channel to channel of dz, y, dy and db
	Grid o;                       // of dz, y, dy: the elements of one channel
};

template <class REAL> FN REAL grad(const GradBias &a, REAL y, REAL dy) {
	switch (a.act) {
	case OF_RELU: return y <= 0 ? 0 : dy * (REAL)a.scale;
	case OF_TANH: return dy * (1 - y * y);
	case OF_SIGMOID: return dy * (y * (1 - y));
	case OF_GELU: return dy * H5K_GELU_GRAD(y);
	case OF_GELU_TANH: return dy * H5K_GELU_TANH_GRAD(y);
	case OF_SILU: return dy * H5K_SILU_GRAD(y);
	}
	return dy;
}

// Sums over the threads of each channel, which take W adjacent ones of WIDTH. The first WIDTH threads get the results.
template <int WIDTH, int W, class T> FN T columns(Pack<T, W> sum) {
	if constexpr (WIDTH == 1) {
		return together<256>(sum.at[0], Plus());
	} else {
		__shared__ T part[W][256 + (sizeof(T) == 8 ? 4 : 8)]; // adjacent channels are in different banks
		UNROLL for (int k = 0; k < W; k++) part[k][threadIdx.x] = sum.at[k];
		__syncthreads();
		T all = 0;
		if (threadIdx.x < WIDTH) {
			UNROLL for (int row = 0; row < 256 * W / WIDTH; row++) all += part[threadIdx.x % W][threadIdx.x / W + row * (WIDTH / W)];
		}
		__syncthreads();
		return all;
	}
}

// The sums of dz over rows from to to of W channels, every step-th of them.
template <class T, int W, class I> FN Pack<Total<T>, W> sum_rows(const GradBias &a, uint64_t c, I from, I to, I step) {
	int64_t z = c * a.step[0], y = c * a.step[1], dy = c * a.step[2];
	Pack<Total<T>, W> sum;
	UNROLL for (int k = 0; k < W; k++) sum.at[k] = 0;
	struct Loaded {
		int64_t z;
		Pack<T, W> y, dy;
	};
	share<3, 1, 2>(
	    a.o, from, to, step,
	    [&](Width<1>, Places<3> p) { return Loaded{z + p.at[0], adjacent<W, T>(a.y, y + p.at[1]), adjacent<W, T>(a.dy, dy + p.at[2])}; },
	    [&](Width<1>, Loaded x) {
		    Pack<Calc<T>, W> dz;
		    UNROLL for (int k = 0; k < W; k++) {
			    dz.at[k] = grad(a, (Calc<T>)x.y.at[k], (Calc<T>)x.dy.at[k]);
			    sum.at[k] += (Total<T>)dz.at[k];
		    }
		    lay((T *)a.dz + x.z, dz);
	    });
	return sum;
}

// Block (c, s) reduces the s-th split of WIDTH channels; the last block adds the partial sums.
template <class T, int WIDTH, int W> FN void grad_bias(const GradBias &a) {
	const uint32_t ROWS = 256 * W / WIDTH;
	uint32_t row = threadIdx.x / (WIDTH / W);
	uint64_t c = (uint64_t)blockIdx.x * WIDTH + threadIdx.x % (WIDTH / W) * W, own = (uint64_t)blockIdx.x * WIDTH + threadIdx.x % WIDTH;
	uint64_t from = blockIdx.y * (uint64_t)a.chunk, to = a.over - from < (uint64_t)a.chunk ? a.over : from + a.chunk;
	Pack<Total<T>, W> sums;
	UNROLL for (int k = 0; k < W; k++) sums.at[k] = 0;
	if (c < a.channels)
		sums = a.over < (1u << 31) ? sum_rows<T, W>(a, c, (uint32_t)from + row, (uint32_t)to, ROWS) : sum_rows<T, W>(a, c, from + row, to, (uint64_t)ROWS);
	Total<T> sum = columns<WIDTH, W>(sums);
	if (a.splits > 1) {
		Total<T> *part = (Total<T> *)a.part;
		if (threadIdx.x < WIDTH && own < a.channels)
			part[blockIdx.y * a.channels + own] = sum;
		if (!is_last_block((uint32_t)a.splits, a.counter + blockIdx.x))
			return;
		Pack<Total<T>, 1> all = {{0}};
		enum { AHEAD = 8, STEP = 256 / WIDTH };
		for (uint32_t s = threadIdx.x / WIDTH; s < a.splits; s += AHEAD * STEP) {
			Total<T> got[AHEAD];
			UNROLL for (int k = 0; k < AHEAD; k++) got[k] = s + k * STEP < a.splits && own < a.channels ? part[(s + k * STEP) * a.channels + own] : 0;
			UNROLL for (int k = 0; k < AHEAD; k++) all.at[0] += got[k];
		}
		sum = columns<WIDTH, 1>(all);
	}
	if (threadIdx.x < WIDTH && own < a.channels)
		put<T>(a.db, own * a.step[3], sum);
}

template <class T> FN void act_grad_bias(const GradBias &a) { grad_bias<T, 1, 1>(a); }
template <class T> FN void act_grad_bias_wide(const GradBias &a) {
	if (a.pack)
		grad_bias<T, 32, sizeof(T) == 8 ? 2 : 4>(a);
	else
		grad_bias<T, 32, 1>(a);
}
FLOATS(act_grad_bias, GradBias)
FLOATS(act_grad_bias_wide, GradBias)
