/* Exchanges between the processes that mpirun or srun has started. scripts/mpi.sh compiles it for each MPI that is installed;
 * package collective/mpi loads the library of the MPI that has started the process. */
#include <mpi.h>

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Who a rank is. Processes of one host see each other end. */
struct peer {
	int64_t pid;
	char host[64];
};

static MPI_Comm world;
static int rank, size;
static struct peer *peers;

static int fail(char *text, size_t n, const char *act, int code)
{
	char reason[MPI_MAX_ERROR_STRING];
	int length = 0;
	if (MPI_Error_string(code, reason, &length) != MPI_SUCCESS)
		snprintf(reason, sizeof reason, "error %d", code);
	snprintf(text, n, "%s: %s", act, reason);
	return -1;
}

int h5dnn_mpi_begin(char *text, size_t n)
{
	int provided, code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
	if (code != MPI_SUCCESS)
		return fail(text, n, "MPI_Init_thread", code);
	if (provided < MPI_THREAD_SERIALIZED) {
		snprintf(text, n, "this MPI cannot be called from several threads, one at a time");
		return -1;
	}
	code = MPI_Comm_dup(MPI_COMM_WORLD, &world);
	if (code != MPI_SUCCESS)
		return fail(text, n, "MPI_Comm_dup", code);
	MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
	MPI_Comm_rank(world, &rank);
	MPI_Comm_size(world, &size);
	struct peer me = {.pid = getpid()};
	gethostname(me.host, sizeof me.host - 1);
	peers = calloc((size_t)size, sizeof *peers);
	if (!peers) {
		snprintf(text, n, "no memory for %d processes", size);
		return -1;
	}
	code = MPI_Allgather(&me, sizeof me, MPI_BYTE, peers, sizeof me, MPI_BYTE, world);
	return code == MPI_SUCCESS ? 0 : fail(text, n, "MPI_Allgather", code);
}

int h5dnn_mpi_rank(void) { return rank; }
int h5dnn_mpi_size(void) { return size; }

static int here(int r) { return strcmp(peers[r].host, peers[rank].host) == 0; }

/* The number of processes on this host. */
int h5dnn_mpi_local(void)
{
	int n = 0;
	for (int r = 0; r < size; r++)
		n += here(r);
	return n;
}

