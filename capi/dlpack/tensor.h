/* Tensors that h5dnn exports: one block of C memory, with the sizes and strides in it. */
#ifndef H5DNN_TENSOR_H
#define H5DNN_TENSOR_H

#include "../h5dnn.h"

/* Return a tensor with that many axes, whose sizes and strides have to be filled in, or NULL. Its
 * deleter calls dlpack_deleted with owner and frees it. */
DLManagedTensorVersioned *dlpack_new(int32_t ndim, uintptr_t owner);
DLManagedTensor *dlpack_new_unversioned(int32_t ndim, uintptr_t owner);

/* Call a tensor's deleter, if it has one. */
void dlpack_delete(DLManagedTensorVersioned *t);
void dlpack_delete_unversioned(DLManagedTensor *t);

#endif
