/* Convolutions of direct.h on numbers of bfloat16: an element of an image is a pair of channels in the place of a float. */
#ifndef H5K_BF16_H
#define H5K_BF16_H

#include "direct.h"

/* The loops for pairs; NULL unless the processor multiplies them. */
const h5k_direct_loops *h5k_direct_pairs(void);

/* pairs are the pairs of channels of x, the images that g describes: dense, channels-last, with a zero after an odd number of channels.
 * It returns -2 if an operand is short or the processor has no pairs, else 0. */
int h5k_bf16_pairs(const h5k_direct *g, float *pairs, int64_t pairs_len, const float *x, int64_t x_len);

/* What the instruction set provides: n numbers rounded to bfloat16. */
void h5k_bf16_round(int64_t n, const float *x, uint16_t *y);

#endif
