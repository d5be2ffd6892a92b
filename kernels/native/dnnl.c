#include "dnnl_plan.h"
#include "dnnl_api.h"
#include "h5k.h"
#include "loops.h"
#include "table.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An operand has the layout that the caller gives it. If the primitive prefers another one, the operand is copied:
 * before the call if it is read, after it if it is written. */
typedef struct {
	int arg; /* oneDNN's name for it, 0 if it is absent */
	int written;
	int64_t need; /* elements, from the first to the last */
	dnnl_memory_t theirs, ours;
	dnnl_primitive_t move;
	size_t at; /* of ours in the scratch, if it is moved */
	int rounded; /* a copy of the elements is, to bfloat16, in the scratch from round_at on */
	size_t round_at;
} operand;

struct h5k_plan {
	int threads;
	dnnl_primitive_t run;
	dnnl_memory_t scratchpad;
	operand of[H5K_SLOTS];
	size_t scratch; /* bytes: the primitive's own first, then operands moved */
	const char *implementation;
};

extern const h5k_table h5k_table_v4;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_status_t ready = dnnl_runtime_error;

static void start(void) {
	ready = dnnl_engine_create(&engine, dnnl_cpu, 0);
	if (ready == dnnl_success)
		ready = dnnl_stream_create(&stream, engine, dnnl_stream_default_flags);
}

static dnnl_status_t started(void) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, start);
	return ready;
}

/* Scratch memory belongs to threads, not plans: there are many plans, and one runs at a time. */
typedef struct {
	size_t size;
	void *bytes;
} scratch;

static pthread_key_t scratch_key;

static void scratch_free(void *it) {
	free(((scratch *)it)->bytes);
	free(it);
}

static void scratch_start(void) { pthread_key_create(&scratch_key, scratch_free); }

void *h5k_scratch(size_t size) {
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, scratch_start);
	scratch *mine = pthread_getspecific(scratch_key);
	if (!mine) {
		mine = calloc(1, sizeof *mine);
		if (!mine || pthread_setspecific(scratch_key, mine))
			return NULL;
	}
	if (mine->size < size || !mine->bytes) {
		free(mine->bytes);
		mine->size = (size + 4096) / 4096 * 4096;
		mine->bytes = aligned_alloc(4096, mine->size);
		if (!mine->bytes)
			mine->size = 0;
	}
	return mine->bytes;
}

static int64_t extent(int rank, const int64_t *size, const int64_t *stride) {
	int64_t last = 0;
	for (int i = 0; i < rank; i++)
		last += (size[i] - 1) * stride[i];
	return last + 1;
}

static const int args[][H5K_SLOTS] = {
	[H5K_MATMUL] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
	[H5K_CONV] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST},
	[H5K_CONV_GRAD_X] = {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, 0, DNNL_ARG_DIFF_DST},
	[H5K_CONV_GRAD_W] = {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, DNNL_ARG_DIFF_DST},
};

static const int written[][H5K_SLOTS] = {
	[H5K_MATMUL] = {[H5K_Y] = 1},
	[H5K_CONV] = {[H5K_Y] = 1},
	[H5K_CONV_GRAD_X] = {[H5K_X] = 1},
	[H5K_CONV_GRAD_W] = {[H5K_W] = 1, [H5K_B] = 1},
};

static dnnl_status_t (*const compile[])(dnnl_primitive_desc_t *, dnnl_engine_t, const h5k_operands *, dnnl_primitive_attr_t) = {
	[H5K_MATMUL] = h5k_matmul,
	[H5K_CONV] = h5k_conv_forward,
	[H5K_CONV_GRAD_X] = h5k_conv_grad_x,
	[H5K_CONV_GRAD_W] = h5k_conv_grad_w,
};

enum { RELU = 1, SILU = 6 }; /* as package kernels numbers activations */

/* attributes asks for scratch memory of ours, as the library's own belongs to the thread
 * that compiled, and for the activation.
 *
 * oneDNN's relu with a negative slope of 0 is a machine's max(z, 0), which turns
 * NaN to 0 and hides that training went wrong. With the smallest negative slope there is it multiplies
 * instead: NaN stays, and negative numbers are flushed to (minus) zero, as we run it with
 * denormals off. A z of -Inf becomes NaN. */
