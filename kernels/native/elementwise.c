#include "stream.h"
#include "table.h"
#include <string.h>

enum {
	BLOCK = 1024,      /* elements in a tile of which some operand is gathered */
	PART = 16384,      /* elements in a tile that needs no gathering */
	NARROW = 16,       /* rows shorter than this are gathered rather than visited */
	WIDEST = 16,       /* bytes in the largest element */
};

/* A job is a loop over tiles: the last two axes are split into parts of rows × cols, and
 * each operand's part is where it is, if its elements are adjacent, or in a buffer. */
typedef struct {
	h5k_loop *loop; /* NULL copies operand 1 to operand 0 */
	void (*load)(int64_t n, float *z, const uint16_t *x); /* converts 16-bit floats, unless NULL */
	void (*store)(int64_t n, uint16_t *z, const float *x);
	const double *constants;
	int operands;
	char *at[H5K_OPERANDS];
	int64_t size[H5K_OPERANDS];
	h5k_grid grid;
	int64_t rows, cols, across, down; /* a tile, and how many tiles cover the last two axes */
	int adjacent[H5K_OPERANDS];
	int twin; /* operand 2 is operand 1 */
	int streams; /* results go to memory around the cache */
} job;

static int64_t cache = INT64_MAX; /* the bytes of the processor's largest cache */

void h5k_set_cache(int64_t bytes) { __atomic_store_n(&cache, bytes, __ATOMIC_RELAXED); }
int h5k_streams(int64_t bytes) { return H5K_STREAMS && bytes > __atomic_load_n(&cache, __ATOMIC_RELAXED); }

static int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t magnitude(int64_t a) { return a < 0 ? -a : a; }
static int log2of(int64_t size) { return __builtin_ctzll(size); }

static void swap(int64_t *a, int64_t *b) {
	int64_t c = *a;
	*a = *b, *b = c;
}

/* The axis along which an operand that is not adjacent along the last one comes
 * closest to being so, or the last but one. */
static int closest(const job *j) {
	int inner = j->grid.rank - 1;
	for (int k = 0; k < j->operands; k++) {
		const int64_t *stride = j->grid.stride[k];
		int best = inner;
		if (stride[inner] == 0 || stride[inner] == 1)
			continue;
		for (int axis = inner - 1; axis >= 0; axis--)
			if (stride[axis] && magnitude(stride[axis]) < magnitude(stride[best]))
				best = axis;
		if (best != inner)
			return best;
	}
	return -1;
}

/* Every operand is adjacent, or one element, along the last axis. */
static int simple(const job *j, int *all) {
	int inner = j->grid.rank - 1;
	*all = 1;
	for (int k = 0; k < j->operands; k++) {
		if (j->grid.stride[k][inner] == 0)
			*all = 0;
		else if (j->grid.stride[k][inner] != 1)
			return 0;
	}
	return j->grid.stride[0][inner] == 1;
}

/* Whether results should be streamed: the operands do not fit in the cache, and the result
 * takes the place of none, whose lines are in the cache anyway. */
static int should_stream(const job *j) {
	int64_t bytes = 0;
	for (int k = 0; k < j->operands; k++) {
		int64_t n = j->size[k];
		for (int axis = 0; axis < j->grid.rank; axis++)
			n *= j->grid.stride[k][axis] ? j->grid.shape[axis] : 1;
		bytes += k == 2 && j->twin ? 0 : n;
		if (k > 0 && j->at[k] == j->at[0])
			return 0;
	}
	return j->adjacent[0] && h5k_streams(bytes);
}

/* plan chooses the tiles and returns how many there are. */
static int64_t plan(job *j) {
	h5k_grid *g = &j->grid;
	int all;
	if (g->rank == 1) { /* give it a second axis */
		g->rank = 2;
		g->shape[1] = g->shape[0], g->shape[0] = 1;
		for (int k = 0; k < j->operands; k++)
			g->stride[k][1] = g->stride[k][0], g->stride[k][0] = 0;
	}
	int inner = g->rank - 1, outer = g->rank - 2;
	int64_t n = g->shape[inner];
	if (simple(j, &all) && (n >= NARROW || g->shape[outer] == 1)) {
		j->rows = 1;
		j->cols = min(n, all && !j->load && !j->store ? PART : BLOCK);
	} else {
		int near = closest(j);
		if (near >= 0 && near != outer) {
			swap(&g->shape[near], &g->shape[outer]);
			for (int k = 0; k < j->operands; k++)
				swap(&g->stride[k][near], &g->stride[k][outer]);
		}
		j->cols = min(n, near >= 0 ? 32 : BLOCK);
		j->rows = min(g->shape[outer], BLOCK / j->cols);
	}
	for (int k = 0; k < j->operands; k++)
		j->adjacent[k] = g->stride[k][inner] == 1 && (j->rows == 1 || (j->cols == n && g->stride[k][outer] == n));
	j->twin = j->operands > 2 && j->at[1] == j->at[2] && j->size[1] == j->size[2] &&
	          !memcmp(g->stride[1], g->stride[2], g->rank * sizeof(int64_t));
	j->streams = should_stream(j);
	j->across = (n + j->cols - 1) / j->cols;
	j->down = (g->shape[outer] + j->rows - 1) / j->rows;
	int64_t tiles = j->across * j->down;
	for (int axis = 0; axis < outer; axis++)
		tiles *= g->shape[axis];
	return tiles;
}

