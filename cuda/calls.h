/* The driver's functions as Go calls them. A function that needs a context makes it current in
 * the same C call, because a goroutine may move to another thread between two calls. */
#ifndef H5_CALLS_H
#define H5_CALLS_H

#include "driver.h"

#define CALL(name, params, call) \
	static inline h5_result h5_##name params { return h5_cuda.call; }
#define IN(name, params, call) \
	static inline h5_result h5_##name params { \
		h5_result r = h5_set_context(c); \
		return r ? r : h5_cuda.call; \
	}

CALL(init, (void), cuInit(0))
CALL(version, (int *v), cuDriverGetVersion(v))
CALL(error_name, (h5_result e, const char **s), cuGetErrorName(e, s))
CALL(error_text, (h5_result e, const char **s), cuGetErrorString(e, s))
CALL(count, (int *n), cuDeviceGetCount(n))
CALL(device_get, (h5_device * d, int i), cuDeviceGet(d, i))
CALL(name, (char *s, int n, h5_device d), cuDeviceGetName(s, n, d))
CALL(total, (size_t *n, h5_device d), cuDeviceTotalMem_v2(n, d))
CALL(attribute, (int *v, int a, h5_device d), cuDeviceGetAttribute(v, a, d))
CALL(context_retain, (h5_handle * c, h5_device d), cuDevicePrimaryCtxRetain(c, d))

CALL(can_access_peer, (int *can, h5_device d, h5_device peer), cuDeviceCanAccessPeer(can, d, peer))

IN(alloc_plain, (h5_handle c, h5_address *p, size_t n), cuMemAlloc_v2(p, n))
IN(free_plain, (h5_handle c, h5_address p), cuMemFree_v2(p))

/* Creates a memory pool that keeps freed memory. The default release threshold of 0 would
 * return all of it to the system at every synchronization. */
static inline h5_result h5_pool(h5_handle c, h5_handle *pool, h5_device d) {
	h5_pool_props props = {.allocation = H5_POOL_PINNED, .location = H5_POOL_LOCATION_DEVICE, .device = d};
	uint64_t keep = UINT64_MAX;
	h5_result r = h5_set_context(c);
	if (r == 0)
		r = h5_cuda.cuMemPoolCreate(pool, &props);
	return r ? r : h5_cuda.cuMemPoolSetAttribute(*pool, H5_POOL_RELEASE_THRESHOLD, &keep);
}

/* Allows a peer device to read and write a pool's memory. */
static inline h5_result h5_pool_set_access(h5_handle c, h5_handle pool, h5_device peer) {
	h5_pool_access access = {H5_POOL_LOCATION_DEVICE, peer, H5_POOL_READWRITE};
	h5_result r = h5_set_context(c);
	return r ? r : h5_cuda.cuMemPoolSetAccess(pool, &access, 1);
}

