#ifndef H5DNN_LZ4_H
#define H5DNN_LZ4_H

#include <stddef.h>
#include <stdint.h>

// Decodes a block of LZ4 of size bytes from src to dst, which has room for so many bytes. Returns the
// number of bytes decoded, or -1 if src is corrupt or decodes to more.
ptrdiff_t hdf5_lz4_decode(uint8_t *dst, size_t room, const uint8_t *src, size_t size);

#endif
