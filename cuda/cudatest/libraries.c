#include "libraries.h"

#define EXPORTED(result, name, params) extern result fake_##name params;
H5_CUBLASLT(EXPORTED)
H5_CUDNN(EXPORTED)
#undef EXPORTED

#define ENTRY(result, name, params) {#name, (void *)fake_##name},
static const h5_entry cublaslt[] = {H5_CUBLASLT(ENTRY){0}};
static const h5_entry cudnn[] = {H5_CUDNN(ENTRY){0}};
#undef ENTRY

h5_entry h5_library_fake(int which, int i) {
	switch (which) {
	case H5_LIBRARY_CUDNN: return cudnn[i];
	case H5_LIBRARY_NCCL: return h5_nccl_fake(i);
	}
	return cublaslt[i];
}
