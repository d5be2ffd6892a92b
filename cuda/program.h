/* Launches of kernels with several parameters. */
#ifndef H5_PROGRAM_H
#define H5_PROGRAM_H

#include "driver.h"

enum { H5_MAX_ARGUMENTS = 64 };

/* Launches a function; g holds the grid size, the block size and the dynamic shared memory. Each argument
 * is stored at the start of a slot of eight bytes. Dynamic shared memory must be enabled by an attribute. */
static inline h5_result h5_launch_args(h5_handle c, h5_handle f, const uint32_t *g, h5_handle s, uint64_t *slots, int count) {
	void *params[H5_MAX_ARGUMENTS];
	for (int i = 0; i < count; i++)
		params[i] = &slots[i];
	h5_result r = h5_set_context(c);
	if (r == 0 && g[6] > 0)
		r = h5_cuda.cuFuncSetAttribute(f, H5_FUNCTION_MAX_DYNAMIC_SHARED, (int)g[6]);
	return r ? r : h5_cuda.cuLaunchKernel(f, g[0], g[1], g[2], g[3], g[4], g[5], g[6], s, params, NULL);
}

#endif
