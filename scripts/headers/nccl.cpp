// Compares what cuda/libraries.h says of NCCL with nccl.h.
#include <nccl.h>

#include "../../cuda/libraries.h"
#include "alike.hpp"

H5_NCCL(MATCH)

NUMBER(H5_NCCL_UINT8, ncclUint8)
NUMBER(H5_NCCL_FLOAT32, ncclFloat32)
NUMBER(H5_NCCL_FLOAT64, ncclFloat64)
NUMBER(H5_NCCL_SUM, ncclSum)
static_assert(sizeof(h5_nccl_id) == sizeof(ncclUniqueId) && NCCL_UNIQUE_ID_BYTES == sizeof(h5_nccl_id));
