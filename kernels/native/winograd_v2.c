/* The loops for the compiler's default target, which every machine has. */
#define H5K_WINOGRAD_LOOPS h5k_winograd_v2
#include "winograd_isa.h"
