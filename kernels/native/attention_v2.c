/* The loops for the compiler's default target, which every machine has. */
#define H5K_ATTENTION_LOOPS h5k_attention_v2
#include "attention_isa.h"
