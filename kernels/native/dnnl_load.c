/* Loads oneDNN when it is first needed, and not when the program starts: libdnnl and the
 * OpenCL loader behind it take milliseconds.
 *
 * Its functions are defined here as jumps through pointers, hidden from other libraries, so
 * that the linker needs no libdnnl (--as-needed). h5k_dnnl_load sets the pointers; until
 * then a call ends the process. A function that is missing in the lists below makes the
 * linker link libdnnl after all, which TestProgramsStartWithoutLibraries notices. */
#define _GNU_SOURCE
#include "dnnl_api.h"
#include "dnnl_plan.h"

#include <stdio.h>
#include <stdlib.h>

/* The leak sanitizer crashes on the thread-local memory of libraries that are loaded at run
 * time, so programs built for it link oneDNN. */
#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>

#define IN_ALL_VERSIONS(X) \
	X(dnnl_engine_create) X(dnnl_memory_create) X(dnnl_memory_desc_equal) X(dnnl_memory_desc_get_size) \
	X(dnnl_memory_destroy) X(dnnl_memory_set_data_handle) X(dnnl_post_ops_append_eltwise) \
	X(dnnl_post_ops_create) X(dnnl_post_ops_destroy) X(dnnl_primitive_attr_create) \
	X(dnnl_primitive_attr_destroy) X(dnnl_primitive_attr_set_post_ops) \
	X(dnnl_primitive_attr_set_scratchpad_mode) X(dnnl_primitive_create) X(dnnl_primitive_desc_destroy) \
	X(dnnl_primitive_desc_query) X(dnnl_primitive_desc_query_md) X(dnnl_primitive_destroy) \
	X(dnnl_primitive_execute) X(dnnl_reorder_primitive_desc_create) X(dnnl_sgemm) X(dnnl_stream_create) \
	X(dnnl_version)

#if DNNL_VERSION_MAJOR >= 3
#define IN_THIS_VERSION(X) \
	X(dnnl_convolution_backward_data_primitive_desc_create) \
	X(dnnl_convolution_backward_weights_primitive_desc_create) \
	X(dnnl_convolution_forward_primitive_desc_create) X(dnnl_matmul_primitive_desc_create) \
	X(dnnl_memory_desc_create_with_strides) X(dnnl_memory_desc_create_with_tag) \
	X(dnnl_memory_desc_destroy)
#else
#define IN_THIS_VERSION(X) \
	X(dnnl_dilated_convolution_backward_data_desc_init) \
	X(dnnl_dilated_convolution_backward_weights_desc_init) X(dnnl_dilated_convolution_forward_desc_init) \
	X(dnnl_matmul_desc_init) X(dnnl_memory_desc_init_by_strides) X(dnnl_memory_desc_init_by_tag) \
	X(dnnl_primitive_desc_create)
#endif

static void not_loaded(void) {
	fprintf(stderr, "h5dnn: a function of oneDNN was called that is not loaded\n");
	abort();
}

/* A jump through a pointer leaves all arguments where they are. */
#if defined(__x86_64__)
#define JUMP(name) "jmp *dnnl_pointer_" #name "(%rip)\n"
#else
#define JUMP(name) "adrp x16, dnnl_pointer_" #name "\n ldr x16, [x16, :lo12:dnnl_pointer_" #name "]\n br x16\n"
#endif

#define FUNCTION(name) \
	__attribute__((used, visibility("hidden"))) void *dnnl_pointer_##name = (void *)not_loaded; \
	__asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n" JUMP(name) ".previous\n");

IN_ALL_VERSIONS(FUNCTION)
IN_THIS_VERSION(FUNCTION)

int h5k_dnnl_load(void) {
	char name[32];
	snprintf(name, sizeof name, "libdnnl.so.%d", DNNL_VERSION_MAJOR);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return -1;
#define SET(name) \
	if (dlsym(library, #name)) \
		dnnl_pointer_##name = dlsym(library, #name);
	IN_ALL_VERSIONS(SET)
	IN_THIS_VERSION(SET)
	return 0;
}
#else
int h5k_dnnl_load(void) { return 0; } /* the program links oneDNN */
#endif

int h5k_dnnl_major(void) { return DNNL_VERSION_MAJOR; }
