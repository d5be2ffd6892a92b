/* The loops for the compiler's default target, which every machine has. */
#define H5K_PIXELS h5k_pixels_v2
#include "pixels_isa.h"
