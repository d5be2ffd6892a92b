#include "table.h"
#include "tiles.h"
#include <stdlib.h>
#include <string.h>
#ifdef H5K_BUILDS_TILES
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

extern const h5k_table h5k_table_v2, h5k_table_v3, h5k_table_v4;

const h5k_table *h5k_isa = &h5k_table_v2;

static int tiles;

int h5k_tiles(void) { return tiles; }

#ifdef __x86_64__
/* allow_tiles asks the system for the registers of AMX, for all threads, if the processor has those and the vectors around them. */
static int allow_tiles(void) {
#ifdef H5K_BUILDS_TILES
	enum { BF16 = 1 << 22, TILE = 1 << 24, INT8 = 1 << 25, ALL = BF16 | TILE | INT8, REQUEST = 0x1023, TILE_DATA = 18 }; /* Linux, Documentation/arch/x86/xstate.rst */
	unsigned a, b, c, d;
	return __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bf16") && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & ALL) == ALL && !syscall(SYS_arch_prctl, REQUEST, TILE_DATA);
#else
	return 0;
#endif
}

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
	if (h5k_isa == &h5k_table_v4 && !(most && !strcmp(most, h5k_table_v4.name)))
		tiles = allow_tiles();
}
#endif

const char *h5k_isa_name(void) { return h5k_isa->name; }
