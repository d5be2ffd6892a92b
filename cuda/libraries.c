#define _GNU_SOURCE /* dladdr */
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

h5_library_table h5_library;

const char *h5_library_open_part(const char *path) { return dlopen(path, RTLD_NOW | RTLD_GLOBAL) ? NULL : dlerror(); }

/* Functions are set only after all were found; those of other libraries may be in use. */
const char *h5_library_open(int which, const char *path, char *at, size_t bytes) {
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL), *last = NULL;
	if (!library)
		return dlerror();
#define SEEK(result, name, params) \
	if (!(last = dlsym(library, #name))) { \
		snprintf(at, bytes, "has no %s: another version is needed", #name); \
		return at; \
	}
#define TAKE(result, name, params) *(void **)&h5_library.name = dlsym(library, #name);
	switch (which) {
	case H5_LIBRARY_CUBLASLT: H5_CUBLASLT(SEEK) H5_CUBLASLT(TAKE) break;
	case H5_LIBRARY_CUDNN: H5_CUDNN(SEEK) H5_CUDNN(TAKE) break;
	case H5_LIBRARY_NVRTC: H5_NVRTC(SEEK) H5_NVRTC(TAKE) break;
	case H5_LIBRARY_NCCL: H5_NCCL(SEEK) H5_NCCL(TAKE) break;
	}
#undef SEEK
#undef TAKE
	Dl_info info;
	snprintf(at, bytes, "%s", dladdr(last, &info) && info.dli_fname ? info.dli_fname : path);
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
	H5_NCCL(TAKE)
#undef TAKE
	return 0;
}

/* All use decimal digits: 130401 is 13.4.1, 92600 is 9.26.0, 22703 is 2.27.3. */
static void decimals(size_t version, int parts[3]) {
	parts[0] = (int)(version / 10000), parts[1] = (int)(version / 100 % 100), parts[2] = (int)(version % 100);
}

void h5_library_version(int which, int parts[3]) {
	parts[0] = parts[1] = parts[2] = 0;
	int version = 0;
	switch (which) {
	case H5_LIBRARY_CUBLASLT: decimals(h5_library.cublasLtGetVersion(), parts); break;
	case H5_LIBRARY_CUDNN: decimals(h5_library.cudnnGetVersion(), parts); break;
	case H5_LIBRARY_NVRTC: h5_library.nvrtcVersion(&parts[0], &parts[1]); break;
	case H5_LIBRARY_NCCL: h5_library.ncclGetVersion(&version), decimals((size_t)version, parts); break;
	}
}
