#define _GNU_SOURCE /* dladdr */
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

h5_library_table h5_library;

const char *h5_library_companion(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) ? NULL : dlerror(); }

const char *h5_library_open(int which, const char *path, char *at, size_t bytes) {
	static char missing[128];
	h5_library_table found = h5_library;
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL), *last = NULL;
	if (!library)
		return dlerror();
#define TAKE(result, name, params) \
	*(void **)&found.name = last = dlsym(library, #name); \
	if (!last) { \
		snprintf(missing, sizeof missing, "has no %s: another version is needed", #name); \
		return missing; \
	}
	switch (which) {
	case H5_LIBRARY_CUBLASLT: H5_CUBLASLT(TAKE) break;
	case H5_LIBRARY_CUDNN: H5_CUDNN(TAKE) break;
	case H5_LIBRARY_NVRTC: H5_NVRTC(TAKE) break;
	}
#undef TAKE
	Dl_info info;
	snprintf(at, bytes, "%s", dladdr(last, &info) && info.dli_fname ? info.dli_fname : path);
	h5_library = found;
	return NULL;
}

int h5_library_override(const char *name, void *function) {
#define TAKE(result, entry, params) \
	if (strcmp(name, #entry) == 0) { \
		*(void **)&h5_library.entry = function; \
		return 1; \
	}
	H5_CUBLASLT(TAKE)
	H5_CUDNN(TAKE)
	H5_NVRTC(TAKE)
#undef TAKE
	return 0;
}

/* Both count in decimals: 130401 is 13.4.1, 92600 is 9.26.0. */
static void decimals(size_t version, int parts[3]) {
	parts[0] = (int)(version / 10000), parts[1] = (int)(version / 100 % 100), parts[2] = (int)(version % 100);
}

void h5_library_version(int which, int parts[3]) {
	parts[0] = parts[1] = parts[2] = 0;
	switch (which) {
	case H5_LIBRARY_CUBLASLT: decimals(h5_library.cublasLtGetVersion(), parts); break;
	case H5_LIBRARY_CUDNN: decimals(h5_library.cudnnGetVersion(), parts); break;
	case H5_LIBRARY_NVRTC: h5_library.nvrtcVersion(&parts[0], &parts[1]); break;
	}
}
