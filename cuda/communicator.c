#include "communicator.h"

h5_status h5_nccl_id_make(h5_nccl_id *id) { return h5_library.ncclGetUniqueId(id); }

h5_status h5_nccl_join(h5_handle context, h5_object *comm, int ranks, const h5_nccl_id *id, int rank) {
	return h5_set_context(context) ? H5_NO_CONTEXT : h5_library.ncclCommInitRank(comm, ranks, *id, rank);
}

h5_status h5_nccl_exchange(h5_handle context, h5_object comm, h5_handle stream, int ranks, const h5_address *send, const size_t *send_bytes,
	const h5_address *receive, const size_t *receive_bytes) {
	if (h5_set_context(context))
		return H5_NO_CONTEXT;
	h5_status status = h5_library.ncclGroupStart();
	if (status)
		return status;
	for (int r = 0; r < ranks && !status; r++) {
		if (send_bytes[r])
			status = h5_library.ncclSend(send[r], send_bytes[r], H5_NCCL_UINT8, r, comm, stream);
		if (receive_bytes[r] && !status)
			status = h5_library.ncclRecv(receive[r], receive_bytes[r], H5_NCCL_UINT8, r, comm, stream);
	}
	h5_status end = h5_library.ncclGroupEnd(); /* after every start */
	return status ? status : end;
}

h5_status h5_nccl_sum(h5_handle context, h5_object comm, h5_handle stream, h5_address values, size_t count, int type) {
	return h5_set_context(context) ? H5_NO_CONTEXT : h5_library.ncclAllReduce(values, values, count, type, H5_NCCL_SUM, comm, stream);
}

h5_status h5_nccl_error(h5_handle context, h5_object comm) {
	h5_status error = 0, status = h5_set_context(context) ? H5_NO_CONTEXT : h5_library.ncclCommGetAsyncError(comm, &error);
	return status ? status : error;
}

h5_status h5_nccl_end(h5_handle context, h5_object comm, int at_once) {
	if (h5_set_context(context))
		return H5_NO_CONTEXT;
	return at_once ? h5_library.ncclCommAbort(comm) : h5_library.ncclCommDestroy(comm);
}
