#include "table.h"
#include <stdlib.h>
#include <string.h>

extern const h5k_table h5k_table_v2, h5k_table_v3, h5k_table_v4;

const h5k_table *h5k_isa = &h5k_table_v2;

#ifdef __x86_64__
/* H5DNN_ISA=baseline|avx2|avx512 asks for no more than that. */
__attribute__((constructor)) static void choose(void) {
	const char *most = getenv("H5DNN_ISA");
	if (most && !strcmp(most, h5k_table_v2.name))
		return;
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi2"))
		return;
	h5k_isa = &h5k_table_v3;
	if (most && !strcmp(most, h5k_table_v3.name))
		return;
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
	    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		h5k_isa = &h5k_table_v4;
}
#endif

const char *h5k_isa_name(void) { return h5k_isa->name; }
