/* The loops for x86-64-v4: AVX-512. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,fma,bmi,bmi2,f16c,lzcnt,prefer-vector-width=512,tune=skylake-avx512")
#endif
#define H5K_RECURRENT_LOOPS h5k_recurrent_v4
#include "recurrent_isa.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
