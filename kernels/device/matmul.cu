// z = x·y + bias, or its relu, of matrices that lie anyhow, alone or in batches.
#include "product.cuh"

struct Product {
	void *z;
	const void *x, *y, *bias;
	void *part;
	int64_t bias_step, relu;
	Extent e;
	int64_t batches, x_step[2], y_step[2], z_step[2];
	int64_t axes, batch[6], x_batch[6], y_batch[6], z_batch[6];
};

template <class T> struct Matrix {
	const T *p;
	int64_t down, across;
	__device__ __forceinline__ T operator()(uint32_t i, uint32_t j) const { return p[i * down + j * across]; }
};

template <class T> struct Result {
	T *p;
	int64_t down, across;
	const T *bias;
	int64_t bias_step, relu;
	__device__ __forceinline__ void operator()(uint32_t i, uint32_t j, Calc<T> sum) const {
		if (bias)
			sum += (Calc<T>)bias[j * bias_step];
		p[i * down + j * across] = (T)(relu && sum < 0 ? 0 : sum);
	}
};

template <class T> FN Result<T> result(const Product &a, int64_t at) {
	return {(T *)a.z + at, a.z_step[0], a.z_step[1], (const T *)a.bias, a.bias_step, a.relu};
}

// Block (i, j, ·) does tile (i, j) of some batches' splits.
template <class T, int WIDE> FN void product(const Product &a) {
	for (uint64_t z = blockIdx.z; z < (uint64_t)a.batches * a.e.splits; z += gridDim.z) {
		uint64_t rest = z / a.e.splits;
		int64_t x = 0, y = 0, out = 0;
		for (int axis = (int)a.axes - 1; axis >= 0; axis--) {
			uint64_t size = (uint64_t)a.batch[axis], at = rest % size;
			x += at * a.x_batch[axis], y += at * a.y_batch[axis], out += at * a.z_batch[axis];
			rest /= size;
		}
		Matrix<T> left = {(const T *)a.x + x, a.x_step[0], a.x_step[1]}, right = {(const T *)a.y + y, a.y_step[0], a.y_step[1]};
		multiply<WIDE, T>(a.e, blockIdx.x * 64, blockIdx.y * 16 * WIDE, z % a.e.splits, a.part, left, right, result<T>(a, out));
	}
}

template <class T> FN void product(const Product &a) { product<T, 4>(a); }
template <class T> FN void product_thin(const Product &a) { product<T, 1>(a); }
template <class T> FN void product_splits(const Product &a) { add_splits<T>(a.e, a.part, result<T>(a, 0)); }
FLOATS(product, Product)
FLOATS(product_thin, Product)
FLOATS(product_splits, Product)
