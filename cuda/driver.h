/* The part of the CUDA driver API that is used, declared by hand: the CUDA toolkit is not needed
 * to build, and libcuda is opened at run time if it is installed. Names and values are those of
 * cuda.h, with versioned names where it renames functions. */
#ifndef H5_DRIVER_H
#define H5_DRIVER_H

#include <stddef.h>
#include <stdint.h>

typedef int h5_result;
typedef int h5_device;
typedef uint64_t h5_address;
typedef uintptr_t h5_handle; /* of a context, stream, event, module, function, pool */

typedef struct { /* CUmemPoolProps */
	int allocation, handles, location, device;
	void *security;
	size_t most;
	unsigned short usage;
	unsigned char reserved[54];
} h5_pool_props;

typedef struct { /* CUmemAccessDesc */
	int location, device, access;
} h5_pool_access;

/* Constants; scripts/headers/driver.cpp compares all of this with cuda.h. */
enum {
	H5_SUCCESS = 0,
	H5_INVALID_VALUE = 1,
	H5_OUT_OF_MEMORY = 2,
	H5_INVALID_IMAGE = 200,
	H5_INVALID_CONTEXT = 201,
	H5_INVALID_PTX = 218,
	H5_INVALID_HANDLE = 400,
	H5_NOT_FOUND = 500,
	H5_NOT_READY = 600,
	H5_LAUNCH_FAILED = 719,
	H5_CAPTURE_UNSUPPORTED = 900,
	H5_CAPTURE_INVALIDATED = 901,
	H5_CAPTURE_UNJOINED = 904,
	H5_CAPTURE_ISOLATION = 905,
	H5_CAPTURED_EVENT = 907,

	H5_NOT_SUPPORTED = 801,

	H5_MULTIPROCESSORS = 16, /* attributes of a device */
	H5_MAJOR = 75,
	H5_MINOR = 76,
	H5_POOLS_SUPPORTED = 115,

	H5_POOL_PINNED = 1, /* CU_MEM_ALLOCATION_TYPE_PINNED */
	H5_POOL_LOCATION_DEVICE = 1,
	H5_POOL_RELEASE_THRESHOLD = 4, /* attribute: bytes that the pool keeps at synchronization */
	H5_POOL_READWRITE = 3,

	H5_HOST_PORTABLE = 1,
	H5_STREAM_NON_BLOCKING = 1, /* does not synchronize with the default stream */
	H5_EVENT_BLOCKING_SYNC = 1,
	H5_EVENT_DISABLE_TIMING = 2,
	H5_CAPTURE_RELAXED = 2,
	H5_FUNCTION_MAX_DYNAMIC_SHARED = 8, /* attribute: bytes of dynamic shared memory that a launch may use */
	H5_CAPTURE_ADD = 0, /* to the dependencies of the next node */
	H5_CAPTURE_SET = 1,
	H5_JIT_ERROR_LOG = 5,
	H5_JIT_ERROR_LOG_BYTES = 6,
	H5_JIT_INPUT_PTX = 1
};

/* Functions without which there is no computing. */
#define H5_REQUIRED(X) \
	X(cuInit, (unsigned flags)) \
	X(cuDriverGetVersion, (int *version)) \
	X(cuGetErrorName, (h5_result error, const char **name)) \
	X(cuGetErrorString, (h5_result error, const char **text)) \
	X(cuDeviceGetCount, (int *count)) \
	X(cuDeviceGet, (h5_device * device, int ordinal)) \
	X(cuDeviceGetName, (char *name, int size, h5_device device)) \
	X(cuDeviceTotalMem_v2, (size_t * bytes, h5_device device)) \
	X(cuDeviceGetAttribute, (int *value, int attribute, h5_device device)) \
	X(cuDeviceCanAccessPeer, (int *can, h5_device device, h5_device peer)) \
	X(cuDevicePrimaryCtxRetain, (h5_handle * context, h5_device device)) \
	X(cuCtxSetCurrent, (h5_handle context)) \
	X(cuCtxGetCurrent, (h5_handle * context)) \
	X(cuCtxSynchronize, (void)) \
	X(cuMemGetInfo_v2, (size_t * available, size_t *total)) \
	X(cuMemAlloc_v2, (h5_address * at, size_t bytes)) \
	X(cuMemFree_v2, (h5_address at)) \
	X(cuMemHostAlloc, (void **at, size_t bytes, unsigned flags)) \
	X(cuMemFreeHost, (void *at)) \
	X(cuMemcpyHtoDAsync_v2, (h5_address to, const void *from, size_t bytes, h5_handle stream)) \
	X(cuMemcpyDtoHAsync_v2, (void *to, h5_address from, size_t bytes, h5_handle stream)) \
	X(cuMemcpyDtoDAsync_v2, (h5_address to, h5_address from, size_t bytes, h5_handle stream)) \
	X(cuMemcpyPeerAsync, (h5_address to, h5_handle there, h5_address from, h5_handle here, size_t bytes, h5_handle stream)) \
	X(cuStreamCreate, (h5_handle * stream, unsigned flags)) \
	X(cuStreamDestroy_v2, (h5_handle stream)) \
	X(cuStreamSynchronize, (h5_handle stream)) \
	X(cuStreamWaitEvent, (h5_handle stream, h5_handle event, unsigned flags)) \
	X(cuEventCreate, (h5_handle * event, unsigned flags)) \
	X(cuEventDestroy_v2, (h5_handle event)) \
	X(cuEventRecord, (h5_handle event, h5_handle stream)) \
	X(cuEventQuery, (h5_handle event)) \
	X(cuEventSynchronize, (h5_handle event)) \
	X(cuEventElapsedTime, (float *milliseconds, h5_handle from, h5_handle to)) \
	X(cuModuleLoadDataEx, (h5_handle * module, const void *text, unsigned count, int *options, void **values)) \
	X(cuModuleGetFunction, (h5_handle * function, h5_handle module, const char *name)) \
	X(cuFuncSetAttribute, (h5_handle function, int attribute, int value)) \
	X(cuLaunchKernel, (h5_handle function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, \
		unsigned shared, h5_handle stream, void **params, void **extra))

