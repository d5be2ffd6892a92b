// The activations that other kernels apply to their results, by their formulas in ops.h.
#pragma once
#include "math.cuh"

#include "ops.h"

enum { OF_NONE, OF_RELU, OF_TANH, OF_SIGMOID, OF_GELU, OF_GELU_TANH, OF_SILU }; // as package kernels numbers them

template <class REAL> FN REAL activation(int64_t act, REAL x) {
	switch (act) {
	case OF_RELU: return x < 0 ? 0 : x; // NaN stays
	case OF_TANH: return TANH(x);
	case OF_SIGMOID: return H5K_SIGMOID(x);
	case OF_GELU: return H5K_GELU(x);
	case OF_GELU_TANH: return H5K_GELU_TANH(x);
	case OF_SILU: return H5K_SILU(x);
	}
	return x;
}
