// The common header of all kernels: CUDA C++ that clang compiles without a CUDA toolkit, and that nvcc
// and NVRTC accept.
//
//	KERNEL name(Args a) { … }
//
// A kernel takes one struct by value; Go declares the same struct field by field, with fields of 8 bytes,
// or pairs of 4, so that both layouts agree. Products and sums are fused only by fma(), so that every
// compiler gives the same bits.
#pragma once

#if defined(__clang__) && defined(__CUDA__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
struct uint3;
struct dim3;
#include <__clang_cuda_builtin_vars.h>
#define SHUFFLE(x, lane) __nvvm_shfl_sync_bfly_i32(~0u, x, lane, 31)
#define SHARED(p) (uint32_t)(uint64_t)(__attribute__((address_space(3))) const void *)(p)
#define HIGH(x, y) (uint64_t)((unsigned __int128)(x) * (y) >> 64)
#define ROLLED _Pragma("nounroll")
typedef unsigned int Two __attribute__((ext_vector_type(2)));
typedef unsigned int Four __attribute__((ext_vector_type(4)));
#else
#define SHARED(p) (uint32_t)__cvta_generic_to_shared(p)
#define SHUFFLE(x, lane) __shfl_xor_sync(~0u, x, lane)
#define HIGH(x, y) __umul64hi(x, y)
#define ROLLED _Pragma("unroll 1")
typedef uint2 Two;
typedef uint4 Four;
#endif

// With two resident blocks the assembler has enough registers not to spill any.
#define KERNEL extern "C" __global__ void __launch_bounds__(256, 2)
#define FN static __device__ __forceinline__
#define UNROLL _Pragma("unroll")

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

// Each thread's share of n elements, fewer than 2³¹.
#define EACH(i, n) for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += gridDim.x * blockDim.x)

FN uint32_t bits(float x) { return __builtin_bit_cast(uint32_t, x); }
FN uint64_t bits(double x) { return __builtin_bit_cast(uint64_t, x); }
FN float real(uint32_t x) { return __builtin_bit_cast(float, x); }
FN double real(uint64_t x) { return __builtin_bit_cast(double, x); }

FN float infinity() { return real(0x7f800000u); }
FN float not_a_number() { return real(0x7fc00000u); }

FN float fma(float x, float y, float z) {
	float r;
	asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r) : "f"(x), "f"(y), "f"(z));
	return r;
}
FN double fma(double x, double y, double z) {
	double r;
	asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(x), "d"(y), "d"(z));
	return r;
}

// The x of the lane whose number differs in those bits (shfl.bfly).
FN float other(float x, int lanes) { return __builtin_bit_cast(float, SHUFFLE(__builtin_bit_cast(int, x), lanes)); }
FN int other(int x, int lanes) { return SHUFFLE(x, lanes); }
FN uint64_t other(uint64_t x, int lanes) {
	uint32_t lo = (uint32_t)SHUFFLE((int)(uint32_t)x, lanes), hi = (uint32_t)SHUFFLE((int)(uint32_t)(x >> 32), lanes);
	return (uint64_t)hi << 32 | lo;
}
FN int64_t other(int64_t x, int lanes) { return (int64_t)other((uint64_t)x, lanes); }
FN double other(double x, int lanes) { return real(other(bits(x), lanes)); }

// Reduces x over groups of 1 to 32 neighbouring threads, or over all 256 of the block, in a fixed order;
// all threads get the result.
template <int THREADS, class T, class F> FN T together(T x, F f) {
	UNROLL for (int lanes = 1; lanes < THREADS && lanes < 32; lanes *= 2) x = f(x, other(x, lanes));
	if (THREADS <= 32)
		return x;
	__shared__ T part[8];
	if (threadIdx.x % 32 == 0)
		part[threadIdx.x / 32] = x;
	__syncthreads();
	x = part[0];
	UNROLL for (int warp = 1; warp < 8; warp++) x = f(x, part[warp]);
	__syncthreads();
	return x;
}
struct Plus {
	template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return x + y; }
};
struct Smaller {
	template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return y < x ? y : x; }
};
struct Larger { // NaN is the largest
	template <class T> __device__ __forceinline__ T operator()(T x, T y) const { return ((x > y) | (x != x)) ? x : y; }
};
