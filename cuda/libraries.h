/* The part of NVIDIA's libraries that is used, declared by hand: they are not needed to build, and
 * are opened at run time if they are installed. Names and values are those of cublasLt.h, cudnn.h,
 * nvrtc.h and nccl.h, which `make cuda-headers` compares. */
#ifndef H5_LIBRARIES_H
#define H5_LIBRARIES_H

#include "driver.h"

typedef int h5_status; /* of a library; 0 is success */
typedef uintptr_t h5_object;

enum { /* cudaDataType_t */
	H5_R_32F = 0,
	H5_R_64F = 1,
	H5_R_16F = 2,
	H5_R_16BF = 14,
};

enum { /* cublasComputeType_t */
	H5_COMPUTE_32F = 68,
	H5_COMPUTE_64F = 70,
	H5_COMPUTE_32F_FAST_TF32 = 77,
};

enum { /* cublasStatus_t and attributes of cublasLt's objects */
	H5_CUBLAS_NOT_SUPPORTED = 15,
	H5_OP_N = 0,
	H5_OP_T = 1,
	H5_DESC_TRANSA = 3,
	H5_DESC_TRANSB = 4,
	H5_DESC_EPILOGUE = 7,
	H5_DESC_BIAS_POINTER = 8,
	H5_DESC_AUX_POINTER = 11,
	H5_DESC_AUX_LD = 12,
	H5_LAYOUT_BATCH_COUNT = 5,
	H5_LAYOUT_STRIDED_BATCH_OFFSET = 6,
	H5_PREF_MAX_WORKSPACE_BYTES = 1,
	H5_PREF_REDUCTION_SCHEME_MASK = 3,
	H5_PREF_MIN_ALIGNMENT_A_BYTES = 5,
	H5_PREF_MIN_ALIGNMENT_B_BYTES = 6,
	H5_PREF_MIN_ALIGNMENT_C_BYTES = 7,
	H5_PREF_MIN_ALIGNMENT_D_BYTES = 8,
	H5_REDUCTION_COMPUTE_TYPE = 2,
	H5_ALGORITHM_ID = 0,
	H5_ALGORITHM_TILE = 1,
	H5_ALGORITHM_SPLITS = 2,
	H5_EPILOGUE_DEFAULT = 1,
	H5_EPILOGUE_RELU = 2,
	H5_EPILOGUE_BIAS = 4,
	H5_EPILOGUE_RELU_BIAS = 6,
	H5_EPILOGUE_AUX = 128, /* with RELU or RELU_BIAS: writes the mask of the results that are positive */
	H5_EPILOGUE_DRELU = 136, /* results are 0 where the mask is not set */
	H5_EPILOGUE_BGRADA = 256, /* the sums of op(a) over k are written to the bias, or those of op(b) */
	H5_EPILOGUE_BGRADB = 512,
};

typedef struct { /* cublasLtMatmulAlgo_t */
	uint64_t data[8];
} h5_algorithm;

typedef struct { /* cublasLtMatmulHeuristicResult_t */
	h5_algorithm algorithm;
	size_t workspace;
	h5_status state;
	float waves;
	int reserved[4];
} h5_heuristic;

#define H5_CUBLASLT(X) \
	X(size_t, cublasLtGetVersion, (void)) \
	X(const char *, cublasLtGetStatusString, (h5_status status)) \
	X(h5_status, cublasLtCreate, (h5_object * handle)) \
	X(h5_status, cublasLtMatmulDescCreate, (h5_object * desc, int compute, int scale)) \
	X(h5_status, cublasLtMatmulDescDestroy, (h5_object desc)) \
	X(h5_status, cublasLtMatmulDescSetAttribute, (h5_object desc, int attribute, const void *value, size_t bytes)) \
	X(h5_status, cublasLtMatrixLayoutCreate, (h5_object * layout, int type, uint64_t rows, uint64_t columns, int64_t ld)) \
	X(h5_status, cublasLtMatrixLayoutDestroy, (h5_object layout)) \
	X(h5_status, cublasLtMatrixLayoutSetAttribute, (h5_object layout, int attribute, const void *value, size_t bytes)) \
	X(h5_status, cublasLtMatmulPreferenceCreate, (h5_object * preference)) \
	X(h5_status, cublasLtMatmulPreferenceDestroy, (h5_object preference)) \
	X(h5_status, cublasLtMatmulPreferenceSetAttribute, (h5_object preference, int attribute, const void *value, size_t bytes)) \
	X(h5_status, cublasLtMatmulAlgoGetHeuristic, (h5_object handle, h5_object desc, h5_object a, h5_object b, h5_object c, h5_object d, \
		h5_object preference, int most, h5_heuristic *results, int *count)) \
	X(h5_status, cublasLtMatmulAlgoConfigGetAttribute, (const h5_algorithm *algorithm, int attribute, void *value, size_t bytes, size_t *written)) \
	X(h5_status, cublasLtMatmul, (h5_object handle, h5_object desc, const void *alpha, h5_address a, h5_object a_layout, h5_address b, \
		h5_object b_layout, const void *beta, h5_address c, h5_object c_layout, h5_address d, h5_object d_layout, \
		const h5_algorithm *algorithm, h5_address workspace, size_t bytes, h5_handle stream))