/* A buffer remembers which tile it holds, for operands that repeat theirs. */
typedef struct {
	char *at;
	int64_t rows, cols;
	char bytes[BLOCK * WIDEST] __attribute__((aligned(64)));
} buffer;

static const char *gathered(buffer *b, char *at, int64_t size, int64_t sa, int64_t sb, int64_t rows, int64_t cols) {
	if (b->at == at && b->rows == rows && b->cols == cols)
		return b->bytes;
	h5k_isa->copy[log2of(size)](b->bytes, cols, 1, at, sa, sb, rows, cols);
	b->at = at, b->rows = rows, b->cols = cols;
	return b->bytes;
}

/* compute sets n adjacent elements of out. */
static void compute(const job *j, char *out, const char **in, int64_t n) {
	float converted[H5K_OPERANDS][BLOCK];
	for (int k = 1; j->load && k < j->operands; k++) {
		if (k == 2 && j->twin) {
			in[k] = in[1];
			continue;
		}
		j->load(n, converted[k], (const uint16_t *)in[k]);
		in[k] = (const char *)converted[k];
	}
	j->loop(n, j->store ? (char *)converted[0] : out, in[1], in[2], in[3], j->constants);
	if (j->store)
		j->store(n, (uint16_t *)out, converted[0]);
}

static void tile(const job *j, buffer *buf, char **at, int64_t rows, int64_t cols) {
	int outer = j->grid.rank - 2, inner = j->grid.rank - 1;
	const char *in[H5K_OPERANDS] = {0};
	for (int k = 1; k < j->operands; k++) {
		if (k == 2 && j->twin)
			in[k] = in[1];
		else if (j->adjacent[k])
			in[k] = at[k];
		else
			in[k] = gathered(&buf[k], at[k], j->size[k], j->grid.stride[k][outer], j->grid.stride[k][inner], rows, cols);
	}
	if (j->streams) {
		for (int64_t i = 0, n; i < rows * cols; i += n) {
			n = min(BLOCK, rows * cols - i);
			const char *part[H5K_OPERANDS] = {0};
			for (int k = 1; k < j->operands; k++)
				part[k] = in[k] + i * j->size[k];
			compute(j, buf[0].bytes, part, n);
			for (int k = 1; k < j->operands; k++)
				part[k] = in[k] + (i + n) * j->size[k];
			h5k_isa->stream(at[0] + i * j->size[0], buf[0].bytes, n * j->size[0], part[1], part[j->operands > 2 && !j->twin ? 2 : 1]);
		}
		return;
	}
	compute(j, j->adjacent[0] ? at[0] : buf[0].bytes, in, rows * cols);
	if (!j->adjacent[0])
		h5k_isa->copy[log2of(j->size[0])](at[0], j->grid.stride[0][outer], j->grid.stride[0][inner], buf[0].bytes, cols, 1, rows, cols);
}

static void tiles(void *arg, int64_t from, int64_t to) {
	const job *j = arg;
	int outer = j->grid.rank - 2, inner = j->grid.rank - 1;
	buffer buf[H5K_OPERANDS];
	for (int k = 0; k < H5K_OPERANDS; k++)
		buf[k].at = NULL;
	for (int64_t u = from; u < to; u++) {
		int64_t index[H5K_RANK + 1], left = u;
		index[inner] = left % j->across * j->cols, left /= j->across;
		index[outer] = left % j->down * j->rows, left /= j->down;
		for (int axis = outer - 1; axis >= 0; axis--)
			index[axis] = left % j->grid.shape[axis], left /= j->grid.shape[axis];
		int64_t rows = min(j->rows, j->grid.shape[outer] - index[outer]), cols = min(j->cols, j->grid.shape[inner] - index[inner]);
		char *at[H5K_OPERANDS] = {0};
		for (int k = 0; k < j->operands; k++) {
			int64_t off = 0;
			for (int axis = 0; axis <= inner; axis++)
				off += index[axis] * j->grid.stride[k][axis];
			at[k] = j->at[k] + off * j->size[k];
		}
		if (j->loop)
			tile(j, buf, at, rows, cols);
		else if (j->streams && j->adjacent[1])
			h5k_isa->stream(at[0], at[1], rows * cols * j->size[0], at[1] + 4096, at[1] + 4096);
		else
			h5k_isa->copy[log2of(j->size[0])](at[0], j->grid.stride[0][outer], j->grid.stride[0][inner],
			                                   at[1], j->grid.stride[1][outer], j->grid.stride[1][inner], rows, cols);
	}
	if (j->streams)
		h5k_streamed();
}

