/* The loops for the compiler's default target, which every machine has. */
#define H5K_IMAGES h5k_images_v2
#include "images_isa.h"
