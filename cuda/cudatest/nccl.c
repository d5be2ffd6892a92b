/* NCCL between processes, each with the GPUs of this driver: messages are files in a folder, whose name is the communicator's ID. It checks
 * arguments, the order of calls and the lengths of messages, which NCCL does not. */
#include "libraries.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

extern h5_result fake_cuCtxGetCurrent(h5_handle *context);
extern h5_result fake_cuMemcpyHtoDAsync_v2(h5_address to, const void *from, size_t bytes, h5_handle stream);
extern h5_result fake_cuMemcpyDtoHAsync_v2(void *to, h5_address from, size_t bytes, h5_handle stream);
extern h5_result fake_cuStreamSynchronize(h5_handle stream);

enum { CUDA_ERROR = 1, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, REMOTE_ERROR = 6, MOST = 64 };
#define PATIENCE 120 /* seconds */

struct comm {
	h5_nccl_id id;
	int ranks, rank;
	long sent[MOST], received[MOST]; /* messages */
};

struct message {
	struct comm *comm;
	h5_address at;
	size_t bytes;
	int peer, sends;
	h5_handle stream;
};

/* The messages of the thread's group: libraries that are loaded late have little memory for each thread. */
static _Thread_local struct message *group;
static _Thread_local int depth, count;

static h5_status fake_ncclGetVersion(int *version) {
	*version = 22703;
	return 0;
}

static const char *fake_ncclGetErrorString(h5_status status) {
	switch (status) {
	case CUDA_ERROR: return "unhandled cuda error";
	case INVALID_ARGUMENT: return "invalid argument";
	case INVALID_USAGE: return "invalid usage";
	case REMOTE_ERROR: return "remote process exited or there was a network error";
	}
	return "unknown";
}

static h5_status fake_ncclGetUniqueId(h5_nccl_id *id) {
	const char *folder = getenv("TMPDIR");
	memset(id, 0, sizeof *id);
	snprintf(id->bytes, sizeof id->bytes, "%s/nccl-XXXXXX", folder ? folder : "/tmp");
	return mkdtemp(id->bytes) ? 0 : INVALID_USAGE;
}

static void name(char *path, size_t n, const struct comm *c, int from, int to, long number) {
	snprintf(path, n, "%.127s/%d-%d-%ld", c->id.bytes, from, to, number);
}

static h5_status write_message(struct comm *c, int to, const void *data, size_t bytes) {
	char path[256], part[260];
	name(path, sizeof path, c, c->rank, to, c->sent[to]++);
	snprintf(part, sizeof part, "%s.x", path);
	FILE *f = fopen(part, "wb");
	int wrong = !f || fwrite(data, 1, bytes, f) != bytes;
	if (f)
		wrong |= fclose(f) != 0;
	return wrong || rename(part, path) ? REMOTE_ERROR : 0;
}

static h5_status read_message(struct comm *c, int from, void *data, size_t bytes) {
	char path[256];
	name(path, sizeof path, c, from, c->rank, c->received[from]++);
	FILE *f = NULL;
	for (long i = 0; i < PATIENCE * 5000L && !(f = fopen(path, "rb")); i++)
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	if (!f)
		return REMOTE_ERROR;
	int wrong = fread(data, 1, bytes, f) != bytes || fgetc(f) != EOF;
	fclose(f);
	remove(path);
	return wrong ? INVALID_ARGUMENT : 0;
}

static int in_context(void) {
	h5_handle context = 0;
	return fake_cuCtxGetCurrent(&context) == 0 && context;
}

static h5_status fake_ncclCommInitRank(h5_object *comm, int ranks, h5_nccl_id id, int rank) {
	if (!in_context() || depth)
		return INVALID_USAGE;
	if (ranks < 1 || ranks > MOST || rank < 0 || rank >= ranks || !memchr(id.bytes, 0, sizeof id.bytes))
		return INVALID_ARGUMENT;
	struct comm *c = calloc(1, sizeof *c);
	if (!c)
		return INVALID_USAGE;
	c->id = id, c->ranks = ranks, c->rank = rank;
	h5_status status = 0;
	char byte = 0;
	for (int r = 0; r < ranks && !status; r++)
		status = write_message(c, r, &byte, 1);
	for (int r = 0; r < ranks && !status; r++)
		status = read_message(c, r, &byte, 1);
	if (status)
		free(c);
	else
		*comm = (h5_object)c;
	return status;
}

