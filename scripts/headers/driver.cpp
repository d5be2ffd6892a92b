// Compares what cuda/driver.h says of the CUDA driver with NVIDIA's cuda.h: numbers, structs and
// prototypes. `make cuda-headers` compiles it; there is nothing to run.
#include <cuda.h>
#include <type_traits>

#include "../../cuda/driver.h"

// Types are alike that have one size and kind, and so has what they point to, unless it is
// nothing in particular. A handle of ours, which is a number, may be a pointer of theirs.
template <class Ours, class Theirs> constexpr bool alike() {
	using O = std::remove_cv_t<std::remove_pointer_t<Ours>>;
	using T = std::remove_cv_t<std::remove_pointer_t<Theirs>>;
	if constexpr (std::is_same_v<Ours, h5_handle>)
		return sizeof(Ours) == sizeof(Theirs) && !std::is_floating_point_v<Theirs>;
	else if constexpr (std::is_pointer_v<Ours> != std::is_pointer_v<Theirs>)
		return false;
	else if constexpr (!std::is_pointer_v<Ours>)
		return sizeof(O) == sizeof(T) && std::is_floating_point_v<O> == std::is_floating_point_v<T>;
	else if constexpr (std::is_void_v<O> || std::is_void_v<T>)
		return std::is_void_v<O> && std::is_void_v<T>;
	else
		return alike<O, T>();
}

template <class... Ours, class Result, class... Theirs> constexpr bool match(h5_result (*)(Ours...), Result (*)(Theirs...)) {
	if constexpr (sizeof...(Ours) == sizeof...(Theirs) && sizeof(h5_result) == sizeof(Result))
		return (alike<Ours, Theirs>() && ...);
	return false;
}

#define MATCH(name, params) static_assert(match((h5_result(*) params)nullptr, (decltype(&::name))nullptr), #name);
H5_DRIVER(MATCH)

static_assert(sizeof(h5_device) == sizeof(CUdevice) && sizeof(h5_address) == sizeof(CUdeviceptr));

#define FIELD(ours, field, theirs, part) \
	static_assert(offsetof(ours, field) == offsetof(theirs, part) && sizeof(ours::field) == sizeof(theirs::part), #field);
static_assert(sizeof(h5_pool_props) == sizeof(CUmemPoolProps));
FIELD(h5_pool_props, allocation, CUmemPoolProps, allocType)
FIELD(h5_pool_props, handles, CUmemPoolProps, handleTypes)
FIELD(h5_pool_props, location, CUmemPoolProps, location.type)
FIELD(h5_pool_props, device, CUmemPoolProps, location.id)
FIELD(h5_pool_props, security, CUmemPoolProps, win32SecurityAttributes)
FIELD(h5_pool_props, most, CUmemPoolProps, maxSize)
FIELD(h5_pool_props, usage, CUmemPoolProps, usage)
FIELD(h5_pool_props, reserved, CUmemPoolProps, reserved)
static_assert(sizeof(h5_pool_access) == sizeof(CUmemAccessDesc));
FIELD(h5_pool_access, location, CUmemAccessDesc, location.type)
FIELD(h5_pool_access, device, CUmemAccessDesc, location.id)
FIELD(h5_pool_access, access, CUmemAccessDesc, flags)

#define NUMBER(ours, theirs) static_assert(int(ours) == int(theirs), #theirs);
NUMBER(H5_SUCCESS, CUDA_SUCCESS)
NUMBER(H5_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE)
NUMBER(H5_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY)
NUMBER(H5_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT)
NUMBER(H5_INVALID_PTX, CUDA_ERROR_INVALID_PTX)
NUMBER(H5_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE)
NUMBER(H5_NOT_FOUND, CUDA_ERROR_NOT_FOUND)
NUMBER(H5_NOT_READY, CUDA_ERROR_NOT_READY)
NUMBER(H5_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED)
NUMBER(H5_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
NUMBER(H5_CAPTURE_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
NUMBER(H5_CAPTURE_UNJOINED, CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
NUMBER(H5_CAPTURE_ISOLATION, CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
NUMBER(H5_CAPTURED_EVENT, CUDA_ERROR_CAPTURED_EVENT)
NUMBER(H5_UNITS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
NUMBER(H5_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
NUMBER(H5_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
NUMBER(H5_POOL_PINNED, CU_MEM_ALLOCATION_TYPE_PINNED)
NUMBER(H5_POOL_ON_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE)
NUMBER(H5_POOL_RELEASE, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
NUMBER(H5_POOL_WRITABLE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
NUMBER(H5_HOST_PORTABLE, CU_MEMHOSTALLOC_PORTABLE)
NUMBER(H5_STREAM_ALONE, CU_STREAM_NON_BLOCKING)
NUMBER(H5_EVENT_SLEEPS, CU_EVENT_BLOCKING_SYNC)
NUMBER(H5_EVENT_UNTIMED, CU_EVENT_DISABLE_TIMING)
NUMBER(H5_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED)
