/* What the functions of h5dnn.h are exported with from Go. It has no const of its own: these
 * are types that have, so that the compiler holds both declarations to each other. */
#ifndef H5DNN_EXPORTS_H
#define H5DNN_EXPORTS_H

#include "h5dnn.h"

typedef const char text;
typedef const int64_t sizes;
typedef const DLTensor memory;
typedef const DLTensor *described;
typedef const char *const *names;
typedef const DLTensor *const *operands;

/* Keeps what h5dnn_message says to this thread. */
void capi_say(const char *line);

#endif
