// Command gather copies rows of a file to batches, in a given order and on two
// threads, the ways a C program would. It is what a shuffled epoch is compared with.
//
//	gather FILE ORDER ROW BATCH WAY
//
// ORDER is a file of int64s: where each row lies in FILE, in bytes. ROW is the
// number of bytes in a row, BATCH the number of rows that a thread copies at a
// time. For every line "N" on standard input it makes N epochs and writes their
// times, in seconds, as a JSON array. WAY is one of
//
//	plain    rows are copied out of one mapping, whose pages are never given back
//	window   likewise, but 1 MiB is given back once all of its rows were copied
//	pread    one pread for each row
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, BLOCK = 1 << 20 };

static int file;
static size_t size, row, batch, rows;
static const int64_t *order;
static unsigned char *map; // NULL where rows are read
static _Atomic int *left;  // rows of each block that are not copied yet; NULL if pages stay
static int *in_block;
static atomic_size_t next;

static void fail(const char *what) {
	perror(what);
	exit(1);
}

static void done_with(size_t at) {
	size_t block = at / BLOCK;
	if (atomic_fetch_sub(&left[block], 1) != 1)
		return;
	size_t start = block * BLOCK, n = BLOCK;
	if (start + n > size)
		n = size - start;
	if (madvise(map + start, n, MADV_DONTNEED))
		fail("madvise");
}

static void *work(void *buffer) {
	unsigned char *out = buffer;
	for (;;) {
		size_t first = atomic_fetch_add(&next, batch);
		if (first >= rows)
			return NULL;
		size_t end = first + batch < rows ? first + batch : rows;
		for (size_t i = first; i < end; i++) {
			if (!map) {
				if (pread(file, out + (i - first) * row, row, order[i]) != (ssize_t)row)
					fail("pread");
				continue;
			}
			memcpy(out + (i - first) * row, map + order[i], row);
			if (left)
				done_with((size_t)order[i]);
		}
	}
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double epoch(void *const *buffers) {
	size_t blocks = size / BLOCK + 1;
	pthread_t threads[THREADS];
	for (size_t b = 0; left && b < blocks; b++)
		left[b] = in_block[b];
	next = 0;
	double start = now();
	for (int t = 0; t < THREADS; t++)
		if (pthread_create(&threads[t], NULL, work, buffers[t]))
			fail("pthread_create");
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	return now() - start;
}

static const void *map_file(const char *name, int *fd, size_t *n) {
	struct stat info;
	if ((*fd = open(name, O_RDONLY)) < 0 || fstat(*fd, &info))
		fail(name);
	*n = info.st_size;
	void *at = mmap(NULL, *n, PROT_READ, MAP_SHARED, *fd, 0);
	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

int main(int argc, char **argv) {
	int listed, n;
	void *buffers[THREADS];
	if (argc != 6) {
		fprintf(stderr, "usage: gather FILE ORDER ROW BATCH WAY\n");
		return 2;
	}
	order = map_file(argv[2], &listed, &rows);
	rows /= sizeof *order;
	row = strtoul(argv[3], NULL, 10);
	batch = strtoul(argv[4], NULL, 10);
	map = (unsigned char *)map_file(argv[1], &file, &size);
	if (!strcmp(argv[5], "pread")) {
		munmap(map, size);
		map = NULL;
	} else if (!strcmp(argv[5], "window")) {
		left = calloc(size / BLOCK + 1, sizeof *left);
		in_block = calloc(size / BLOCK + 1, sizeof *in_block);
		for (size_t i = 0; i < rows; i++)
			in_block[order[i] / BLOCK]++;
	} else if (strcmp(argv[5], "plain")) {
		fprintf(stderr, "gather: no way %s; want plain, window or pread\n", argv[5]);
		return 2;
	}
	for (int t = 0; t < THREADS; t++)
		buffers[t] = malloc(batch * row);
	while (scanf("%d", &n) == 1) {
		for (int i = 0; i < n; i++)
			printf("%s%.6f", i ? "," : "[", epoch(buffers));
		printf(n > 0 ? "]\n" : "[]\n");
		fflush(stdout);
	}
	return 0;
}
