/* The loops for AVX-512 with BF16. */
#include "dnnl_plan.h"
#ifdef H5K_BUILDS_BF16
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi,bmi2,f16c,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16,avx2,fma,bmi,bmi2,f16c,lzcnt,prefer-vector-width=512,tune=skylake-avx512")
#endif
#define H5K_DIRECT_LOOPS h5k_direct_bf16
#define H5K_PAIRS
#include "direct_isa.h"
#include "bf16.h"

void h5k_bf16_round(int64_t n, const float *x, uint16_t *y) {
	for (int64_t i = 0; i < n; i += LANES)
		_mm256_mask_storeu_epi16(y + i, some(n - i), (__m256i)_mm512_cvtneps_pbh((__m512)load_some(x + i, n - i)));
}
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