IN(context_sync, (h5_handle c), cuCtxSynchronize())
IN(pool_trim, (h5_handle c, h5_handle pool), cuMemPoolTrimTo(pool, 0))
IN(mem_info, (h5_handle c, size_t *n, size_t *all), cuMemGetInfo_v2(n, all))
IN(alloc, (h5_handle c, h5_address *p, size_t n, h5_handle pool, h5_handle s), cuMemAllocFromPoolAsync(p, n, pool, s))
IN(free, (h5_handle c, h5_address p, h5_handle s), cuMemFreeAsync(p, s))
IN(host_alloc, (h5_handle c, void **p, size_t n), cuMemHostAlloc(p, n, H5_HOST_PORTABLE))
IN(host_free, (h5_handle c, void *p), cuMemFreeHost(p))
IN(upload, (h5_handle c, h5_address to, const void *from, size_t n, h5_handle s), cuMemcpyHtoDAsync_v2(to, from, n, s))
IN(download, (h5_handle c, void *to, h5_address from, size_t n, h5_handle s), cuMemcpyDtoHAsync_v2(to, from, n, s))
IN(copy, (h5_handle c, h5_address to, h5_address from, size_t n, h5_handle s), cuMemcpyDtoDAsync_v2(to, from, n, s))
IN(peer_copy, (h5_handle c, h5_address to, h5_handle there, h5_address from, size_t n, h5_handle s), cuMemcpyPeerAsync(to, c, from, there, n, s))
IN(stream, (h5_handle c, h5_handle *s), cuStreamCreate(s, H5_STREAM_NON_BLOCKING))
IN(stream_destroy, (h5_handle c, h5_handle s), cuStreamDestroy_v2(s))
IN(stream_sync, (h5_handle c, h5_handle s), cuStreamSynchronize(s))
IN(stream_wait_event, (h5_handle c, h5_handle s, h5_handle e), cuStreamWaitEvent(s, e, 0))
IN(capture_begin, (h5_handle c, h5_handle s), cuStreamBeginCapture_v2(s, H5_CAPTURE_RELAXED))
IN(capture_end, (h5_handle c, h5_handle s, h5_handle *graph), cuStreamEndCapture(s, graph))
IN(capture_set_dependencies, (h5_handle c, h5_handle s, h5_handle *nodes, size_t n, unsigned how), cuStreamUpdateCaptureDependencies(s, nodes, n, how))
IN(graph_instantiate, (h5_handle c, h5_handle *exec, h5_handle graph), cuGraphInstantiateWithFlags(exec, graph, 0))
IN(graph_destroy, (h5_handle c, h5_handle graph), cuGraphDestroy(graph))
IN(graph_launch, (h5_handle c, h5_handle exec, h5_handle s), cuGraphLaunch(exec, s))
IN(graph_exec_destroy, (h5_handle c, h5_handle exec), cuGraphExecDestroy(exec))
IN(event, (h5_handle c, h5_handle *e, int timed), cuEventCreate(e, timed ? H5_EVENT_BLOCKING_SYNC : H5_EVENT_BLOCKING_SYNC | H5_EVENT_DISABLE_TIMING))
IN(event_destroy, (h5_handle c, h5_handle e), cuEventDestroy_v2(e))
IN(event_record, (h5_handle c, h5_handle e, h5_handle s), cuEventRecord(e, s))
IN(event_query, (h5_handle c, h5_handle e), cuEventQuery(e))
IN(event_sync, (h5_handle c, h5_handle e), cuEventSynchronize(e))
IN(event_elapsed, (h5_handle c, float *ms, h5_handle from, h5_handle to), cuEventElapsedTime(ms, from, to))
IN(function, (h5_handle c, h5_handle *f, h5_handle m, const char *name), cuModuleGetFunction(f, m, name))

/* Returns the nodes that the next captured node depends on; the array is valid until the next call. */
static inline h5_result h5_capture_dependencies(h5_handle c, h5_handle s, h5_handle **nodes, size_t *n) {
	int status;
	uint64_t id;
	h5_handle graph;
	h5_result r = h5_set_context(c);
	return r ? r : h5_cuda.cuStreamGetCaptureInfo_v2(s, &status, &id, &graph, nodes, n);
}

/* Compiles PTX; the compiler's messages are written to log. */
static inline h5_result h5_module(h5_handle c, h5_handle *m, const void *text, char *log, size_t bytes) {
	int options[] = {H5_JIT_ERROR_LOG, H5_JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)bytes};
	h5_result r = h5_set_context(c);
	return r ? r : h5_cuda.cuModuleLoadDataEx(m, text, 2, options, values);
}

IN(link_destroy, (h5_handle c, h5_handle state), cuLinkDestroy(state))

/* Compiles PTX to code, which is valid until *state is destroyed, unless that is 0. */
static inline h5_result h5_link(h5_handle c, void *text, size_t size, char *log, size_t bytes, h5_handle *state, void **code, size_t *code_size) {
	int options[] = {H5_JIT_ERROR_LOG, H5_JIT_ERROR_LOG_BYTES};
	void *values[] = {log, (void *)bytes};
	*state = 0;
	h5_result r = h5_set_context(c);
	if (r == 0)
		r = h5_cuda.cuLinkCreate_v2(2, options, values, state);
	if (r == 0)
		r = h5_cuda.cuLinkAddData_v2(*state, H5_JIT_INPUT_PTX, text, size, NULL, 0, NULL, NULL);
	return r ? r : h5_cuda.cuLinkComplete(*state, code, code_size);
}

/* Launches a kernel with one parameter, stored at args. */
static inline h5_result h5_launch(h5_handle c, h5_handle f, const uint32_t *blocks, uint32_t threads, h5_handle s, void *args) {
	void *params[1] = {args};
	h5_result r = h5_set_context(c);
	return r ? r : h5_cuda.cuLaunchKernel(f, blocks[0], blocks[1], blocks[2], threads, 1, 1, 0, s, params, NULL);
}

#undef CALL
#undef IN
#endif