static dnnl_status_t attributes(dnnl_primitive_attr_t *attr, int activation) {
	static const dnnl_alg_kind_t kinds[] = {0, dnnl_eltwise_relu, dnnl_eltwise_tanh, dnnl_eltwise_logistic, dnnl_eltwise_gelu_erf, dnnl_eltwise_gelu_tanh, dnnl_eltwise_swish};
	dnnl_post_ops_t ops;
	dnnl_status_t s = dnnl_primitive_attr_create(attr);
	if (s != dnnl_success)
		return s;
	s = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
	if (s != dnnl_success || !activation)
		return s;
	s = dnnl_post_ops_create(&ops);
	if (s != dnnl_success)
		return s;
	s = h5k_append_activation(ops, kinds[activation], activation == RELU ? 0x1p-149f : activation == SILU ? 1 : 0);
	if (s == dnnl_success)
		s = dnnl_primitive_attr_set_post_ops(*attr, ops);
	dnnl_post_ops_destroy(ops);
	return s;
}

/* place creates the operand's memory objects and, if the primitive prefers another layout than the one
 * given, the primitive that copies between the two. */
static dnnl_status_t place(h5k_plan *p, operand *o, h5k_ref given, h5k_ref wanted) {
	dnnl_status_t s = dnnl_memory_create(&o->theirs, given, engine, DNNL_MEMORY_NONE);
	if (s != dnnl_success || dnnl_memory_desc_equal(given, wanted))
		return s;
	s = dnnl_memory_create(&o->ours, wanted, engine, DNNL_MEMORY_NONE);
	if (s != dnnl_success)
		return s;
	o->at = p->scratch;
	p->scratch += (dnnl_memory_desc_get_size(wanted) + 63) / 64 * 64;

	dnnl_primitive_desc_t pd;
	s = o->written ? dnnl_reorder_primitive_desc_create(&pd, wanted, engine, given, engine, NULL)
	               : dnnl_reorder_primitive_desc_create(&pd, given, engine, wanted, engine, NULL);
	if (s != dnnl_success)
		return s;
	s = dnnl_primitive_create(&o->move, pd);
	dnnl_primitive_desc_destroy(pd);
	return s;
}

static dnnl_status_t place_all(h5k_plan *p, const h5k_problem *q, int wide, dnnl_primitive_desc_t pd, h5k_own given[]) {
	h5k_ref pad = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	dnnl_status_t s = dnnl_memory_create(&p->scratchpad, pad, engine, DNNL_MEMORY_NONE);
	p->scratch = (dnnl_memory_desc_get_size(pad) + 63) / 64 * 64;
	for (int i = 0; i < H5K_SLOTS && s == dnnl_success; i++) {
		operand *o = &p->of[i];
		if (!args[q->op][i] || !given[i])
			continue;
		o->arg = args[q->op][i];
		o->written = written[q->op][i];
		if ((o->rounded = wide && !o->written && i != H5K_B)) {
			o->round_at = p->scratch;
			p->scratch += (o->need * sizeof(float) + 63) / 64 * 64;
		}
		s = place(p, o, given[i], dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, o->arg));
	}
	return s;
}

/* bias is one number for each output channel: its rank is 1 for a convolution, and
 * that of y, with ones before, for a product. */
static h5k_own describe_bias(const h5k_problem *q) {
	if (q->op != H5K_MATMUL)
		return h5k_describe(dnnl_f32, 1, (dnnl_dims_t){q->w[0]}, (int64_t[]){1});
	return h5k_describe(dnnl_f32, 2, (dnnl_dims_t){1, q->y[1]}, (int64_t[]){q->y[1], 1});
}

/* channels_last sets the strides of dense images whose channels are adjacent. */
static void channels_last(int rank, const int64_t *size, int64_t *stride) {
	int64_t step = size[1];
	stride[1] = 1;
	for (int i = rank - 1; i > 1; i--) {
		stride[i] = step;
		step *= size[i];
	}
	stride[0] = step;
}

/* describe_weights describes weights (outputs, inputs of a group, ...) to oneDNN, for which groups are
 * an axis of their own; in its preferred layout if stride is NULL. */
static h5k_own describe_weights(const h5k_problem *q, dnnl_data_type_t type, const int64_t *stride) {
	dnnl_dims_t size, strides;
	if (q->groups <= 1)
		return h5k_describe(type, q->rank, q->w, stride);
	size[0] = q->groups;
	size[1] = q->w[0] / q->groups;
	for (int i = 1; i < q->rank; i++)
		size[i + 1] = q->w[i];
	if (stride) {
		strides[0] = size[1] * stride[0];
		memcpy(strides + 1, stride, q->rank * sizeof *stride);
	}
	return h5k_describe(type, q->rank + 1, size, stride ? strides : NULL);
}

/* describe_moved describes operand i as it is moved: a factor keeps its order, dense, if it is of another type. */
static h5k_own describe_moved(const h5k_problem *q, dnnl_data_type_t type, int i, const int64_t *size, const int64_t *given) {
	dnnl_dims_t stride;
	if (q->op == H5K_MATMUL && type != dnnl_f32)
		return h5k_describe(type, 2, size, given[0] < given[1] ? (int64_t[]){1, size[0]} : (int64_t[]){size[1], 1});
	if (i == H5K_W)
		return describe_weights(q, type, NULL);
	channels_last(q->rank, size, stride);
	return h5k_describe(type, q->rank, size, stride);
}

