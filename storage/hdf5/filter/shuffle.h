#ifndef H5DNN_SHUFFLE_H
#define H5DNN_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

// Transposes size/k elements of k bytes from planes, or into planes; what is
// left over is copied. dst and src have size bytes, do not overlap; k > 0.
void hdf5_unshuffle(uint8_t *dst, const uint8_t *src, size_t size, size_t k);
void hdf5_shuffle(uint8_t *dst, const uint8_t *src, size_t size, size_t k);

#endif