enum { /* cudnnDataType_t and the like */
	H5_DNN_FLOAT = 0,
	H5_DNN_HALF = 2,
	H5_DNN_BFLOAT16 = 9,
	H5_DNN_DEFAULT_MATH = 0, /* tensor cores, TF32 for float32 */
	H5_DNN_TENSOR_MATH = 1,  /* tensor cores, for factors as they are */
	H5_DNN_FMA_MATH = 3,
	H5_DNN_NCHW = 0,
	H5_DNN_NHWC = 1,
	H5_DNN_CROSS_CORRELATION = 1,
	H5_DNN_DETERMINISTIC = 1,
	H5_DNN_PROPAGATE_NAN = 1,
	H5_DNN_RELU = 1,
	H5_DNN_ALGORITHMS = 8, /* of one kind, at most */
};

typedef struct { /* cudnnConvolution{Fwd,BwdData,BwdFilter}AlgoPerf_t */
	int algorithm;
	h5_status status;
	float milliseconds;
	size_t workspace;
	int determinism, math;
	int reserved[3];
} h5_candidate;

#define H5_CUDNN(X) \
	X(size_t, cudnnGetVersion, (void)) \
	X(const char *, cudnnGetErrorString, (h5_status status)) \
	X(h5_status, cudnnCreate, (h5_object * handle)) \
	X(h5_status, cudnnSetStream, (h5_object handle, h5_handle stream)) \
	X(h5_status, cudnnCreateTensorDescriptor, (h5_object * tensor)) \
	X(h5_status, cudnnDestroyTensorDescriptor, (h5_object tensor)) \
	X(h5_status, cudnnSetTensorNdDescriptor, (h5_object tensor, int type, int rank, const int *size, const int *stride)) \
	X(h5_status, cudnnCreateFilterDescriptor, (h5_object * filter)) \
	X(h5_status, cudnnDestroyFilterDescriptor, (h5_object filter)) \
	X(h5_status, cudnnSetFilterNdDescriptor, (h5_object filter, int type, int format, int rank, const int *size)) \
	X(h5_status, cudnnCreateConvolutionDescriptor, (h5_object * conv)) \
	X(h5_status, cudnnDestroyConvolutionDescriptor, (h5_object conv)) \
	X(h5_status, cudnnSetConvolutionNdDescriptor, (h5_object conv, int axes, const int *pad, const int *stride, const int *dilation, int mode, \
		int compute)) \
	X(h5_status, cudnnSetConvolutionGroupCount, (h5_object conv, int groups)) \
	X(h5_status, cudnnSetConvolutionMathType, (h5_object conv, int math)) \
	X(h5_status, cudnnCreateActivationDescriptor, (h5_object * act)) \
	X(h5_status, cudnnDestroyActivationDescriptor, (h5_object act)) \
	X(h5_status, cudnnSetActivationDescriptor, (h5_object act, int mode, int nan, double coefficient)) \
	X(h5_status, cudnnGetConvolutionForwardAlgorithm_v7, (h5_object handle, h5_object x, h5_object w, h5_object conv, h5_object y, int most, \
		int *count, h5_candidate *found)) \
	X(h5_status, cudnnGetConvolutionBackwardDataAlgorithm_v7, (h5_object handle, h5_object w, h5_object dy, h5_object conv, h5_object dx, \
		int most, int *count, h5_candidate *found)) \
	X(h5_status, cudnnGetConvolutionBackwardFilterAlgorithm_v7, (h5_object handle, h5_object x, h5_object dy, h5_object conv, h5_object dw, \
		int most, int *count, h5_candidate *found)) \
	X(h5_status, cudnnConvolutionForward, (h5_object handle, const void *alpha, h5_object x, h5_address x_at, h5_object w, h5_address w_at, \
		h5_object conv, int algorithm, h5_address workspace, size_t bytes, const void *beta, h5_object y, h5_address y_at)) \
	X(h5_status, cudnnConvolutionBiasActivationForward, (h5_object handle, const void *alpha, h5_object x, h5_address x_at, h5_object w, \
		h5_address w_at, h5_object conv, int algorithm, h5_address workspace, size_t bytes, const void *beta, h5_object z, h5_address z_at, \
		h5_object b, h5_address b_at, h5_object act, h5_object y, h5_address y_at)) \
	X(h5_status, cudnnConvolutionBackwardData, (h5_object handle, const void *alpha, h5_object w, h5_address w_at, h5_object dy, \
		h5_address dy_at, h5_object conv, int algorithm, h5_address workspace, size_t bytes, const void *beta, h5_object dx, h5_address dx_at)) \
	X(h5_status, cudnnConvolutionBackwardFilter, (h5_object handle, const void *alpha, h5_object x, h5_address x_at, h5_object dy, \
		h5_address dy_at, h5_object conv, int algorithm, h5_address workspace, size_t bytes, const void *beta, h5_object dw, h5_address dw_at))

