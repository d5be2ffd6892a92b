#include "vendor.h"

#include <stdio.h>

/* Makes a call unless an earlier one has failed. */
#define TRY(call) \
	do { \
		if (status == 0) \
			status = (call); \
	} while (0)

static void discard(h5_object o, h5_status (*destroy)(h5_object)) {
	if (o)
		destroy(o);
}

/* cuBLASLt's objects for one product. */
typedef struct {
	h5_object desc, a, b, d, preference;
} gemm;

static h5_status layout(h5_object *made, const h5_gemm *g, const h5_matrix *m) {
	h5_status status = h5_library.cublasLtMatrixLayoutCreate(made, g->type, (uint64_t)m->rows, (uint64_t)m->columns, m->ld);
	if (g->batches > 1) {
		int32_t batches = g->batches;
		TRY(h5_library.cublasLtMatrixLayoutSetAttribute(*made, H5_LAYOUT_BATCH_COUNT, &batches, sizeof batches));
		TRY(h5_library.cublasLtMatrixLayoutSetAttribute(*made, H5_LAYOUT_STRIDED_BATCH_OFFSET, &m->batch, sizeof m->batch));
	}
	return status;
}

static h5_status describe(gemm *o, const h5_gemm *g) {
	int32_t a = g->a.transposed, b = g->b.transposed, epilogue = g->epilogue;
	h5_status status = h5_library.cublasLtMatmulDescCreate(&o->desc, g->compute, g->type == H5_R_64F ? H5_R_64F : H5_R_32F);
	TRY(h5_library.cublasLtMatmulDescSetAttribute(o->desc, H5_DESC_TRANSA, &a, sizeof a));
	TRY(h5_library.cublasLtMatmulDescSetAttribute(o->desc, H5_DESC_TRANSB, &b, sizeof b));
	TRY(h5_library.cublasLtMatmulDescSetAttribute(o->desc, H5_DESC_EPILOGUE, &epilogue, sizeof epilogue));
	if (g->bias)
		TRY(h5_library.cublasLtMatmulDescSetAttribute(o->desc, H5_DESC_BIAS_POINTER, &g->bias, sizeof g->bias));
	if (g->mask) {
		TRY(h5_library.cublasLtMatmulDescSetAttribute(o->desc, H5_DESC_AUX_POINTER, &g->mask, sizeof g->mask));
		TRY(h5_library.cublasLtMatmulDescSetAttribute(o->desc, H5_DESC_AUX_LD, &g->mask_ld, sizeof g->mask_ld));
	}
	TRY(layout(&o->a, g, &g->a));
	TRY(layout(&o->b, g, &g->b));
	TRY(layout(&o->d, g, &g->d));
	return status;
}

static h5_status prefer(h5_object preference, int attribute, uint32_t value) {
	return h5_library.cublasLtMatmulPreferenceSetAttribute(preference, attribute, &value, sizeof value);
}

/* The largest power of two, up to 256, that divides an address. */
static uint32_t alignment(h5_address at) { return (uint32_t)((at | 256) & -(at | 256)); }

static int32_t attribute(const h5_algorithm *algorithm, int which) {
	int32_t value = -1;
	size_t written;
	return h5_library.cublasLtMatmulAlgoConfigGetAttribute(algorithm, which, &value, sizeof value, &written) ? -1 : value;
}

/* Says what was chosen, by the library's numbers. */
static void tell(h5_choice *choice, float waves) {
	const h5_algorithm *a = &choice->algorithm;
	snprintf(choice->about, sizeof choice->about, "algorithm %d, tile %d, %d splits, %.2g waves", attribute(a, H5_ALGORITHM_ID),
		attribute(a, H5_ALGORITHM_TILE), attribute(a, H5_ALGORITHM_SPLITS), (double)waves);
}

/* Split-k partial sums may only be reduced in the workspace, in a fixed order, so that results are
 * deterministic. */
