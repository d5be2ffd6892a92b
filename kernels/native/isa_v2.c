/* The loops for the compiler's default target, which every machine has. On x86-64 only processors without AVX2 use them: they are compiled for 17
 * seconds and not 40. */
#if defined(__x86_64__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif
#define H5K_TABLE h5k_table_v2
#define H5K_NAME "baseline"
#include "isa.h"
