// Kernels that each have one fault, but for ok. Compiled by
//
//	clang++-19 -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_75 --cuda-feature=+ptx70 -O3 -S -o faults.ptx faults.cu
#define __shared__ __attribute__((shared))
#include <__clang_cuda_builtin_vars.h>
#define KERNEL extern "C" __attribute__((global)) void

// ok reverses 64 elements through shared memory.
KERNEL ok(float *x) {
	__shared__ float s[64];
	int t = threadIdx.x;
	s[t] = x[t];
	__syncthreads();
	x[t] = s[63 - t];
}

KERNEL race(float *x) {
	__shared__ float s[64];
	int t = threadIdx.x;
	s[t] = x[t];
	x[t] = s[63 - t];
}

KERNEL overwrite(float *x) {
	__shared__ float s[64];
	int t = threadIdx.x;
	s[t] = x[t];
	__syncthreads();
	float y = s[63 - t];
	s[t] = y + 1;
	__syncthreads();
	x[t] = s[t];
}

KERNEL divergent(float *x) {
	if (threadIdx.x < 40) {
		x[0] = 1;
		__syncthreads();
	} else {
		x[1] = 2;
		__syncthreads();
	}
	x[threadIdx.x] = 0;
}

KERNEL partial(float *x) {
	float v = x[threadIdx.x];
	if (threadIdx.x < 40)
		v += __nvvm_shfl_sync_down_f32(~0u, v, 1, 31);
	x[threadIdx.x] = v;
}

KERNEL outside(float *x) { x[threadIdx.x + 1] = 1; }

KERNEL overflow(float *x) {
	__shared__ float s[8];
	s[threadIdx.x & 15] = x[threadIdx.x];
	__syncthreads();
	x[threadIdx.x] = s[0];
}

KERNEL misaligned(char *x) { *(float *)(x + 2) = 1; }

// column reads a matrix of 32 columns by columns, each warp one: of global memory and of shared.
KERNEL column(float *x) {
	__shared__ float s[1024];
	int t = threadIdx.x;
	s[t] = x[t];
	__syncthreads();
	x[t % 32 * 32 + t / 32] = s[t % 32 * 32 + t / 32];
}

// tail is right: threads leave the loop at different times and meet again for the shuffle,
// wherever the compiler has put the loop.
KERNEL tail(float *x) {
	float sum = 0;
	for (int i = 0; i < (int)threadIdx.x; i++)
		sum += x[i];
	x[threadIdx.x] = sum + __nvvm_shfl_sync_down_f32(~0u, sum, 1, 31);
}
