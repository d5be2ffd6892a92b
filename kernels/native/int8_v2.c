/* The loops for the compiler's default target, which every machine has. */
#define H5K_INT8_LOOPS h5k_int8_v2
#include "int8_isa.h"
