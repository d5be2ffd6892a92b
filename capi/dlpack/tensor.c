#include "tensor.h"

#include <stdlib.h>

extern void dlpack_deleted(uintptr_t owner); /* export.go */

#define TENSOR(type, suffix) \
	static void forget##suffix(type *self) { \
		dlpack_deleted((uintptr_t)self->manager_ctx); \
		free(self); \
	} \
	type *dlpack_new##suffix(int32_t ndim, uintptr_t owner) { \
		type *t = calloc(1, sizeof *t + 2 * (size_t)ndim * sizeof(int64_t)); \
		if (!t) \
			return NULL; \
		t->manager_ctx = (void *)owner; \
		t->deleter = forget##suffix; \
		t->dl_tensor.ndim = ndim; \
		t->dl_tensor.shape = (int64_t *)(t + 1); \
		t->dl_tensor.strides = t->dl_tensor.shape + ndim; \
		return t; \
	} \
	void dlpack_delete##suffix(type *t) { \
		if (t->deleter) \
			t->deleter(t); \
	}

TENSOR(DLManagedTensorVersioned, )
TENSOR(DLManagedTensor, _unversioned)