static h5_status choose(gemm *o, h5_object handle, const h5_gemm *g, h5_choice *choice) {
	h5_heuristic best = {.state = H5_CUBLAS_NOT_SUPPORTED};
	uint64_t bytes = g->bytes;
	int count = 0;
	h5_status status = h5_library.cublasLtMatmulPreferenceCreate(&o->preference);
	TRY(h5_library.cublasLtMatmulPreferenceSetAttribute(o->preference, H5_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes));
	TRY(prefer(o->preference, H5_PREF_REDUCTION_SCHEME_MASK, H5_REDUCTION_COMPUTE_TYPE));
	TRY(prefer(o->preference, H5_PREF_MIN_ALIGNMENT_A_BYTES, alignment(g->a.at)));
	TRY(prefer(o->preference, H5_PREF_MIN_ALIGNMENT_B_BYTES, alignment(g->b.at)));
	TRY(prefer(o->preference, H5_PREF_MIN_ALIGNMENT_C_BYTES, alignment(g->d.at)));
	TRY(prefer(o->preference, H5_PREF_MIN_ALIGNMENT_D_BYTES, alignment(g->d.at)));
	TRY(h5_library.cublasLtMatmulAlgoGetHeuristic(handle, o->desc, o->a, o->b, o->d, o->d, o->preference, 1, &best, &count));
	if (status == 0)
		status = count ? best.state : H5_CUBLAS_NOT_SUPPORTED;
	if (status == H5_CUBLAS_NOT_SUPPORTED) {
		choice->state = H5_NONE;
		snprintf(choice->about, sizeof choice->about, "no algorithm for these types, layouts and alignments");
		return 0;
	}
	if (status == 0) {
		*choice = (h5_choice){H5_CHOSEN, best.algorithm, best.workspace, ""};
		tell(choice, best.waves);
	}
	return status;
}

static h5_status multiply(gemm *o, h5_object handle, h5_handle stream, const h5_gemm *g, const h5_algorithm *algorithm) {
	static const float one = 1, zero = 0;
	static const double one64 = 1, zero64 = 0;
	int wide = g->type == H5_R_64F;
	return h5_library.cublasLtMatmul(handle, o->desc, wide ? (const void *)&one64 : &one, g->a.at, o->a, g->b.at, o->b,
		wide ? (const void *)&zero64 : &zero, g->d.at, o->d, g->d.at, o->d, algorithm, g->workspace, g->bytes, stream);
}

h5_status h5_gemm_issue(h5_handle context, h5_object handle, h5_handle stream, const h5_gemm *g, h5_choice *choice) {
	gemm o = {0};
	if (h5_set_context(context))
		return H5_NO_CONTEXT;
	h5_status status = describe(&o, g);
	if (choice->state == H5_UNDECIDED)
		TRY(choose(&o, handle, g, choice));
	if (choice->state == H5_CHOSEN)
		TRY(multiply(&o, handle, stream, g, &choice->algorithm));
	discard(o.preference, h5_library.cublasLtMatmulPreferenceDestroy);
	discard(o.a, h5_library.cublasLtMatrixLayoutDestroy);
	discard(o.b, h5_library.cublasLtMatrixLayoutDestroy);
	discard(o.d, h5_library.cublasLtMatrixLayoutDestroy);
	discard(o.desc, h5_library.cublasLtMatmulDescDestroy);
	return status;
}

/* cuDNN's objects for one convolution. */
typedef struct {
	h5_object x, w, y, conv, bias, act;
} convolution;

static h5_status image(h5_object *made, int type, int rank, const h5_image *i) {
	h5_status status = h5_library.cudnnCreateTensorDescriptor(made);
	TRY(h5_library.cudnnSetTensorNdDescriptor(*made, type, rank, i->size, i->stride));
	return status;
}

/* ReLU propagates NaN. */
static h5_status epilogue(convolution *o, const h5_convolution *g) {
	int channels = g->weights[0];
	h5_image bias = {.size = {1, channels, 1, 1, 1}, .stride = {channels, 1, 1, 1, 1}};
	h5_status status = image(&o->bias, g->type, g->rank, &bias);
	TRY(h5_library.cudnnCreateActivationDescriptor(&o->act));
	TRY(h5_library.cudnnSetActivationDescriptor(o->act, H5_DNN_RELU, H5_DNN_PROPAGATE_NAN, 0));
	return status;
}

static h5_status plan(convolution *o, const h5_convolution *g) {
	h5_status status = image(&o->x, g->type, g->rank, &g->x);
	TRY(image(&o->y, g->type, g->rank, &g->y));
	TRY(h5_library.cudnnCreateFilterDescriptor(&o->w));
	TRY(h5_library.cudnnSetFilterNdDescriptor(o->w, g->type, g->format, g->rank, g->weights));
	TRY(h5_library.cudnnCreateConvolutionDescriptor(&o->conv));
	TRY(h5_library.cudnnSetConvolutionNdDescriptor(o->conv, g->rank - 2, g->pad, g->stride, g->dilation, H5_DNN_CROSS_CORRELATION, g->compute));
	TRY(h5_library.cudnnSetConvolutionGroupCount(o->conv, g->groups));
	TRY(h5_library.cudnnSetConvolutionMathType(o->conv, g->math));
	if (g->bias)
		TRY(epilogue(o, g));
	return status;
}

