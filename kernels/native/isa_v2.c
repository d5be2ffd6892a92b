/* The loops for the compiler's default target, which every machine has. */
#define H5K_TABLE h5k_table_v2
#define H5K_NAME "baseline"
#include "isa.h"
