/* The loops for AVX-512 with VNNI. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni,avx2,fma,bmi,bmi2,f16c,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni,avx2,fma,bmi,bmi2,f16c,lzcnt,prefer-vector-width=512")
#endif
#define H5K_INT8_LOOPS h5k_int8_vnni
#include "int8_isa.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
