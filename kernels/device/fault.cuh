// What a kernel cannot return.
#pragma once
#include "dialect.cuh"

struct Fault { // see gpu.go
	int64_t row, label, classes;
};
enum : int64_t { NO_ROW = 0x7fffffffffffffff };

// Keeps a fault unless there is one already. Of several threads one writes, so that a row and its
// label belong together.
FN void refuse(Fault *kept, Fault f) {
	int64_t old;
	asm volatile("atom.global.cas.b64 %0, [%1], %2, %3;" : "=l"(old) : "l"(kept), "l"((int64_t)NO_ROW), "l"(f.row) : "memory");
	if (old == NO_ROW)
		kept->label = f.label, kept->classes = f.classes;
}
