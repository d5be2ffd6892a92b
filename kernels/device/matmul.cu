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

template <class REAL> struct Matrix {
	const REAL *p;
	int64_t down, across;
	__device__ __forceinline__ REAL operator()(uint32_t i, uint32_t j) const { return p[i * down + j * across]; }
};

template <class REAL> struct Result {
	REAL *p;
	int64_t down, across;
	const REAL *bias;
	int64_t bias_step, relu;
	__device__ __forceinline__ void operator()(uint32_t i, uint32_t j, REAL sum) const {
		if (bias)
			sum += bias[j * bias_step];
		p[i * down + j * across] = relu && sum < 0 ? 0 : sum;
	}
};

template <class REAL> FN Result<REAL> result(const Product &a, int64_t at) {
	return {(REAL *)a.z + at, a.z_step[0], a.z_step[1], (const REAL *)a.bias, a.bias_step, a.relu};
}

// Block (i, j, ·) does tile (i, j) of some batches' splits.
template <class REAL, int WIDE> FN void product(const Product &a) {
	for (uint32_t z = blockIdx.z; z < a.batches * a.e.splits; z += gridDim.z) {
		uint32_t rest = z / a.e.splits;
		int64_t x = 0, y = 0, out = 0;
		for (int axis = (int)a.axes - 1; axis >= 0; axis--) {
			uint32_t size = (uint32_t)a.batch[axis], at = rest % size;
			x += at * a.x_batch[axis], y += at * a.y_batch[axis], out += at * a.z_batch[axis];
			rest /= size;
		}
		Matrix<REAL> left = {(const REAL *)a.x + x, a.x_step[0], a.x_step[1]}, right = {(const REAL *)a.y + y, a.y_step[0], a.y_step[1]};
		multiply<WIDE>(a.e, blockIdx.x * 64, blockIdx.y * 16 * WIDE, z % a.e.splits, (REAL *)a.part, left, right, result<REAL>(a, out));
	}
}

template <class REAL> FN void product(const Product &a) { product<REAL, 4>(a); }
template <class REAL> FN void product_thin(const Product &a) { product<REAL, 1>(a); }
template <class REAL> FN void product_splits(const Product &a) { add_splits(a.e, (const REAL *)a.part, result<REAL>(a, 0)); }
BOTH(product, Product)
BOTH(product_thin, Product)
BOTH(product_splits, Product)