/* Functions that a driver may lack or refuse, as those of virtual GPUs do.
 * fallback.go says what is done without them. */
#define H5_OPTIONAL(X) \
	X(cuMemPoolCreate, (h5_handle * pool, const h5_pool_props *props)) \
	X(cuMemPoolSetAttribute, (h5_handle pool, int attribute, void *value)) \
	X(cuMemPoolSetAccess, (h5_handle pool, const h5_pool_access *access, size_t count)) \
	X(cuMemPoolTrimTo, (h5_handle pool, size_t keep)) \
	X(cuMemAllocFromPoolAsync, (h5_address * at, size_t bytes, h5_handle pool, h5_handle stream)) \
	X(cuMemFreeAsync, (h5_address at, h5_handle stream)) \
	X(cuStreamBeginCapture_v2, (h5_handle stream, int mode)) \
	X(cuStreamEndCapture, (h5_handle stream, h5_handle *graph)) \
	X(cuStreamGetCaptureInfo_v2, (h5_handle stream, int *status, uint64_t *id, h5_handle *graph, h5_handle **nodes, size_t *count)) \
	X(cuStreamUpdateCaptureDependencies, (h5_handle stream, h5_handle *nodes, size_t count, unsigned flags)) \
	X(cuGraphInstantiateWithFlags, (h5_handle * exec, h5_handle graph, unsigned long long flags)) \
	X(cuGraphDestroy, (h5_handle graph)) \
	X(cuGraphLaunch, (h5_handle exec, h5_handle stream)) \
	X(cuGraphExecDestroy, (h5_handle exec)) \
	X(cuLinkCreate_v2, (unsigned count, int *options, void **values, h5_handle *state)) \
	X(cuLinkAddData_v2, (h5_handle state, int kind, void *data, size_t bytes, const char *name, unsigned count, int *options, void **values)) \
	X(cuLinkComplete, (h5_handle state, void **code, size_t *bytes)) \
	X(cuLinkDestroy, (h5_handle state))

#define H5_DRIVER(X) H5_REQUIRED(X) H5_OPTIONAL(X)

#define H5_FIELD(name, params) h5_result(*name) params;
typedef struct {
	H5_DRIVER(H5_FIELD)
} h5_driver;
#undef H5_FIELD

extern h5_driver h5_cuda;

/* Opens a library and loads all entry points; optional ones that it lacks are NULL. Returns an error
 * message, or NULL. */
const char *h5_open(const char *path);

/* Returns the file that the driver was loaded from, or NULL. */
const char *h5_file(void);

/* Returns whether the driver has an optional function. */
int h5_has(const char *name);

/* Replaces one entry point, for tests. Returns whether the name is known. */
int h5_override(const char *name, void *function);

/* Makes a context current on this thread, unless it is already. Call it from the C function that
 * uses the context. Other libraries must not leave another context current on these threads. */
h5_result h5_set_context(h5_handle context);

/* Bracket calls on a thread where another library may have made its own context current:
 * h5_save_context returns it, h5_restore_context makes it current again. */
h5_result h5_save_context(h5_handle *theirs);
h5_result h5_restore_context(h5_handle theirs);

#endif