static h5_status fake_ncclCommDestroy(h5_object comm) {
	if (!comm || depth)
		return INVALID_USAGE;
	struct comm *c = (struct comm *)comm;
	rmdir(c->id.bytes); /* by the last one */
	free(c);
	return 0;
}

static h5_status fake_ncclCommAbort(h5_object comm) { return fake_ncclCommDestroy(comm); }

static h5_status fake_ncclCommGetAsyncError(h5_object comm, h5_status *error) {
	*error = 0;
	return comm ? 0 : INVALID_ARGUMENT;
}

static h5_status add(h5_address at, size_t elements, int type, int peer, h5_object comm, h5_handle stream, int sends) {
	struct comm *c = (struct comm *)comm;
	if (!in_context() || !depth || count == 2 * MOST)
		return INVALID_USAGE;
	if (!c || peer < 0 || peer >= c->ranks || type != H5_NCCL_UINT8 || !at || !elements)
		return INVALID_ARGUMENT;
	group[count++] = (struct message){c, at, elements, peer, sends, stream};
	return 0;
}

static h5_status fake_ncclSend(h5_address from, size_t elements, int type, int peer, h5_object comm, h5_handle stream) {
	return add(from, elements, type, peer, comm, stream, 1);
}

static h5_status fake_ncclRecv(h5_address to, size_t elements, int type, int peer, h5_object comm, h5_handle stream) {
	return add(to, elements, type, peer, comm, stream, 0);
}

static h5_status fake_ncclGroupStart(void) {
	if (depth == 0 && !(group = malloc(2 * MOST * sizeof *group)))
		return INVALID_USAGE;
	depth++;
	return 0;
}

static h5_status download(void *to, h5_address from, size_t bytes, h5_handle stream) {
	return fake_cuMemcpyDtoHAsync_v2(to, from, bytes, stream) || fake_cuStreamSynchronize(stream) ? CUDA_ERROR : 0;
}

static h5_status make(const struct message *m) {
	char *data = malloc(m->bytes);
	if (!data)
		return INVALID_USAGE;
	h5_status status;
	if (m->sends) {
		status = download(data, m->at, m->bytes, m->stream);
		status = status ? status : write_message(m->comm, m->peer, data, m->bytes);
	} else {
		status = read_message(m->comm, m->peer, data, m->bytes);
		if (!status && fake_cuMemcpyHtoDAsync_v2(m->at, data, m->bytes, m->stream))
			status = CUDA_ERROR;
	}
	free(data);
	return status;
}

static h5_status fake_ncclGroupEnd(void) {
	if (depth == 0)
		return INVALID_USAGE;
	if (--depth > 0)
		return 0;
	h5_status status = 0;
	for (int sends = 1; sends >= 0; sends--)
		for (int i = 0; i < count && !status; i++)
			if (group[i].sends == sends)
				status = make(&group[i]);
	count = 0;
	free(group);
	group = NULL;
	return status;
}

static h5_status fake_ncclAllReduce(h5_address from, h5_address to, size_t elements, int type, int op, h5_object comm, h5_handle stream) {
	struct comm *c = (struct comm *)comm;
	if (!in_context() || depth)
		return INVALID_USAGE;
	if (!c || !from || !to || !elements || (type != H5_NCCL_FLOAT32 && type != H5_NCCL_FLOAT64) || op != H5_NCCL_SUM)
		return INVALID_ARGUMENT;
	size_t bytes = elements * (type == H5_NCCL_FLOAT32 ? sizeof(float) : sizeof(double));
	char *sum = calloc(1, bytes), *theirs = malloc(bytes);
	h5_status status = sum && theirs ? download(theirs, from, bytes, stream) : INVALID_USAGE;
	for (int r = 0; r < c->ranks && !status; r++)
		status = write_message(c, r, theirs, bytes);
	for (int r = 0; r < c->ranks && !status; r++) {
		status = read_message(c, r, theirs, bytes);
		for (size_t i = 0; i < elements && !status; i++)
			if (type == H5_NCCL_FLOAT32)
				((float *)sum)[i] += ((float *)theirs)[i];
			else
				((double *)sum)[i] += ((double *)theirs)[i];
	}
	if (!status && fake_cuMemcpyHtoDAsync_v2(to, sum, bytes, stream))
		status = CUDA_ERROR;
	free(sum);
	free(theirs);
	return status;
}

#define ENTRY(result, name, params) {#name, (void *)fake_##name},
static const h5_entry nccl[] = {H5_NCCL(ENTRY){0}};

h5_entry h5_nccl_fake(int i) { return nccl[i]; }