/* A rank of this host that has ended, or -1. */
static int ended(void)
{
	for (int r = 0; r < size; r++)
		if (here(r) && kill((pid_t)peers[r].pid, 0) != 0 && errno == ESRCH)
			return r;
	return -1;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of waiting without sleep. */
#define PATIENCE 0.1

/* A started exchange: messages, the received ones first, or sums. */
struct exchange {
	int count, receives;
	int64_t missing; /* bytes to receive */
	int failed;      /* an error code of its start */
	MPI_Request *requests;
	MPI_Status *statuses;
};

static void release(struct exchange *e)
{
	free(e->requests);
	free(e->statuses);
	free(e);
}

/* An exchange of at most that number of requests, or NULL. */
static struct exchange *reserve(int64_t requests, char *text, size_t n)
{
	struct exchange *e = calloc(1, sizeof *e);
	if (e && requests < INT32_MAX) {
		e->requests = malloc((size_t)(requests + 1) * sizeof *e->requests);
		e->statuses = malloc((size_t)(requests + 1) * sizeof *e->statuses);
	}
	if (e && e->requests && e->statuses)
		return e;
	if (e)
		release(e);
	snprintf(text, n, "no memory for %lld messages", (long long)requests);
	return NULL;
}

/* Messages of all exchanges go on in calls of MPI only. */
static void progress(void)
{
	int found;
	MPI_Iprobe(MPI_ANY_SOURCE, 1, world, &found, MPI_STATUS_IGNORE); /* no message has this tag */
}

/* Waits for requests, and looks each second whether a process of this host has ended. */
static int wait_for(struct exchange *e, char *text, size_t n)
{
	double began = seconds(), checked = began;
	for (;;) {
		int done = 0, code = MPI_Testall(e->count, e->requests, &done, e->statuses);
		if (code != MPI_SUCCESS)
			return fail(text, n, "exchange", code);
		if (done)
			return 0;
		double now = seconds();
		if (now - began < PATIENCE)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
		if (now - checked < 1)
			continue;
		checked = now;
		int r = ended();
		if (r >= 0) {
			snprintf(text, n, "rank %d of %d, process %lld on %s, has ended", r, size, (long long)peers[r].pid, peers[r].host);
			return -1;
		}
	}
}

/* The most bytes of a message, whose count is an int. */
#define MOST ((int64_t)1 << 30)

static int64_t messages(const int64_t *bytes)
{
	int64_t n = 0;
	for (int r = 0; r < size; r++)
		n += r == rank ? 0 : (bytes[r] + MOST - 1) / MOST;
	return n;
}

/* Starts the messages from or to rank r. */
static int start(struct exchange *e, char *data, int64_t bytes, int r, int sends)
{
	for (int64_t at = 0; at < bytes; at += MOST) {
		int part = (int)(bytes - at < MOST ? bytes - at : MOST);
		MPI_Request *next = &e->requests[e->count];
		int code = sends ? MPI_Isend(data + at, part, MPI_BYTE, r, 0, world, next) : MPI_Irecv(data + at, part, MPI_BYTE, r, 0, world, next);
		if (code != MPI_SUCCESS)
			return code;
		e->count++;
	}
	return MPI_SUCCESS;
}

/* Begins to send send[r] to each rank r and to receive receive[r] from it. Returns what h5dnn_mpi_wait takes, or NULL. */
void *h5dnn_mpi_start(void **send, const int64_t *send_bytes, void **receive, const int64_t *receive_bytes, char *text, size_t n)
{
	if (send_bytes[rank] != receive_bytes[rank]) {
		snprintf(text, n, "%lld bytes to itself, %lld expected", (long long)send_bytes[rank], (long long)receive_bytes[rank]);
		return NULL;
	}
	struct exchange *e = reserve(messages(send_bytes) + messages(receive_bytes), text, n);
	if (!e)
		return NULL;
	if (send_bytes[rank] > 0)
		memmove(receive[rank], send[rank], (size_t)send_bytes[rank]);
	for (int k = 1; k < size && e->failed == MPI_SUCCESS; k++) {
		int from = (rank - k + size) % size;
		e->missing += receive_bytes[from];
		e->failed = start(e, receive[from], receive_bytes[from], from, 0);
	}
	e->receives = e->count;
	for (int k = 1; k < size && e->failed == MPI_SUCCESS; k++) {
		int to = (rank + k) % size;
		e->failed = start(e, send[to], send_bytes[to], to, 1);
	}
	progress();
	return e;
}

/* Begins to add values, doubles or else floats, over all ranks. Returns what h5dnn_mpi_wait takes, or NULL. */
void *h5dnn_mpi_sum(void *values, int64_t count, int doubles, char *text, size_t n)
{
	struct exchange *e = reserve((count + MOST - 1) / MOST, text, n);
	if (!e)
		return NULL;
	for (int64_t at = 0; at < count && e->failed == MPI_SUCCESS; at += MOST) {
		int part = (int)(count - at < MOST ? count - at : MOST);
		char *data = (char *)values + at * (doubles ? 8 : 4);
		e->failed = MPI_Iallreduce(MPI_IN_PLACE, data, part, doubles ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, world, &e->requests[e->count]);
		e->count += e->failed == MPI_SUCCESS;
	}
	progress();
	return e;
}

/* Waits for what has been started, and releases it. */
int h5dnn_mpi_wait(void *started, char *text, size_t n)
{
	struct exchange *e = started;
	int status = e->failed == MPI_SUCCESS ? wait_for(e, text, n) : fail(text, n, "exchange", e->failed);
	for (int i = 0; i < e->receives && status == 0; i++) {
		int got = 0;
		MPI_Get_count(&e->statuses[i], MPI_BYTE, &got);
		e->missing -= got;
	}
	if (status == 0 && e->missing) {
		snprintf(text, n, "%lld bytes fewer than expected", (long long)e->missing);
		status = -1;
	}
	release(e);
	return status;
}

/* Ends all processes. */
void h5dnn_mpi_abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

void h5dnn_mpi_end(void)
{
	MPI_Comm_free(&world);
	MPI_Finalize();
	free(peers);
}
