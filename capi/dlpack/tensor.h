/* Tensors that h5dnn exports: one block of memory of C's, which holds the sizes and strides too. */
#ifndef H5DNN_TENSOR_H
#define H5DNN_TENSOR_H

#include "../h5dnn.h"

/* Return a tensor of that many axes, its sizes and strides to be filled in, or NULL. Its
 * deleter tells Go about owner, once, and frees it. */
DLManagedTensorVersioned *dlpack_new(int32_t ndim, uintptr_t owner);
DLManagedTensor *dlpack_new_unversioned(int32_t ndim, uintptr_t owner);

/* Call a tensor's deleter, if it has one. */
void dlpack_delete(DLManagedTensorVersioned *t);
void dlpack_delete_unversioned(DLManagedTensor *t);

#endif
