/* Layers of recurrent cells over all steps of a sequence, and their gradients.
 *
 * A step's product with the weights is computed in tiles of a few samples and the vectors of all gates of a few units; the cell's
 * functions follow while the tile is in the cache. Either each thread has its own samples, and goes through the steps alone, or
 * its own units, whose weights stay in its cache, and threads wait for each other after each step.
 * Like loops.h the loops are compiled for each level of x86-64 (recurrent_v2.c, _v3.c, _v4.c). */
#ifndef H5K_RECURRENT_H
#define H5K_RECURRENT_H

#include <stdint.h>

enum { H5K_RNN, H5K_LSTM, H5K_GRU, H5K_GRU_BEFORE, H5K_CELLS };

/* x (steps, n, gates·hidden) are products of the input, w (gates·hidden, hidden) are the weights of the state. */
typedef struct {
	int64_t cell, real; /* real is 0 for float, 1 for double */
	int64_t reverse;    /* 1 to begin at the last step */
	int64_t steps, n, hidden;
} h5k_recurrent;

/* The number of elements of the packed weights; the instruction set decides. */
int64_t h5k_recurrent_packed(const h5k_recurrent *g);
void h5k_recurrent_pack(const h5k_recurrent *g, void *packed, const void *w);

/* y (steps, n, hidden), and h and c (n, hidden) after the last step. b, h0 and c0 may be NULL, for zeros. gates (steps, n, gates·hidden) and
 * extra (steps, n, hidden) are for the gradient, or NULL: the values of the gates, and c of an LSTM, the product for the candidate of a GRU, or r·h of one
 * with the reset before. The weights are packed, or w if that is NULL. They return -1 if there is no memory, else 0. */
int h5k_recurrent_forward(const h5k_recurrent *g, const void *packed, const void *w, const void *x, const void *b, const void *h0, const void *c0,
	void *y, void *h, void *c, void *gates, void *extra);

/* The gradients dx of x, dp of the products with w, which is NULL for cells whose are dx, all but H5K_GRU, dh0 and dc0. dy, dh and dc may be NULL,
 * for zeros. */
int h5k_recurrent_backward(const h5k_recurrent *g, const void *w, const void *h0, const void *c0, const void *y, const void *gates, const void *extra,
	const void *dy, const void *dh, const void *dc, void *dx, void *dp, void *dh0, void *dc0);

/* A set is gates whose products are computed at once. Blocks are of subs vectors of units. */
typedef struct {
	int64_t first, gates, subs, blocks, size; /* size of the packed block's elements */
	int64_t at;                               /* where the set's weights begin */
	int64_t terms;                            /* of a sum */
} h5k_recurrent_set;

/* What one call computes with. */
typedef struct {
	const h5k_recurrent *g;
	h5k_recurrent_set set[2];
	int sets;
	const void *w, *x, *b, *h0, *c0, *dy;
	void *y, *gates, *extra, *dx, *dp, *dh, *dc;
	int64_t gates_step, extra_step; /* 0 if the next step has the same memory */
	int shared;                     /* whether threads divide the units */
	int waiting, turn;              /* of the threads that wait for each other */
} h5k_recurrent_job;

/* What an instruction set provides. */
typedef struct {
	int bytes; /* of a vector */
	void (*forward[2])(h5k_recurrent_job *q, int thread, int of);
	void (*backward[2])(h5k_recurrent_job *q, int thread, int of);
} h5k_recurrent_loops;

/* wait returns when all threads have called it. */
void h5k_recurrent_wait(h5k_recurrent_job *q, int of);

#endif
