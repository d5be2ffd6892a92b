/* Exchanges of device memory between the ranks of a communicator of NCCL, one C call each. */
#ifndef H5_COMMUNICATOR_H
#define H5_COMMUNICATOR_H

#include "vendor.h"

h5_status h5_nccl_id_make(h5_nccl_id *id);
h5_status h5_nccl_join(h5_handle context, h5_object *comm, int ranks, const h5_nccl_id *id, int rank);

/* Sends send_bytes[r] bytes to each rank r and receives receive_bytes[r] from it, in the order of the stream. A rank that is sent nothing is left out. */
h5_status h5_nccl_exchange(h5_handle context, h5_object comm, h5_handle stream, int ranks, const h5_address *send, const size_t *send_bytes,
	const h5_address *receive, const size_t *receive_bytes);

h5_status h5_nccl_sum(h5_handle context, h5_object comm, h5_handle stream, h5_address values, size_t count, int type);

/* Returns an error of work that was issued, which other ranks may have caused. */
h5_status h5_nccl_error(h5_handle context, h5_object comm);

/* Ends a communicator: at once, or once its work is done. */
h5_status h5_nccl_end(h5_handle context, h5_object comm, int at_once);

static inline const char *h5_nccl_text(h5_status status) { return h5_library.ncclGetErrorString(status); }

#endif