#define H5_NVRTC(X) \
	X(h5_status, nvrtcVersion, (int *major, int *minor)) \
	X(const char *, nvrtcGetErrorString, (h5_status status)) \
	X(h5_status, nvrtcCreateProgram, (h5_object * program, const char *source, const char *name, int headers, const char *const *texts, \
		const char *const *names)) \
	X(h5_status, nvrtcDestroyProgram, (h5_object * program)) \
	X(h5_status, nvrtcCompileProgram, (h5_object program, int count, const char *const *options)) \
	X(h5_status, nvrtcGetPTXSize, (h5_object program, size_t *bytes)) \
	X(h5_status, nvrtcGetPTX, (h5_object program, char *text)) \
	X(h5_status, nvrtcGetProgramLogSize, (h5_object program, size_t *bytes)) \
	X(h5_status, nvrtcGetProgramLog, (h5_object program, char *text))

enum { /* ncclDataType_t and ncclRedOp_t */
	H5_NCCL_UINT8 = 1,
	H5_NCCL_FLOAT32 = 7,
	H5_NCCL_FLOAT64 = 8,
	H5_NCCL_SUM = 0,
};

typedef struct { /* ncclUniqueId */
	char bytes[128];
} h5_nccl_id;

#define H5_NCCL(X) \
	X(h5_status, ncclGetVersion, (int *version)) \
	X(const char *, ncclGetErrorString, (h5_status status)) \
	X(h5_status, ncclGetUniqueId, (h5_nccl_id * id)) \
	X(h5_status, ncclCommInitRank, (h5_object * comm, int ranks, h5_nccl_id id, int rank)) \
	X(h5_status, ncclCommDestroy, (h5_object comm)) \
	X(h5_status, ncclCommAbort, (h5_object comm)) \
	X(h5_status, ncclCommGetAsyncError, (h5_object comm, h5_status *error)) \
	X(h5_status, ncclSend, (h5_address from, size_t count, int type, int peer, h5_object comm, h5_handle stream)) \
	X(h5_status, ncclRecv, (h5_address to, size_t count, int type, int peer, h5_object comm, h5_handle stream)) \
	X(h5_status, ncclAllReduce, (h5_address from, h5_address to, size_t count, int type, int op, h5_object comm, h5_handle stream)) \
	X(h5_status, ncclGroupStart, (void)) \
	X(h5_status, ncclGroupEnd, (void))

#define H5_FUNCTION(result, name, params) result(*name) params;
typedef struct {
	H5_CUBLASLT(H5_FUNCTION)
	H5_CUDNN(H5_FUNCTION)
	H5_NVRTC(H5_FUNCTION)
	H5_NCCL(H5_FUNCTION)
} h5_library_table;
#undef H5_FUNCTION

extern h5_library_table h5_library;

enum { H5_LIBRARY_CUBLASLT, H5_LIBRARY_CUDNN, H5_LIBRARY_NVRTC, H5_LIBRARY_NCCL };

/* Opens a library and loads all its functions. Returns an error message, or NULL and in at, of the
 * given size, the path of the file. Different libraries may be opened concurrently. */
const char *h5_library_open(int which, const char *path, char *at, size_t bytes);

/* Opens a library to make its symbols available; returns an error message, or NULL. */
const char *h5_library_open_part(const char *path);

/* Replaces one function, for tests. Returns whether the name is known. */
int h5_library_override(const char *name, void *function);

/* Returns the version of a library; parts[0] is the major number. */
void h5_library_version(int which, int parts[3]);

#endif