static h5_status candidates(convolution *o, h5_object handle, int kind, int *count, h5_candidate *found) {
	switch (kind) {
	case H5_FORWARD:
		return h5_library.cudnnGetConvolutionForwardAlgorithm_v7(handle, o->x, o->w, o->conv, o->y, H5_DNN_ALGORITHMS, count, found);
	case H5_BACKWARD_DATA:
		return h5_library.cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, o->w, o->y, o->conv, o->x, H5_DNN_ALGORITHMS, count, found);
	default:
		return h5_library.cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, o->x, o->y, o->conv, o->w, H5_DNN_ALGORITHMS, count, found);
	}
}

/* Selects the first, fastest, algorithm that is deterministic, fits the workspace and has the
 * requested math type. */
static h5_status select_algorithm(convolution *o, h5_object handle, const h5_convolution *g, h5_choice *choice) {
	h5_candidate found[H5_DNN_ALGORITHMS];
	int count = 0;
	h5_status status = candidates(o, handle, g->kind, &count, found);
	if (status)
		return status;
	choice->state = H5_NONE;
	snprintf(choice->about, sizeof choice->about, "no algorithm at all");
	for (int i = 0; choice->state == H5_NONE && i < count; i++) {
		const char *why = found[i].status                                   ? "is not supported"
			: found[i].determinism != H5_DNN_DETERMINISTIC                  ? "is not deterministic"
			: found[i].workspace > g->bytes                                 ? "needs a larger workspace"
			: g->math == H5_DNN_FMA_MATH && found[i].math != H5_DNN_FMA_MATH && found[i].math != H5_DNN_DEFAULT_MATH ? "rounds float32"
																			: NULL;
		if (why) {
			snprintf(choice->about, sizeof choice->about, "of %d algorithms the last, %d, %s", count, found[i].algorithm, why);
			continue;
		}
		*choice = (h5_choice){H5_CHOSEN, {{(uint64_t)found[i].algorithm}}, found[i].workspace, ""};
		snprintf(choice->about, sizeof choice->about, "algorithm %d, the %d. of %d, math type %d", found[i].algorithm, i + 1, count, found[i].math);
	}
	return 0;
}

static h5_status convolve(convolution *o, h5_object handle, const h5_convolution *g, int algorithm) {
	static const float one = 1, zero = 0;
	const void *alpha = &one, *beta = &zero;
	switch (g->kind) {
	case H5_FORWARD:
		if (g->bias)
			return h5_library.cudnnConvolutionBiasActivationForward(handle, alpha, o->x, g->x.at, o->w, g->w, o->conv, algorithm, g->workspace,
				g->bytes, beta, o->y, g->y.at, o->bias, g->bias, o->act, o->y, g->y.at);
		return h5_library.cudnnConvolutionForward(handle, alpha, o->x, g->x.at, o->w, g->w, o->conv, algorithm, g->workspace, g->bytes, beta,
			o->y, g->y.at);
	case H5_BACKWARD_DATA:
		return h5_library.cudnnConvolutionBackwardData(handle, alpha, o->w, g->w, o->y, g->y.at, o->conv, algorithm, g->workspace, g->bytes,
			beta, o->x, g->x.at);
	default:
		return h5_library.cudnnConvolutionBackwardFilter(handle, alpha, o->x, g->x.at, o->y, g->y.at, o->conv, algorithm, g->workspace,
			g->bytes, beta, o->w, g->w);
	}
}

h5_status h5_convolution_issue(h5_handle context, h5_object handle, h5_handle stream, const h5_convolution *g, h5_choice *choice) {
	convolution o = {0};
	if (h5_set_context(context))
		return H5_NO_CONTEXT;
	h5_status status = plan(&o, g);
	TRY(h5_library.cudnnSetStream(handle, stream));
	if (choice->state == H5_UNDECIDED)
		TRY(select_algorithm(&o, handle, g, choice));
	if (choice->state == H5_CHOSEN)
		TRY(convolve(&o, handle, g, (int)choice->algorithm.data[0]));
	discard(o.x, h5_library.cudnnDestroyTensorDescriptor);
	discard(o.y, h5_library.cudnnDestroyTensorDescriptor);
	discard(o.bias, h5_library.cudnnDestroyTensorDescriptor);
	discard(o.w, h5_library.cudnnDestroyFilterDescriptor);
	discard(o.conv, h5_library.cudnnDestroyConvolutionDescriptor);
	discard(o.act, h5_library.cudnnDestroyActivationDescriptor);
	return status;
}
