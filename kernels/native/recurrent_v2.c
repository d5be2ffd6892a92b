/* The loops for the compiler's default target, which every machine has. */
#define H5K_RECURRENT_LOOPS h5k_recurrent_v2
#include "recurrent_isa.h"
