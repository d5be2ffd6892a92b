// Blocks that make one result: each leaves its part in memory, and the last to be done puts them
// together, in an order that does not depend on which block that is.
#pragma once
#include "dialect.cuh"

FN void settle() { asm volatile("membar.gl;" ::: "memory"); }

// Whether this block is the last of so many that get here. It then sees what all of them have
// written. The counter is 0 before and after a launch.
FN bool last_of(uint32_t blocks, uint32_t *counter) {
	__shared__ uint32_t before;
	settle();
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(__builtin_bit_cast(uint64_t, counter)) : "memory");
		if (before == blocks - 1)
			*counter = 0;
	}
	__syncthreads();
	settle();
	return before == blocks - 1;
}
