#ifndef H5DNN_LZF_H
#define H5DNN_LZF_H

#include <stddef.h>
#include <stdint.h>

// Decodes size bytes of LZF from src to dst, which has room for so many bytes. Returns the
// number of bytes decoded, or -1 if src is corrupt or decodes to more.
ptrdiff_t hdf5_lzf_decode(uint8_t *dst, size_t room, const uint8_t *src, size_t size);

#endif
