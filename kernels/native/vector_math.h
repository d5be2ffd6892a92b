#ifndef H5K_VECTOR_MATH_H
#define H5K_VECTOR_MATH_H

#ifdef __clang__ /* it has no libmvec, and says of every loop that it stays scalar */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#include <math.h>

/* Vector mathematics is glibc's libmvec, 4 ulp (x86-64 since 2.22, its tanh and erf since 2.35);
 * it gets NaN, infinities and overflow right. math.h declares it for -ffast-math only.
 * sqrt is ours (vsqrt.c), as C's sets errno, which keeps it from being vectorized. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define H5K_SIMD __attribute__((simd("notinbranch"), const))
H5K_SIMD float expf(float);
H5K_SIMD double exp(double);
H5K_SIMD float logf(float);
H5K_SIMD double log(double);
H5K_SIMD float cosf(float);
H5K_SIMD double cos(double);
H5K_SIMD float sinf(float);
H5K_SIMD double sin(double);
H5K_SIMD float powf(float, float);
H5K_SIMD double pow(double, double);
#if __GLIBC_PREREQ(2, 35)
#define UNARY(name) \
	H5K_SIMD float name##f(float); \
	H5K_SIMD double name(double);
UNARY(tanh) UNARY(erf) UNARY(erfc) UNARY(exp2) UNARY(expm1) UNARY(log1p) UNARY(log2) UNARY(log10) UNARY(tan)
UNARY(asin) UNARY(acos) UNARY(atan) UNARY(sinh) UNARY(cosh) UNARY(asinh) UNARY(acosh) UNARY(atanh)
#undef UNARY
H5K_SIMD float atan2f(float, float);
H5K_SIMD double atan2(double, double);
H5K_SIMD float hypotf(float, float);
H5K_SIMD double hypot(double, double);
#endif
H5K_SIMD float h5k_sqrtf(float);
H5K_SIMD double h5k_sqrt(double);
#else
#define h5k_sqrtf sqrtf
#define h5k_sqrt sqrt
#endif

#endif
