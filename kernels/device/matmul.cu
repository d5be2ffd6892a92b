// z = x·y + bias, or its ReLU, for matrices of any strides, single or batched; of single ones also act(z), beside z or
// in its place.
#include "product.cuh"
#include "activation.cuh"

struct Product {
	void *z;
	const void *x, *y, *bias;
	void *part, *activated; // act(z) is stored to activated if that is not null; a ReLU may else take the place of z
	int64_t bias_step, act;
	Extent e;
	int64_t batches, x_step[2], y_step[2], z_step[2], activated_step[2];
	int64_t axes, batch[6], x_batch[6], y_batch[6], z_batch[6];
};

template <class T> struct Matrix {
	const T *p;
	int64_t down, deeper; // strides along rows and along k
	__device__ __forceinline__ Place row(uint32_t i) const { return {i * down, 0, 0}; }
	__device__ __forceinline__ Place deep(uint32_t k) const { return {k * deeper, 0, 0}; }
	__device__ __forceinline__ bool holds(Place row, Place column) const { return !(row.i | column.j); }
	__device__ __forceinline__ const T *find(Place row, Place column) const { return element<T>(p, row, column); }
};

template <class T> struct Result {
	T *p;
	int64_t down, across;
	const T *bias;
	int64_t bias_step;
	bool relu;
	const Product &a;
	struct Column {
		int64_t at;
		Calc<T> bias;
	};
	__device__ __forceinline__ int64_t row(uint32_t i) const { return i * down; }
	__device__ __forceinline__ Column column(uint32_t j) const { return {j * across, bias ? (Calc<T>)bias[j * bias_step] : 0}; }
	__device__ __forceinline__ void put(int64_t row, Column c, Calc<T> sum) const {
		if (bias)
			sum += c.bias;
		p[row + c.at] = (T)(relu && sum < 0 ? 0 : sum);
	}
	enum { ACTIVATES = 1 };
	__device__ __forceinline__ bool activates() const { return a.activated; }
	__device__ __forceinline__ void activate(uint32_t i, uint32_t j) const {
		Calc<T> z = get<T>(p, i * down + j * across);
		::put<T>(a.activated, i * a.activated_step[0] + j * a.activated_step[1], activation(a.act, z));
	}
};

template <class T> FN Result<T> result(const Product &a, int64_t at) {
	return {(T *)a.z + at, a.z_step[0], a.z_step[1], (const T *)a.bias, a.bias_step, a.act == OF_RELU && !a.activated, a};
}

// Block (i, j, ·) computes tile (i, j) of splits of one or several batches.
template <class T, int TALL, int WIDE> FN void product(const Product &a) {
	for (uint64_t z = blockIdx.z; z < (uint64_t)a.batches * a.e.splits; z += gridDim.z) {
		uint64_t rest = z / a.e.splits;
		int64_t x = 0, y = 0, out = 0;
		for (int axis = (int)a.axes - 1; axis >= 0; axis--) {
			uint64_t size = (uint64_t)a.batch[axis], at = rest % size;
			x += at * a.x_batch[axis], y += at * a.y_batch[axis], out += at * a.z_batch[axis];
			rest /= size;
		}
		Matrix<T> left = {(const T *)a.x + x, a.x_step[0], a.x_step[1]}, right = {(const T *)a.y + y, a.y_step[1], a.y_step[0]};
		multiply<TALL, WIDE, T>(a.e, z % a.e.splits, a.part, left, right, result<T>(a, out));
	}
}

template <class T> FN void product(const Product &a) { product<T, 2, 2>(a); }
template <class T> FN void product_thin(const Product &a) { product<T, 4, 1>(a); }
template <class T> FN void product_splits(const Product &a) { add_splits<T>(a.e, a.part, result<T>(a, 0)); }
PRODUCTS(product, Product)
PRODUCTS(product_thin, Product)
FLOATS(product_splits, Product)
