/* The loops for x86-64-v3: AVX2. */
#ifdef __x86_64__
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma,bmi,bmi2,f16c,lzcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,bmi,bmi2,f16c,lzcnt")
#endif
#define H5K_ATTENTION_LOOPS h5k_attention_v3
#include "attention_isa.h"
#ifdef __clang__
#pragma clang attribute pop
#endif
#endif
