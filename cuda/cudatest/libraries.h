/* The functions of cublaslt.go, cudnn.go and nccl.c, by the names of the libraries'. */
#ifndef H5_LIBRARY_FAKES_H
#define H5_LIBRARY_FAKES_H

#include "../libraries.h"
#include "table.h"

/* The i-th fake of a library; after the last, one without a name. */
h5_entry h5_library_fake(int which, int i);
h5_entry h5_nccl_fake(int i);

#endif
