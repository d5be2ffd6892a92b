// Layer normalization of rows and its gradients; layernorm.go has the formulas.
#include "last_block.cuh"
#include "math.cuh"

struct Rows { // a matrix, or a vector with one of its strides
	void *p;
	int64_t row, column;
};

struct LayerNorm {
	int64_t rows, n;
	double epsilon;
	Rows x, dy, y, mean, invstd, gamma, beta, dgamma, dbeta; // p is null if there is none; y is dx in the gradients
	double *part;                                            // 2 × splits × n, if there are several splits
	uint32_t *counter;                                       // for each tile of columns
	int64_t splits;
};

// Statistics of 16-bit floats are float32.
template <class T> struct Statistic {
	typedef Calc<T> type;
};
template <class T> FN Calc<T> statistic(const Rows &a, uint64_t row) { return ((const typename Statistic<T>::type *)a.p)[row * a.row]; }
template <class T> FN void set_statistic(const Rows &a, uint64_t row, Calc<T> v) { ((typename Statistic<T>::type *)a.p)[row * a.row] = v; }
template <class T> FN Calc<T> element_of(const Rows &a, uint64_t row, uint64_t column) { return get<T>(a.p, row * a.row + column * a.column); }

// The rows of a warp, or of a block if they are long; and the columns of a thread.
#define ROWS(r) \
	for (uint64_t r = blockIdx.x * (256 / LANES) + threadIdx.x / LANES; r < (uint64_t)a.rows; r += gridDim.x * (256 / LANES))
#define ALONG(i) for (uint64_t i = threadIdx.x % LANES; i < (uint64_t)a.n; i += LANES)

// The variance is taken about the mean as rounded, so that a large mean does not cancel it.
template <int LANES, class T> FN void layer_norm_by(const LayerNorm &a) {
	typedef Calc<T> REAL;
	ROWS(r) {
		REAL s = 0, t = 0, n = (REAL)a.n;
		ALONG(i) s += element_of<T>(a.x, r, i);
		REAL pivot = together<LANES>(s, Plus()) / n;
		s = 0;
		ALONG(i) {
			REAL d = element_of<T>(a.x, r, i) - pivot;
			s += d, t += d * d;
		}
		REAL rest = together<LANES>(s, Plus()) / n, variance = together<LANES>(t, Plus()) / n - rest * rest;
		REAL inverse = 1 / SQRT((variance < 0 ? 0 : variance) + (REAL)a.epsilon);
		ALONG(i) {
			REAL v = (element_of<T>(a.x, r, i) - pivot - rest) * inverse;
			if (a.gamma.p)
				v = v * element_of<T>(a.gamma, 0, i) + element_of<T>(a.beta, 0, i);
			put<T>(a.y.p, r * a.y.row + i * a.y.column, v);
		}
		if (threadIdx.x % LANES == 0)
			set_statistic<T>(a.mean, r, pivot + rest), set_statistic<T>(a.invstd, r, inverse);
	}
}

template <int LANES, class T> FN void layer_norm_grad_by(const LayerNorm &a) {
	typedef Calc<T> REAL;
	ROWS(r) {
		REAL mean = statistic<T>(a.mean, r), inverse = statistic<T>(a.invstd, r), s = 0, t = 0, n = (REAL)a.n;
		auto grad = [&](uint64_t i) { return element_of<T>(a.dy, r, i) * (a.gamma.p ? element_of<T>(a.gamma, 0, i) : 1); };
		ALONG(i) {
			REAL g = grad(i);
			s += g, t += g * ((element_of<T>(a.x, r, i) - mean) * inverse);
		}
		s = together<LANES>(s, Plus()) / n, t = together<LANES>(t, Plus()) / n;
		ALONG(i) put<T>(a.y.p, r * a.y.row + i * a.y.column, inverse * (grad(i) - s - (element_of<T>(a.x, r, i) - mean) * inverse * t));
	}
}

template <class REAL> struct Both {
	REAL gamma, beta;
};

// dgamma and dbeta of 32 columns: block (c, s) adds up the s-th split of the rows; the last block adds the splits.
template <class T> FN void layer_norm_parameters(const LayerNorm &a) {
	enum { WIDE = 32, DEEP = 8 };
	__shared__ Both<double> parts[DEEP][WIDE];
	uint32_t lane = threadIdx.x % WIDE, deep = threadIdx.x / WIDE;
	uint64_t chunk = (a.rows + a.splits - 1) / a.splits, from = blockIdx.y * chunk, to = a.rows - from < chunk ? a.rows : from + chunk;
	for (uint64_t tile = blockIdx.x; tile * WIDE < (uint64_t)a.n; tile += gridDim.x) {
		uint64_t c = tile * WIDE + lane;
		bool there = c < (uint64_t)a.n;
		auto sum = [&](Both<double> mine) { // of the threads of a column; the first gets it
			parts[deep][lane] = mine;
			__syncthreads();
			for (int k = 1; k < DEEP && deep == 0; k++) mine.gamma += parts[k][lane].gamma, mine.beta += parts[k][lane].beta;
			__syncthreads();
			return mine;
		};
		Both<double> both = {0, 0};
		for (uint64_t r = from + deep; there && r < to; r += DEEP) {
			Calc<T> dy = element_of<T>(a.dy, r, c);
			both.gamma += dy * ((element_of<T>(a.x, r, c) - statistic<T>(a.mean, r)) * statistic<T>(a.invstd, r));
			both.beta += dy;
		}
		both = sum(both);
		if (a.splits > 1) { // then a block has one tile
			if (deep == 0 && there)
				a.part[2 * blockIdx.y * a.n + c] = both.gamma, a.part[(2 * blockIdx.y + 1) * a.n + c] = both.beta;
			if (!is_last_block((uint32_t)a.splits, a.counter + blockIdx.x))
				return;
			both = {0, 0};
			for (uint64_t s = deep; there && s < (uint64_t)a.splits; s += DEEP) both.gamma += a.part[2 * s * a.n + c], both.beta += a.part[(2 * s + 1) * a.n + c];
			both = sum(both);
		}
		if (deep == 0 && there)
			put<T>(a.dgamma.p, c * a.dgamma.column, both.gamma), put<T>(a.dbeta.p, c * a.dbeta.column, both.beta);
	}
}

template <class T> FN void layer_norm(const LayerNorm &a) { layer_norm_by<32, T>(a); }
template <class T> FN void layer_norm_long(const LayerNorm &a) { layer_norm_by<256, T>(a); }
template <class T> FN void layer_norm_grad(const LayerNorm &a) { layer_norm_grad_by<32, T>(a); }
template <class T> FN void layer_norm_grad_long(const LayerNorm &a) { layer_norm_grad_by<256, T>(a); }
FLOATS(layer_norm, LayerNorm)
FLOATS(layer_norm_long, LayerNorm)
FLOATS(layer_norm_grad, LayerNorm)
FLOATS(layer_norm_grad_long, LayerNorm)
FLOATS(layer_norm_parameters, LayerNorm)
#undef ROWS
#undef ALONG
