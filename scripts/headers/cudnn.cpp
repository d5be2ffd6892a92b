// Compares what cuda/libraries.h says of cuDNN with cudnn.h.
#include <cudnn.h>

#include "../../cuda/libraries.h"
#include "alike.hpp"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // the calls that old and new versions share
H5_CUDNN(MATCH)

#define CANDIDATE(theirs) \
	static_assert(sizeof(h5_candidate) == sizeof(theirs)); \
	FIELD(h5_candidate, algorithm, theirs, algo) \
	FIELD(h5_candidate, status, theirs, status) \
	FIELD(h5_candidate, milliseconds, theirs, time) \
	FIELD(h5_candidate, workspace, theirs, memory) \
	FIELD(h5_candidate, determinism, theirs, determinism) \
	FIELD(h5_candidate, math, theirs, mathType)
CANDIDATE(cudnnConvolutionFwdAlgoPerf_t)
CANDIDATE(cudnnConvolutionBwdDataAlgoPerf_t)
CANDIDATE(cudnnConvolutionBwdFilterAlgoPerf_t)

NUMBER(H5_DNN_FLOAT, CUDNN_DATA_FLOAT)
NUMBER(H5_DNN_HALF, CUDNN_DATA_HALF)
NUMBER(H5_DNN_BFLOAT16, CUDNN_DATA_BFLOAT16)
NUMBER(H5_DNN_DEFAULT_MATH, CUDNN_DEFAULT_MATH)
NUMBER(H5_DNN_TENSOR_MATH, CUDNN_TENSOR_OP_MATH)
NUMBER(H5_DNN_FMA_MATH, CUDNN_FMA_MATH)
NUMBER(H5_DNN_NCHW, CUDNN_TENSOR_NCHW)
NUMBER(H5_DNN_NHWC, CUDNN_TENSOR_NHWC)
NUMBER(H5_DNN_CROSS_CORRELATION, CUDNN_CROSS_CORRELATION)
NUMBER(H5_DNN_DETERMINISTIC, CUDNN_DETERMINISTIC)
NUMBER(H5_DNN_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN)
NUMBER(H5_DNN_RELU, CUDNN_ACTIVATION_RELU)
NUMBER(3, CUDNN_STATUS_NOT_SUPPORTED / 1000)
NUMBER(3, CUDNN_STATUS_NOT_SUPPORTED_CUDA_GRAPH_NATIVE_API / 1000)

constexpr int algorithms = H5_DNN_ALGORITHMS;
static_assert(algorithms >= int(CUDNN_CONVOLUTION_FWD_ALGO_COUNT) && algorithms >= int(CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT) &&
	algorithms >= int(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT));
