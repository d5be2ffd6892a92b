/* The loops for the compiler's default target, which every machine has. */
#define H5K_DIRECT_LOOPS h5k_direct_v2
#include "direct_isa.h"
