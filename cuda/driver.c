#define _GNU_SOURCE /* dladdr */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

h5_driver h5_cuda;

const char *h5_open(const char *path) {
	static char missing[128];
	h5_driver found;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return dlerror();
#define TAKE(name, params) \
	*(void **)&found.name = dlsym(library, #name); \
	if (!found.name) { \
		snprintf(missing, sizeof missing, "has no %s; the driver is too old", #name); \
		dlclose(library); \
		return missing; \
	}
	H5_REQUIRED(TAKE)
#undef TAKE
#define TAKE(name, params) *(void **)&found.name = dlsym(library, #name);
	H5_OPTIONAL(TAKE)
#undef TAKE
	h5_cuda = found;
	return NULL;
}

const char *h5_file(void) {
	Dl_info info;
	return dladdr(*(void **)&h5_cuda.cuInit, &info) ? info.dli_fname : NULL;
}

int h5_has(const char *name) {
#define LOOK(entry, params) \
	if (strcmp(name, #entry) == 0) \
		return h5_cuda.entry != NULL;
	H5_OPTIONAL(LOOK)
#undef LOOK
	return 0;
}

int h5_override(const char *name, void *function) {
#define TAKE(entry, params) \
	if (strcmp(name, #entry) == 0) { \
		*(void **)&h5_cuda.entry = function; \
		return 1; \
	}
	H5_DRIVER(TAKE)
#undef TAKE
	return 0;
}

static _Thread_local h5_handle current;

h5_result h5_set_context(h5_handle context) {
	if (current == context)
		return 0;
	h5_result r = h5_cuda.cuCtxSetCurrent(context);
	if (r == 0)
		current = context;
	return r;
}

h5_result h5_save_context(h5_handle *theirs) {
	current = 0;
	return h5_cuda.cuCtxGetCurrent(theirs);
}

h5_result h5_restore_context(h5_handle theirs) {
	h5_result r = current == theirs ? 0 : h5_cuda.cuCtxSetCurrent(theirs);
	current = 0;
	return r;
}
