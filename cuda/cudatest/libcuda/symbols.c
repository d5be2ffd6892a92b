/* The functions of the driver and the libraries, by their real names. Each jumps to its fake, whatever
 * its arguments are, or to what H5DNN_TEST_FAULTS puts in its place: "cuMemPoolCreate=801" makes that
 * function do nothing but return 801. */
#include "../../driver.h"
#include "../../libraries.h"

#include <stdlib.h>
#include <string.h>

extern void *h5_refusal(int code);

#ifdef __x86_64__
#define JUMP(name) "jmp *to_" name "(%rip)"
#else
#define JUMP(name) "adrp x16, to_" name "\nldr x16, [x16, :lo12:to_" name "]\nbr x16"
#endif

#define SYMBOL(name) \
	extern void fake_##name(void); \
	__attribute__((visibility("hidden"))) void *to_##name = (void *)fake_##name; \
	__asm__(".text\n.globl " #name "\n.type " #name ", %function\n" #name ": " JUMP(#name) "\n");
#define OF_DRIVER(name, params) SYMBOL(name)
#define OF_LIBRARY(result, name, params) SYMBOL(name)
H5_DRIVER(OF_DRIVER)
H5_CUBLASLT(OF_LIBRARY)
H5_CUDNN(OF_LIBRARY)

/* Returns the code that the environment plants in a function, or 0. */
static int planted(const char *name) {
	const char *at = getenv("H5DNN_TEST_FAULTS");
	size_t n = strlen(name);
	for (; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return atoi(at + n + 1);
	return 0;
}

__attribute__((constructor)) static void plant(void) {
#define PLANT(name) \
	if (planted(#name)) \
		to_##name = h5_refusal(planted(#name));
#define PLANT_DRIVER(name, params) PLANT(name)
#define PLANT_LIBRARY(result, name, params) PLANT(name)
	H5_DRIVER(PLANT_DRIVER)
	H5_CUBLASLT(PLANT_LIBRARY)
	H5_CUDNN(PLANT_LIBRARY)
}
