/* The part of oneDNN's C API that this package uses, in one form for versions 2 and 3.
 * Version 2 describes an operation in a struct and compiles that, version 3 compiles it
 * from arguments; version 3 hides memory descriptors behind a pointer. */
#ifndef H5K_DNNL_API_H
#define H5K_DNNL_API_H

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#elif __has_include(<dnnl.h>)
#include <dnnl.h>
#else
#error "dnnl.h was not found: install libdnnl-dev (Debian, Ubuntu), onednn-devel (Fedora) or onednn (Arch, Homebrew)"
#endif

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t h5k_ref; /* borrowed */
typedef dnnl_memory_desc_t h5k_own;   /* to be freed by h5k_forget */
#else
typedef const dnnl_memory_desc_t *h5k_ref;
typedef dnnl_memory_desc_t *h5k_own;
#endif

typedef struct {
	h5k_ref src, weights, bias, dst; /* bias may be NULL */
	h5k_ref forward[3];              /* src, weights and dst of the convolution that a gradient is of */
	dnnl_dims_t stride, dilate, pad_before, pad_after; /* dilate counts the elements left out */
} h5k_operands;

/* Elements at the given strides, or, without strides, wherever the
 * primitive likes them best. NULL if out of memory or not describable. */
h5k_own h5k_describe(dnnl_data_type_t type, int rank, const int64_t *dims, const int64_t *stride);
void h5k_forget(h5k_own d);

dnnl_status_t h5k_append_activation(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha);

dnnl_status_t h5k_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr);
dnnl_status_t h5k_conv_forward(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr);
dnnl_status_t h5k_conv_grad_x(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr);
dnnl_status_t h5k_conv_grad_w(dnnl_primitive_desc_t *pd, dnnl_engine_t e, const h5k_operands *d, dnnl_primitive_attr_t attr);

#endif
