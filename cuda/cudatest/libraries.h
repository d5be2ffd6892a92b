/* The functions of cublaslt.go and cudnn.go, by the names of the libraries'. */
#ifndef H5_LIBRARY_FAKES_H
#define H5_LIBRARY_FAKES_H

#include "../libraries.h"
#include "table.h"

/* The i-th fake of a library; after the last, one without a name. */
h5_entry h5_library_fake(int which, int i);

#endif
