// The gradients of an activation and of the bias before it: ActGradBias of biasact.go.
#include "last_block.cuh"
#include "math.cuh"

#include "ops.h"

struct GradBias {
	void *dz, *db;
	const void *y, *dy;
	void *part;        // splits × channels, where there are several splits
	uint32_t *counter; // for each tile of channels
	double scale;
	uint64_t channels, over;
	int64_t splits, act, step[4]; // from channel to channel of dz, y, dy and db
	Grid o;                       // of dz, y, dy: what is added up for a channel
};

enum { OF_NONE, OF_RELU, OF_TANH, OF_SIGMOID, OF_GELU, OF_GELU_TANH, OF_SILU }; // as package kernels numbers them

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

// Sums over the threads of each channel. Threads handle WIDTH adjacent channels; the first WIDTH threads
// get the result.
template <int WIDTH, class T> FN T columns(T sum) {
	if (WIDTH == 1)
		return together<256>(sum, Plus());
	__shared__ T part[256];
	part[threadIdx.x] = sum;
	__syncthreads();
	sum = 0;
	if (threadIdx.x < WIDTH) {
		UNROLL for (int k = 0; k < 256 / WIDTH; k++) sum += part[threadIdx.x + k * WIDTH];
	}
	__syncthreads();
	return sum;
}

// Block (c, s) reduces the s-th split of WIDTH channels; the last block adds the partial sums.
template <class T, int WIDTH> FN void grad_bias(const GradBias &a) {
	const int ROWS = 256 / WIDTH;
	uint32_t row = threadIdx.x / WIDTH;
	uint64_t c = (uint64_t)blockIdx.x * WIDTH + threadIdx.x % WIDTH;
	uint64_t chunk = (a.over + a.splits - 1) / a.splits, from = blockIdx.y * chunk, to = a.over - from < chunk ? a.over : from + chunk;
	Total<T> sum = 0;
	if (c < a.channels) {
		sum = collect<3>(
		    a.o, from + row, to, ROWS, sum,
		    [&](Places<3> p) {
			    Calc<T> dz = grad(a, get<T>(a.y, p.at[1] + c * a.step[1]), get<T>(a.dy, p.at[2] + c * a.step[2]));
			    put<T>(a.dz, p.at[0] + c * a.step[0], dz);
			    return (Total<T>)dz;
		    },
		    Plus());
	}
	sum = columns<WIDTH>(sum);
	if (a.splits > 1) {
		Total<T> *part = (Total<T> *)a.part;
		if (threadIdx.x < WIDTH && c < a.channels)
			part[blockIdx.y * a.channels + c] = sum;
		if (!is_last_block((uint32_t)a.splits, a.counter + blockIdx.x))
			return;
		sum = 0;
		enum { AHEAD = 8 };
		for (uint32_t s = row; s < a.splits; s += AHEAD * ROWS) {
			Total<T> got[AHEAD];
			UNROLL for (int k = 0; k < AHEAD; k++) got[k] = s + k * ROWS < a.splits && c < a.channels ? part[(s + k * ROWS) * a.channels + c] : 0;
			UNROLL for (int k = 0; k < AHEAD; k++) sum += got[k];
		}
		sum = columns<WIDTH>(sum);
	}
	if (threadIdx.x < WIDTH && c < a.channels)
		put<T>(a.db, c * a.step[3], sum);
}

template <class T> FN void act_grad_bias(const GradBias &a) { grad_bias<T, 1>(a); }
template <class T> FN void act_grad_bias_wide(const GradBias &a) { grad_bias<T, 32>(a); }
FLOATS(act_grad_bias, GradBias)
FLOATS(act_grad_bias_wide, GradBias)
