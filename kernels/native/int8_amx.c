/* The loops for AVX-512 with VNNI and tiles of AMX. */
#include "tiles.h"
#ifdef H5K_BUILDS_TILES
#pragma GCC target("avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8,avx2,fma,bmi,bmi2,f16c,lzcnt,prefer-vector-width=512")
#define H5K_INT8_LOOPS h5k_int8_amx
#define H5K_TILES
#include "int8_isa.h"
#endif
