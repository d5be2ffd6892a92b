#ifndef H5DNN_BITSHUFFLE_H
#define H5DNN_BITSHUFFLE_H

#include <stddef.h>
#include <stdint.h>

// Undoes the transposition of the bits of n elements, a multiple of 8, of k
// bytes. dst, src and tmp have n * k bytes and do not overlap.
void hdf5_bitunshuffle(uint8_t *dst, const uint8_t *src, size_t n, size_t k, uint8_t *tmp);

#endif