static void run(job *j, int cost) {
	H5K_ENTER;
	int64_t n = plan(j);
	h5k_spread(n, h5k_count(&j->grid) * cost < H5K_GRAIN ? INT64_MAX : 2, tiles, j);
	H5K_LEAVE;
}

#define OP(name, types, inputs, result, cost, formula) {#name, inputs, sizeof(result) == 1, cost},
#define REAL double
static const struct {
	const char *name;
	int inputs, compares, cost;
} ops[] = {H5K_OPS(OP)};
#undef REAL
#undef OP

int h5k_find(const char *name) {
	for (int op = 0; op < H5K_NOPS; op++)
		if (!strcmp(ops[op].name, name))
			return op;
	return -1;
}

int h5k_takes(int op, int type) { return !!h5k_isa->op[op][type < H5K_COMPUTED ? type : H5K_F32]; }

void h5k_elementwise(int op, int type, const h5k_grid *g, void *z, const void *x, const void *y, const void *w, double a, double b) {
	static const int sizes[] = {4, 8, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2};
	int half = type - H5K_COMPUTED, size = sizes[type];
	double constants[] = {a, b};
	job j = {
		.loop = h5k_isa->op[op][half < 0 ? type : H5K_F32], .constants = constants, .operands = ops[op].inputs > 2 ? 4 : 3,
		.at = {z, (char *)x, (char *)y, (char *)w}, .size = {ops[op].compares ? 1 : size, size, size, size}, .grid = *g,
	};
	if (half >= 0) {
		j.load = h5k_isa->load_half[half];
		j.store = ops[op].compares ? NULL : h5k_isa->store_half[half];
	}
	run(&j, ops[op].cost);
}

typedef struct {
	h5k_loop *loop;
	int64_t n;
	float *z;
	const float *x;
} activation;

/* Elements in units of BLOCK. */
static void activate(void *arg, int64_t from, int64_t to) {
	static const double constants[2];
	const activation *a = arg;
	int64_t i = from * BLOCK;
	a->loop(min(to * BLOCK, a->n) - i, a->z + i, a->x + i, a->x + i, NULL, constants);
}

void h5k_activate(int op, int64_t n, float *z, const float *x) {
	activation a = {h5k_isa->op[op][H5K_F32], n, z, x};
	h5k_spread((n + BLOCK - 1) / BLOCK, n * ops[op].cost < H5K_GRAIN ? INT64_MAX : 0, activate, &a);
}

void h5k_copy(int size, const h5k_grid *g, void *z, const void *x) {
	job j = {.operands = 2, .at = {z, (char *)x}, .size = {size, size}, .grid = *g};
	run(&j, 1);
}

void h5k_where(int size, const h5k_grid *g, void *z, const void *cond, const void *x, const void *y) {
	job j = {.loop = h5k_isa->where[log2of(size)], .operands = 4, .at = {z, (char *)cond, (char *)x, (char *)y}, .size = {size, 1, size, size}, .grid = *g};
	run(&j, 1);
}

static const int from_size[H5K_FROMS + 2] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2};

void h5k_cast(int from, int to, const h5k_grid *g, void *z, const void *x, double a, double b) {
	static const int sizes[] = {[H5K_F32] = 4, [H5K_F64] = 8, [H5K_EF16] = 2, [H5K_EBF16] = 2};
	double constants[] = {a, b};
	job j = {.constants = constants, .operands = 2, .at = {z, (char *)x}, .size = {sizes[to], from_size[from]}, .grid = *g};
	if (from >= H5K_FROMS) { /* 16-bit floats, as float */
		j.load = h5k_isa->load_half[from - H5K_FROMS];
		from = H5K_FROM_F32;
	}
	if (to >= H5K_EF16) {
		j.store = h5k_isa->store_half[to - H5K_EF16];
		to = H5K_F32;
	}
	j.loop = h5k_isa->cast[from][to];
	run(&j, 1);
}
