#include "dnnl_api.h"
#include <stdlib.h>

/* forward compiles the convolution that d is a gradient of. */
static dnnl_status_t forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d) {
	h5k_operands f = *d;
	f.src = d->forward[0];
	f.weights = d->forward[1];
	f.dst = d->forward[2];
	return h5k_conv_forward(pd, e, &f, NULL);
}

#if DNNL_VERSION_MAJOR >= 3

h5k_own h5k_describe(dnnl_data_type_t type, int rank, const int64_t *dims, const int64_t *stride) {
	h5k_own d = NULL;
	if (stride)
		dnnl_memory_desc_create_with_strides(&d, rank, dims, type, stride);
	else
		dnnl_memory_desc_create_with_tag(&d, rank, dims, type, dnnl_format_tag_any);
	return d;
}

void h5k_forget(h5k_own d) { dnnl_memory_desc_destroy(d); }

dnnl_status_t h5k_append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha) {
	return dnnl_post_ops_append_eltwise(ops, kind, alpha, 0);
}

dnnl_status_t h5k_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	return dnnl_matmul_primitive_desc_create(pd, e, d->src, d->weights, d->bias, d->dst, attr);
}

dnnl_status_t h5k_conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	return dnnl_convolution_forward_primitive_desc_create(pd, e, dnnl_forward_training, dnnl_convolution_direct,
		d->src, d->weights, d->bias, d->dst, d->stride, d->dilate, d->pad_before, d->pad_after, attr);
}

dnnl_status_t h5k_conv_grad_x(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	dnnl_primitive_desc_t hint;
	dnnl_status_t s = forward(&hint, e, d);
	if (s != dnnl_success)
		return s;
	s = dnnl_convolution_backward_data_primitive_desc_create(pd, e, dnnl_convolution_direct,
		d->src, d->weights, d->dst, d->stride, d->dilate, d->pad_before, d->pad_after, hint, attr);
	dnnl_primitive_desc_destroy(hint);
	return s;
}

dnnl_status_t h5k_conv_grad_w(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	dnnl_primitive_desc_t hint;
	dnnl_status_t s = forward(&hint, e, d);
	if (s != dnnl_success)
		return s;
	s = dnnl_convolution_backward_weights_primitive_desc_create(pd, e, dnnl_convolution_direct,
		d->src, d->weights, d->bias, d->dst, d->stride, d->dilate, d->pad_before, d->pad_after, hint, attr);
	dnnl_primitive_desc_destroy(hint);
	return s;
}

#else

h5k_own h5k_describe(dnnl_data_type_t type, int rank, const int64_t *dims, const int64_t *stride) {
	h5k_own d = malloc(sizeof *d);
	if (!d)
		return NULL;
	dnnl_status_t s = stride
		? dnnl_memory_desc_init_by_strides(d, rank, dims, type, stride)
		: dnnl_memory_desc_init_by_tag(d, rank, dims, type, dnnl_format_tag_any);
	if (s == dnnl_success)
		return d;
	free(d);
	return NULL;
}

void h5k_forget(h5k_own d) { free(d); }

dnnl_status_t h5k_append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha) {
	return dnnl_post_ops_append_eltwise(ops, 1, kind, alpha, 0);
}

dnnl_status_t h5k_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	dnnl_matmul_desc_t op;
	dnnl_status_t s = dnnl_matmul_desc_init(&op, d->src, d->weights, d->bias, d->dst);
	return s == dnnl_success ? dnnl_primitive_desc_create(pd, &op, attr, e, NULL) : s;
}

dnnl_status_t h5k_conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	dnnl_convolution_desc_t op;
	dnnl_status_t s = dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_training, dnnl_convolution_direct,
		d->src, d->weights, d->bias, d->dst, d->stride, d->dilate, d->pad_before, d->pad_after);
	return s == dnnl_success ? dnnl_primitive_desc_create(pd, &op, attr, e, NULL) : s;
}

dnnl_status_t h5k_conv_grad_x(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	dnnl_convolution_desc_t op;
	dnnl_primitive_desc_t hint;
	dnnl_status_t s = dnnl_dilated_convolution_backward_data_desc_init(&op, dnnl_convolution_direct,
		d->src, d->weights, d->dst, d->stride, d->dilate, d->pad_before, d->pad_after);
	if (s == dnnl_success)
		s = forward(&hint, e, d);
	if (s != dnnl_success)
		return s;
	s = dnnl_primitive_desc_create(pd, &op, attr, e, hint);
	dnnl_primitive_desc_destroy(hint);
	return s;
}

dnnl_status_t h5k_conv_grad_w(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr) {
	dnnl_convolution_desc_t op;
	dnnl_primitive_desc_t hint;
	dnnl_status_t s = dnnl_dilated_convolution_backward_weights_desc_init(&op, dnnl_convolution_direct,
		d->src, d->weights, d->bias, d->dst, d->stride, d->dilate, d->pad_before, d->pad_after);
	if (s == dnnl_success)
		s = forward(&hint, e, d);
	if (s != dnnl_success)
		return s;
	s = dnnl_primitive_desc_create(pd, &op, attr, e, hint);
	dnnl_primitive_desc_destroy(hint);
	return s;
}

#endif