typedef struct {
	h5k_own given[H5K_SLOTS], preferred[H5K_SLOTS], forward[H5K_SLOTS];
	dnnl_primitive_attr_t attr;
} descriptions;

/* build compiles q, with operands of bfloat16 unless it is wide. */
static dnnl_status_t build(h5k_plan *p, const h5k_problem *q, int wide, descriptions *described) {
	h5k_own *given = described->given, *preferred = described->preferred, *forward = described->forward;
	const int64_t *size[] = {q->x, q->w, NULL, q->y}, *stride[] = {q->x_stride, q->w_stride, NULL, q->y_stride};
	const int narrow = q->bf16 && !wide;
	for (int i = 0; i < H5K_SLOTS; i++) {
		if (i == H5K_B && !q->bias)
			continue;
		if (i == H5K_B) {
			given[i] = describe_bias(q);
			p->of[i].need = q->op == H5K_MATMUL ? q->y[1] : q->w[0];
		} else {
			given[i] = i == H5K_W ? describe_weights(q, dnnl_f32, stride[i]) : h5k_describe(dnnl_f32, q->rank, size[i], stride[i]);
			p->of[i].need = extent(q->rank, size[i], stride[i]);
			int cast = narrow && !written[q->op][i];
			if (cast || q->moved & 1 << i)
				preferred[i] = describe_moved(q, cast ? dnnl_bf16 : dnnl_f32, i, size[i], stride[i]);
			if (narrow)
				forward[i] = describe_moved(q, dnnl_bf16, i, size[i], stride[i]);
			if (((cast || q->moved & 1 << i) && !preferred[i]) || (narrow && !forward[i]))
				return dnnl_invalid_arguments;
		}
		if (!given[i])
			return dnnl_invalid_arguments;
	}
	h5k_operands d = {
		.src = preferred[H5K_X] ? preferred[H5K_X] : given[H5K_X],
		.weights = preferred[H5K_W] ? preferred[H5K_W] : given[H5K_W],
		.bias = given[H5K_B],
		.dst = preferred[H5K_Y] ? preferred[H5K_Y] : given[H5K_Y],
	};
	h5k_ref of[] = {narrow ? forward[H5K_X] : d.src, narrow ? forward[H5K_W] : d.weights, narrow ? forward[H5K_Y] : d.dst};
	memcpy(d.forward, of, sizeof of);
	for (int i = 0; i < q->rank - 2 && q->op != H5K_MATMUL; i++) {
		d.stride[i] = q->stride[i];
		d.dilate[i] = q->dilation[i] - 1;
		d.pad_before[i] = q->pad[i];
		d.pad_after[i] = (q->y[2 + i] - 1) * q->stride[i] + (q->w[2 + i] - 1) * q->dilation[i] + 1 - q->x[2 + i] - q->pad[i];
	}
	dnnl_status_t s = attributes(&described->attr, q->activation);
	dnnl_primitive_desc_t pd = NULL;
	if (s == dnnl_success)
		s = compile[q->op](&pd, engine, &d, described->attr);
	if (s != dnnl_success)
		return s;
	dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&p->implementation);
	s = narrow && !strncmp(p->implementation, "ref", 3) ? dnnl_unimplemented : dnnl_primitive_create(&p->run, pd);
	if (s == dnnl_success)
		s = place_all(p, q, q->bf16 && wide, pd, given);
	dnnl_primitive_desc_destroy(pd);
	return s;
}

static void forget(h5k_own d[]) {
	for (int i = 0; i < H5K_SLOTS; i++)
		if (d[i])
			h5k_forget(d[i]);
}

static h5k_plan *compile_as(const h5k_problem *q, int wide, int *status) {
	descriptions d = {0};
	h5k_plan *p = calloc(1, sizeof *p);
	*status = p ? started() : dnnl_out_of_memory;
	if (*status == dnnl_success) {
		h5k_team(p->threads = q->threads); /* and not H5K_ENTER: to it relu's negative slope would be 0 */
		*status = build(p, q, wide, &d);
	}
	forget(d.given);
	forget(d.preferred);
	forget(d.forward);
	if (d.attr)
		dnnl_primitive_attr_destroy(d.attr);
	if (*status == dnnl_success)
		return p;
	h5k_discard(p);
	return NULL;
}

h5k_plan *h5k_compile(const h5k_problem *q, int *status) {
	h5k_plan *p = q->bf16 && h5k_bf16() ? compile_as(q, 0, status) : NULL;
	return p ? p : compile_as(q, 1, status); /* without an implementation, or with a slow one, wide */
}

