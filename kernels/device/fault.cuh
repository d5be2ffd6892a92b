// Errors of kernels, which cannot return them.
#pragma once
#include "common.cuh"

struct Fault { // see gpu.go
	int64_t row, label, classes;
};
enum : int64_t { NO_ROW = 0x7fffffffffffffff };

// Stores a fault unless there is one already. Only one thread writes, so that a row and its label
// belong together.
FN void refuse(Fault *kept, Fault f) {
	int64_t old;
	asm volatile("atom.global.cas.b64 %0, [%1], %2, %3;" : "=l"(old) : "l"(kept), "l"((int64_t)NO_ROW), "l"(f.row) : "memory");
	if (old == NO_ROW)
		kept->label = f.label, kept->classes = f.classes;
}
