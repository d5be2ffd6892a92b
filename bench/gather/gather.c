// Command gather copies rows of a file to batches, in a given order and on two
// threads, the ways a C program would. It is what a shuffled epoch is compared with.
//
//	gather FILE ORDER ROW BATCH WAY
//
// ORDER is a file of pairs of int64s, one for each row: its offset in FILE, in bytes,
// and the block that it belongs to. ROW is the number of bytes in a row, BATCH the
// number of rows that a thread copies at a time. For every line "N" on standard input it makes N epochs and writes their
// times, in seconds, as a JSON array. WAY is one of
//
//	plain    rows are copied out of one mapping, whose pages are never given back
//	window   likewise, but the pages of a block, and those that page faults mapped around
//	         them, are given back once all of its rows were copied
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

enum { THREADS = 2, PAGE_TABLE = 2 << 20 }; // a page fault maps no pages beyond a page table

static int file;
static size_t size, row, batch, rows;
static const struct place {
	int64_t at, block;
} *order;
static unsigned char *map; // NULL where rows are read
static _Atomic int *left;  // rows of each block that are not copied yet; NULL if pages stay
static struct block {
	int rows;
	size_t start, end;
} *blocks;
static size_t block_count;
static atomic_size_t next;

static void fail(const char *what) {
	perror(what);
	exit(1);
}

static void done_with(size_t block) {
	if (atomic_fetch_sub(&left[block], 1) != 1)
		return;
	uintptr_t base = (uintptr_t)map, start = base + blocks[block].start, end = base + blocks[block].end;
	start = start / PAGE_TABLE * PAGE_TABLE;
	end = (end + PAGE_TABLE - 1) / PAGE_TABLE * PAGE_TABLE;
	if (start < base)
		start = base;
	if (end > base + size)
		end = base + size;
	if (madvise((void *)start, end - start, MADV_DONTNEED))
		fail("madvise");
}

static void find_blocks(void) {
	for (size_t i = 0; i < rows; i++)
		if ((size_t)order[i].block >= block_count)
			block_count = order[i].block + 1;
	blocks = calloc(block_count, sizeof *blocks);
	left = calloc(block_count, sizeof *left);
	for (size_t i = 0; i < rows; i++) {
		struct block *b = &blocks[order[i].block];
		size_t at = order[i].at;
		if (!b->rows++ || at < b->start)
			b->start = at;
		if (at + row > b->end)
			b->end = at + row;
	}
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
				if (pread(file, out + (i - first) * row, row, order[i].at) != (ssize_t)row)
					fail("pread");
				continue;
			}
			memcpy(out + (i - first) * row, map + order[i].at, row);
			if (left)
				done_with(order[i].block);
		}
	}
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static double epoch(void *const *buffers) {
	pthread_t threads[THREADS];
	for (size_t b = 0; left && b < block_count; b++)
		left[b] = blocks[b].rows;
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
		find_blocks();
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
