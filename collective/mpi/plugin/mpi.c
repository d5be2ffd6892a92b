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

/* Waits for requests, and looks each second whether a process of this host has ended. */
static int wait_for(MPI_Request *requests, MPI_Status *statuses, int count, char *text, size_t n)
{
	double began = seconds(), checked = began;
	for (;;) {
		int done = 0, code = MPI_Testall(count, requests, &done, statuses);
		if (code != MPI_SUCCESS)
			return fail(text, n, "exchange", code);
		if (done)
			return 0;
		double now = seconds();
		if (now - began < PATIENCE)
			sched_yield(); /* messages in shared memory go on in calls of MPI only */
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
static int start(MPI_Request **next, char *data, int64_t bytes, int r, int sends)
{
	for (int64_t at = 0; at < bytes; at += MOST) {
		int part = (int)(bytes - at < MOST ? bytes - at : MOST);
		int code = sends ? MPI_Isend(data + at, part, MPI_BYTE, r, 0, world, (*next)++) : MPI_Irecv(data + at, part, MPI_BYTE, r, 0, world, (*next)++);
		if (code != MPI_SUCCESS)
			return code;
	}
	return MPI_SUCCESS;
}

/* Sends send[r] to each rank r and receives receive[r] from it. Returns once all is done. */
int h5dnn_mpi_exchange(void **send, const int64_t *send_bytes, void **receive, const int64_t *receive_bytes, char *text, size_t n)
{
	int64_t count = messages(send_bytes) + messages(receive_bytes);
	if (send_bytes[rank] != receive_bytes[rank] || count > INT32_MAX) {
		snprintf(text, n, "%lld bytes to itself, %lld expected, in %lld messages", (long long)send_bytes[rank], (long long)receive_bytes[rank], (long long)count);
		return -1;
	}
	if (send_bytes[rank] > 0)
		memmove(receive[rank], send[rank], (size_t)send_bytes[rank]);
	MPI_Request *requests = malloc((size_t)(count + 1) * sizeof *requests), *next = requests;
	MPI_Status *statuses = malloc((size_t)(count + 1) * sizeof *statuses);
	if (!requests || !statuses) {
		free(requests);
		free(statuses);
		snprintf(text, n, "no memory for %lld messages", (long long)count);
		return -1;
	}
	int code = MPI_SUCCESS;
	for (int k = 1; k < size && code == MPI_SUCCESS; k++) {
		int from = (rank - k + size) % size;
		code = start(&next, receive[from], receive_bytes[from], from, 0);
	}
	int receives = (int)(next - requests);
	for (int k = 1; k < size && code == MPI_SUCCESS; k++) {
		int to = (rank + k) % size;
		code = start(&next, send[to], send_bytes[to], to, 1);
	}
	int status = code == MPI_SUCCESS ? wait_for(requests, statuses, (int)(next - requests), text, n) : fail(text, n, "exchange", code);
	int64_t missing = -receive_bytes[rank];
	for (int r = 0; r < size; r++)
		missing += receive_bytes[r];
	for (int i = 0; i < receives && status == 0; i++) {
		int got = 0;
		MPI_Get_count(&statuses[i], MPI_BYTE, &got);
		missing -= got;
	}
	if (status == 0 && missing) {
		snprintf(text, n, "%lld bytes fewer than expected", (long long)missing);
		status = -1;
	}
	free(requests);
	free(statuses);
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