int h5k_bf16(void) {
#ifdef H5K_BUILDS_BF16
	return h5k_isa == &h5k_table_v4 && __builtin_cpu_supports("avx512bf16");
#else
	return 0;
#endif
}

void h5k_discard(h5k_plan *p) {
	if (!p)
		return;
	for (int i = 0; i < H5K_SLOTS; i++) {
		if (p->of[i].move)
			dnnl_primitive_destroy(p->of[i].move);
		if (p->of[i].ours)
			dnnl_memory_destroy(p->of[i].ours);
		if (p->of[i].theirs)
			dnnl_memory_destroy(p->of[i].theirs);
	}
	if (p->scratchpad)
		dnnl_memory_destroy(p->scratchpad);
	if (p->run)
		dnnl_primitive_destroy(p->run);
	free(p);
}

const char *h5k_implementation(const h5k_plan *p) { return p->implementation; }

static int move(const operand *o) {
	dnnl_exec_arg_t a[] = {{DNNL_ARG_FROM, o->written ? o->ours : o->theirs}, {DNNL_ARG_TO, o->written ? o->theirs : o->ours}};
	return dnnl_primitive_execute(o->move, stream, 2, a);
}

/* round_to_bf16 rounds to the nearest number of bfloat16, of two the one with an even last bit. NaN stays NaN. */
static void round_to_bf16(float *y, const float *x, int64_t n) {
	for (int64_t i = 0; i < n; i++) {
		uint32_t u;
		memcpy(&u, x + i, sizeof u);
		uint32_t nan = (u & 0x7fffffff) > 0x7f800000;
		u = nan ? u | 0x400000 : (u + 0x7fff + (u >> 16 & 1)) & 0xffff0000;
		memcpy(y + i, &u, sizeof u);
	}
}

/* execute runs block number block, of operands step elements apart. Operands that are one for all blocks are
 * moved with the first. */
static int execute(h5k_plan *p, float *const at[], const int64_t step[], int64_t block, char *scratch) {
	dnnl_exec_arg_t a[H5K_SLOTS + 1];
	int n = 0, status = 0;
	for (int i = 0; i < H5K_SLOTS; i++) {
		const operand *o = &p->of[i];
		if (!o->arg)
			continue;
		float *from = at[i] + block * step[i], *rounded = (float *)(scratch + o->round_at);
		if (o->rounded && (block == 0 || step[i]))
			round_to_bf16(rounded, from, o->need);
		dnnl_memory_set_data_handle(o->theirs, o->rounded ? rounded : from);
		if (o->move)
			dnnl_memory_set_data_handle(o->ours, scratch + o->at);
		a[n++] = (dnnl_exec_arg_t){o->arg, o->move ? o->ours : o->theirs};
		if (o->move && !o->written && (block == 0 || step[i]) && (status = move(o)))
			return status;
	}
	dnnl_memory_set_data_handle(p->scratchpad, scratch);
	a[n++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, p->scratchpad};
	status = dnnl_primitive_execute(p->run, stream, n, a);
	for (int i = 0; i < H5K_SLOTS && !status; i++)
		if (p->of[i].move && p->of[i].written)
			status = move(&p->of[i]);
	return status;
}

int h5k_execute(h5k_plan *p, float *x, int64_t x_len, float *w, int64_t w_len,
	float *b, int64_t b_len, float *y, int64_t y_len, int64_t blocks, int64_t x_step, int64_t y_step,
	int act, float *z, int64_t z_len) {
	float *const at[] = {x, w, b, y};
	const int64_t len[] = {x_len, w_len, b_len, y_len}, step[] = {x_step, 0, 0, y_step};
	for (int i = 0; i < H5K_SLOTS; i++)
		if (p->of[i].arg && (!at[i] || len[i] < p->of[i].need + (blocks - 1) * step[i]))
			return -1;
	if (act >= 0 && z_len < p->of[H5K_Y].need + (blocks - 1) * y_step)
		return -1;
	char *scratch = h5k_scratch(p->scratch);
	if (!scratch)
		return -2;
	int status = 0;
	H5K_ENTER;
	for (int64_t i = 0; i < blocks && !status; i++) {
		h5k_team(p->threads);
		status = execute(p, at, step, i, scratch);
		if (act >= 0 && !status)
			h5k_activate(act, p->of[H5K_Y].need, z + i * y_step, y + i * y_step);
	}
	H5K_LEAVE;
	return status;
}

void h5k_dnnl_version(int *major, int *minor, int *patch) {
	const dnnl_version_t *v = dnnl_version();
	*major = v->major;
	*minor = v->minor;
	*patch = v->patch;
}
