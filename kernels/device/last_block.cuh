// Reductions over several thread blocks: each block writes a partial result. The last block to finish,
// detected by an atomic counter, combines the partial results in a fixed order.
#pragma once
#include "common.cuh"

FN void memory_fence() { asm volatile("membar.gl;" ::: "memory"); }

// Reports whether this block is the last of the given number of blocks to get here. It then sees the
// writes of all of them. The counter is 0 before and after a launch.
FN bool is_last_block(uint32_t blocks, uint32_t *counter) {
	__shared__ uint32_t before;
	memory_fence();
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(__builtin_bit_cast(uint64_t, counter)) : "memory");
		if (before == blocks - 1)
			*counter = 0;
	}
	__syncthreads();
	memory_fence();
	return before == blocks - 1;
}
