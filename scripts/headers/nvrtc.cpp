// Compares what cuda/libraries.h says of NVRTC with nvrtc.h.
#include <nvrtc.h>

#include "../../cuda/libraries.h"
#include "alike.hpp"

H5_NVRTC(MATCH)
