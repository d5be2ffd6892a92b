#include "load.h"

#include <dlfcn.h>
#include <stdio.h>

/* The library of MPI loads others, which look for its names: they are global. */
int mpi_load(h5dnn_mpi *f, const char *file, char *text, size_t n)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
	if (!library) {
		snprintf(text, n, "%s", dlerror());
		return -1;
	}
	f->begin = (int (*)(char *, size_t))dlsym(library, "h5dnn_mpi_begin");
	f->rank = (int (*)(void))dlsym(library, "h5dnn_mpi_rank");
	f->size = (int (*)(void))dlsym(library, "h5dnn_mpi_size");
	f->local = (int (*)(void))dlsym(library, "h5dnn_mpi_local");
	f->start = (void *(*)(void **, const int64_t *, void **, const int64_t *, char *, size_t))dlsym(library, "h5dnn_mpi_start");
	f->sum = (void *(*)(void *, int64_t, int, char *, size_t))dlsym(library, "h5dnn_mpi_sum");
	f->wait = (int (*)(void *, char *, size_t))dlsym(library, "h5dnn_mpi_wait");
	f->abort = (void (*)(int))dlsym(library, "h5dnn_mpi_abort");
	f->end = (void (*)(void))dlsym(library, "h5dnn_mpi_end");
	if (f->begin && f->rank && f->size && f->local && f->start && f->sum && f->wait && f->abort && f->end)
		return 0;
	snprintf(text, n, "%s: not the library of this version", file);
	return -1;
}

int mpi_begin(h5dnn_mpi *f, char *text, size_t n) { return f->begin(text, n); }
int mpi_rank(h5dnn_mpi *f) { return f->rank(); }
int mpi_size(h5dnn_mpi *f) { return f->size(); }
int mpi_local(h5dnn_mpi *f) { return f->local(); }
void mpi_abort(h5dnn_mpi *f, int status) { f->abort(status); }
void mpi_end(h5dnn_mpi *f) { f->end(); }

void *mpi_sum(h5dnn_mpi *f, void *values, int64_t count, int doubles, char *text, size_t n) { return f->sum(values, count, doubles, text, n); }
int mpi_wait(h5dnn_mpi *f, void *started, char *text, size_t n) { return f->wait(started, text, n); }

void *mpi_start(h5dnn_mpi *f, void **send, const int64_t *send_bytes, void **receive, const int64_t *receive_bytes, char *text, size_t n)
{
	return f->start(send, send_bytes, receive, receive_bytes, text, n);
}
