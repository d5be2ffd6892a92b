#include <stddef.h>
#include <stdint.h>

/* What the library of collective/mpi/plugin exports. */
typedef struct {
	int (*begin)(char *text, size_t n);
	int (*rank)(void), (*size)(void), (*local)(void);
	void *(*start)(void **send, const int64_t *send_bytes, void **receive, const int64_t *receive_bytes, char *text, size_t n);
	void *(*sum)(void *values, int64_t count, int doubles, char *text, size_t n);
	int (*wait)(void *started, char *text, size_t n);
	void (*abort)(int status);
	void (*end)(void);
} h5dnn_mpi;

int mpi_load(h5dnn_mpi *f, const char *file, char *text, size_t n);
int mpi_begin(h5dnn_mpi *f, char *text, size_t n);
void *mpi_start(h5dnn_mpi *f, void **send, const int64_t *send_bytes, void **receive, const int64_t *receive_bytes, char *text, size_t n);
void *mpi_sum(h5dnn_mpi *f, void *values, int64_t count, int doubles, char *text, size_t n);
int mpi_wait(h5dnn_mpi *f, void *started, char *text, size_t n);
int mpi_rank(h5dnn_mpi *f);
int mpi_size(h5dnn_mpi *f);
int mpi_local(h5dnn_mpi *f);
void mpi_abort(h5dnn_mpi *f, int status);
void mpi_end(h5dnn_mpi *f);
