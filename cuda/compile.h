/* Compiles CUDA C++ to PTX by NVRTC, in one call. */
#ifndef H5_COMPILE_H
#define H5_COMPILE_H

#include "libraries.h"

/* Compiles source; name is its file name in messages. *ptx and *log are malloc'ed or NULL. */
h5_status h5_compile(const char *source, const char *name, int count, const char *const *options, char **ptx, char **log);

static inline const char *h5_nvrtc_text(h5_status status) { return h5_library.nvrtcGetErrorString(status); }

#endif
