/* Products and convolutions of float32 by oneDNN, compiled once and run many times. */
#ifndef H5K_DNNL_PLAN_H
#define H5K_DNNL_PLAN_H

#include <stddef.h>
#include <stdint.h>

enum { H5K_MATMUL, H5K_CONV, H5K_CONV_GRAD_X, H5K_CONV_GRAD_W };

/* A problem is everything a compiled primitive depends on. Operands are x, weights,
 * bias and y, in the forward operation's terms: a gradient lies where its operand does.
 * moved is a set of 1<<operand whose elements are moved, by a copy within the call: weights
 * to where the primitive has them best, images to channels-last.
 */
enum { H5K_X, H5K_W, H5K_B, H5K_Y, H5K_SLOTS };

typedef struct {
	int32_t op, activation, bias, moved, threads, rank;
	int32_t bf16;                                  /* operands that are read, but for the bias, are rounded to bfloat16 */
	int64_t groups;                                /* of a convolution: weights are (outputs, inputs of a group, ...) */
	int64_t x[5], w[5], y[5];                      /* sizes */
	int64_t x_stride[5], w_stride[5], y_stride[5]; /* in elements, positive */
	int64_t stride[3], dilation[3], pad[3];        /* of a convolution, by spatial axis; pad is before the first element */
} h5k_problem;

typedef struct h5k_plan h5k_plan;

/* h5k_dnnl_load loads oneDNN, of the major version h5k_dnnl_major: before all calls below.
 * It returns -1 if there is none. */
int h5k_dnnl_load(void);
int h5k_dnnl_major(void);

/* h5k_compile returns NULL if oneDNN cannot do it, and oneDNN's status in *status. */
h5k_plan *h5k_compile(const h5k_problem *problem, int *status);
void h5k_discard(h5k_plan *plan);
const char *h5k_implementation(const h5k_plan *plan);

/* h5k_bf16 reports whether the processor multiplies numbers of bfloat16, at H5DNN_ISA. Elsewhere operands are
 * rounded to them and multiplied in float32. */
int h5k_bf16(void);
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 10)
#define H5K_BUILDS_BF16 /* the compiler knows the instructions */
#endif

/* h5k_execute runs a plan, in one thread at a time, for each of some blocks of x and y, x_step and
 * y_step elements apart. After each, unless act is -1, the block of act(y) is written to z, which may be y:
 * act is a line of ops.h, and the y of a block is dense. Each operand comes with the number of
 * elements there are from its address on; one that is too short is refused (-1), as
 * is a lack of memory (-2); else the result is oneDNN's status, 0 for success. */
int h5k_execute(h5k_plan *plan, float *x, int64_t x_len, float *w, int64_t w_len,
	float *b, int64_t b_len, float *y, int64_t y_len, int64_t blocks, int64_t x_step, int64_t y_step,
	int act, float *z, int64_t z_len);

/* h5k_scratch returns size bytes, 64-aligned, that are the calling thread's until it asks again. */
void *h5k_scratch(size_t size);

void h5k_dnnl_version(int *major, int *minor, int *patch);

#endif
