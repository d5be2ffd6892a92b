/* A CUDA driver that does nothing, at once: what takes time under it, takes the host's. Memory is
 * the host's; copies of at most 4 KiB are made, larger ones would be a device's work. What is
 * computed is worth nothing. What is not here, rest.c says went well. */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 4096 };

#ifndef GPUS
#define GPUS 1
#endif

static h5_result copied(void *to, const void *from, size_t bytes) {
	if (bytes <= SMALL)
		memcpy(to, from, bytes);
	return 0;
}

#define DOES(name, params, what) \
	h5_result name params { \
		what; \
		return 0; \
	}

DOES(cuDriverGetVersion, (int *version), *version = 13000)
DOES(cuGetErrorName, (h5_result error, const char **name), *name = "NULL")
DOES(cuGetErrorString, (h5_result error, const char **text), *text = "null")
DOES(cuDeviceGetCount, (int *count), *count = GPUS)
DOES(cuDeviceGet, (h5_device * device, int ordinal), *device = ordinal)
DOES(cuDeviceGetName, (char *name, int size, h5_device device), snprintf(name, size, "no GPU"))
DOES(cuDeviceTotalMem_v2, (size_t * bytes, h5_device device), *bytes = (size_t)1 << 37)
DOES(cuDeviceGetAttribute, (int *value, int attribute, h5_device device), *value = attribute == H5_MULTIPROCESSORS ? 132 : attribute == H5_MAJOR ? 9 : attribute == H5_POOLS_SUPPORTED)
DOES(cuDeviceCanAccessPeer, (int *can, h5_device device, h5_device peer), *can = 0)
DOES(cuDevicePrimaryCtxRetain, (h5_handle * context, h5_device device), *context = 1)
DOES(cuCtxGetCurrent, (h5_handle * context), *context = 1)
DOES(cuMemGetInfo_v2, (size_t * available, size_t *total), *available = *total = (size_t)1 << 37)
DOES(cuMemPoolCreate, (h5_handle * pool, const h5_pool_props *props), *pool = 1)
DOES(cuMemAllocFromPoolAsync, (h5_address * at, size_t bytes, h5_handle pool, h5_handle stream), *at = (h5_address)aligned_alloc(256, (bytes + 255) & ~(size_t)255))
DOES(cuMemFreeAsync, (h5_address at, h5_handle stream), free((void *)at))
DOES(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags), *at = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095))
DOES(cuMemFreeHost, (void *at), free(at))
DOES(cuMemcpyHtoDAsync_v2, (h5_address to, const void *from, size_t bytes, h5_handle stream), copied((void *)to, from, bytes))
DOES(cuMemcpyDtoHAsync_v2, (void *to, h5_address from, size_t bytes, h5_handle stream), copied(to, (void *)from, bytes))
DOES(cuStreamCreate, (h5_handle * stream, unsigned flags), *stream = 1)
DOES(cuStreamEndCapture, (h5_handle stream, h5_handle *graph), *graph = 1)
DOES(cuStreamGetCaptureInfo_v2, (h5_handle stream, int *status, uint64_t *id, h5_handle *graph, h5_handle **nodes, size_t *count), *count = 0)
DOES(cuGraphInstantiateWithFlags, (h5_handle * exec, h5_handle graph, unsigned long long flags), *exec = 1)
DOES(cuEventCreate, (h5_handle * event, unsigned flags), *event = 1)
DOES(cuEventElapsedTime, (float *milliseconds, h5_handle from, h5_handle to), *milliseconds = 0)
DOES(cuModuleLoadDataEx, (h5_handle * module, const void *text, unsigned count, int *options, void **values), *module = 1)
DOES(cuModuleGetFunction, (h5_handle * function, h5_handle module, const char *name), *function = 1)
