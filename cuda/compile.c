#include "compile.h"

#include <stdlib.h>

/* Returns one of a program's texts (PTX or log), or NULL. */
static char *text(h5_object program, h5_status (*measure)(h5_object, size_t *), h5_status (*copy)(h5_object, char *)) {
	size_t bytes = 0;
	char *t = measure(program, &bytes) == 0 && bytes > 0 ? calloc(bytes + 1, 1) : NULL;
	if (t && copy(program, t)) {
		free(t);
		t = NULL;
	}
	return t;
}

h5_status h5_compile(const char *source, const char *name, int count, const char *const *options, char **ptx, char **log) {
	h5_object program;
	*ptx = *log = NULL;
	h5_status status = h5_library.nvrtcCreateProgram(&program, source, name, 0, NULL, NULL);
	if (status)
		return status;
	status = h5_library.nvrtcCompileProgram(program, count, options);
	*log = text(program, h5_library.nvrtcGetProgramLogSize, h5_library.nvrtcGetProgramLog);
	if (status == 0)
		*ptx = text(program, h5_library.nvrtcGetPTXSize, h5_library.nvrtcGetPTX);
	h5_library.nvrtcDestroyProgram(&program);
	return status;
}
