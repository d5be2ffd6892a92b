/* The loops for numbers of bfloat16 in tiles of AMX. */
#include "tiles.h"
#ifdef H5K_BUILDS_TILES
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,avx2,fma,bmi,bmi2,f16c,lzcnt,prefer-vector-width=512")
#define H5K_DIRECT_LOOPS h5k_direct_amx
#define H5K_TILES
#include "direct_isa.h"
#endif
