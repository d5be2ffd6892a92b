// y = x/(1 + |x|) and its slope, as anyone may write kernels: NVRTC compiles this. softsign.ptx is what
// clang makes of it (see README.md), for machines without NVRTC.
template <class T> __device__ T room(T x) { return 1 + (x < 0 ? -x : x); }

template <class T> __device__ void softsign(T *y, const T *x, long long n) {
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		y[i] = x[i] / room(x[i]);
}

template <class T> __device__ void slope(T *dx, const T *x, const T *dy, long long n) {
	for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
		dx[i] = dy[i] / (room(x[i]) * room(x[i]));
}

extern "C" __global__ void softsign_float32(float *y, const float *x, long long n) { softsign(y, x, n); }
extern "C" __global__ void softsign_float64(double *y, const double *x, long long n) { softsign(y, x, n); }

extern "C" __global__ void softsign_slope_float32(float *dx, const float *x, const float *y, const float *dy, long long n) { slope(dx, x, dy, n); }
extern "C" __global__ void softsign_slope_float64(double *dx, const double *x, const double *y, const double *dy, long long n) { slope(dx, x, dy, n); }

// y = scale·(x, x + 1, …): arguments of several sizes.
extern "C" __global__ void ramp(float *y, float scale, int from, unsigned char step) {
	y[threadIdx.x] = scale * (from + step * (int)threadIdx.x);
}
