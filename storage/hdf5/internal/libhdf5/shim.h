#ifndef H5DNN_SHIM_H
#define H5DNN_SHIM_H

#include <stddef.h>
#include <stdint.h>

// The calls of libhdf5 that package libhdf5 makes, under one lock.
//
// Ids are the library's. A function that fails returns -1, or H5DNN_PARTIAL if it may
// have changed the file, and writes a message to text, a buffer of size bytes that is
// always terminated. The library prints nothing to stderr. Pointers are not kept.

#define H5DNN_MESSAGE char *text, size_t size

// Kinds of element, the first argument of shim_type.
enum { H5DNN_BOOL, H5DNN_UNSIGNED, H5DNN_SIGNED, H5DNN_FLOAT, H5DNN_COMPLEX, H5DNN_BFLOAT, H5DNN_F8E4M3, H5DNN_F8E5M2 };

enum { H5DNN_PARTIAL = -2 };

// Loads the library: before all other calls.
int64_t shim_load(H5DNN_MESSAGE);
extern int h5dnn_has_file_locking; // whether the library that was loaded has H5Pset_file_locking

// Fails for a library other than the one compiled against. Disables plugins.
int64_t shim_start(H5DNN_MESSAGE);

// userblock is the size of the user block: 0, or a power of two from 512 on.
int64_t shim_create(const char *path, uint64_t userblock, uint64_t page, H5DNN_MESSAGE);
int64_t shim_open(const char *path, H5DNN_MESSAGE); // for reading
int64_t shim_close(int64_t id, H5DNN_MESSAGE);      // not for files

// Disables printing of errors in this thread.
int shim_quiet(void);

// A type of elements of the given number of bytes, in the machine's byte order.
int64_t shim_type(int kind, size_t bytes, H5DNN_MESSAGE);

// Groups on the way to path are created as needed. A rank of 0 is a scalar.
int64_t shim_group(int64_t file, const char *path, H5DNN_MESSAGE);
int64_t shim_soft_link(int64_t file, const char *path, const char *target, H5DNN_MESSAGE);

// A contiguous dataset, allocated at creation. offset is that of its elements in the
// file, UINT64_MAX if it has none.
int64_t shim_contiguous(int64_t file, const char *path, int64_t type, int rank, const uint64_t *dims,
                         uint64_t *offset, H5DNN_MESSAGE);

// A chunked dataset. filters holds, for each filter: id, flags, number of params, params.
int64_t shim_chunked(int64_t file, const char *path, int64_t type, int rank, const uint64_t *dims,
                      const uint64_t *maxdims, const uint64_t *chunk, const uint32_t *filters, size_t words, H5DNN_MESSAGE);
int64_t shim_extend(int64_t dataset, const uint64_t *dims, H5DNN_MESSAGE);
int64_t shim_write_chunk(int64_t dataset, const uint64_t *start, uint32_t mask, const void *data, size_t bytes, H5DNN_MESSAGE);

// The stored size of a chunk, 0 if it was never written, and its stored bytes.
int64_t shim_chunk_size(int64_t dataset, const uint64_t *start, H5DNN_MESSAGE);
int64_t shim_read_chunk(int64_t dataset, const uint64_t *start, uint32_t *mask, void *data, size_t bytes, H5DNN_MESSAGE);

// Strings are UTF-8, terminated, one after another in data. Their number must be that
// of the elements. A rank of -1 makes a null attribute.
int64_t shim_strings(int64_t file, const char *path, int rank, const uint64_t *dims, const uint64_t *start, const uint64_t *count,
                     int create, const char *data, size_t bytes, int utf8, H5DNN_MESSAGE);
int64_t shim_attr_strings(int64_t file, const char *path, const char *name, int rank, const uint64_t *dims,
                           const char *data, size_t bytes, int utf8, H5DNN_MESSAGE);
int64_t shim_attr(int64_t file, const char *path, const char *name, int64_t type, int rank, const uint64_t *dims,
                   const void *data, size_t bytes, H5DNN_MESSAGE);

// Reads a hyperslab as elements of type, or as they are stored if type is 0. External
// links are not followed; virtual datasets and external data are refused. bytes must be
// the size of the elements.
int64_t shim_read(int64_t file, const char *path, int64_t type, int rank, const uint64_t *start, const uint64_t *count,
                   void *data, size_t bytes, H5DNN_MESSAGE);

// For copies of whole files.

// A type from a datatype message, which must be well-formed.
int64_t shim_decode_type(const void *message, size_t bytes, H5DNN_MESSAGE);
int64_t shim_comment(int64_t file, const char *path, const char *comment, H5DNN_MESSAGE);
int64_t shim_hard_link(int64_t file, const char *path, const char *target, H5DNN_MESSAGE);
int64_t shim_external_link(int64_t file, const char *path, const char *other, const char *target, H5DNN_MESSAGE);
int64_t shim_address(int64_t file, const char *path, H5DNN_MESSAGE); // the value of object references

// Commits a type without a name, for the objects that use it, and names it.
int64_t shim_commit_unnamed(int64_t file, int64_t type, H5DNN_MESSAGE);
int64_t shim_link_type(int64_t file, const char *path, int64_t type, H5DNN_MESSAGE);

// Properties of a dataset whose elements are in other datasets or files.
int64_t shim_properties(H5DNN_MESSAGE);
int64_t shim_add_external(int64_t properties, const char *file, int64_t offset, uint64_t bytes, H5DNN_MESSAGE);

// A selection of elements: numbers are as in hdf5.Selection.
enum { H5DNN_NONE, H5DNN_POINTS, H5DNN_REGULAR, H5DNN_ALL, H5DNN_BLOCKS };
struct shim_selection {
	int kind, rank;
	const uint64_t *dims, *maxdims;
	const uint64_t *numbers;
	size_t count;
};
int64_t shim_add_virtual(int64_t properties, struct shim_selection to, const char *file, const char *dataset,
                          struct shim_selection from, H5DNN_MESSAGE);

// Writes a region reference to the dataset at path, of 12 bytes, to reference.
int64_t shim_region(int64_t file, const char *path, struct shim_selection region, void *reference, H5DNN_MESSAGE);

// A dataset of any type and layout. ALLOCATED is contiguous, allocated at offset; ELSEWHERE
// is what properties describe, which are 0 for the other layouts. The fill value, if
// fill_size is not 0, is an image of one element (see below).
enum { H5DNN_COMPACT, H5DNN_CONTIGUOUS, H5DNN_ALLOCATED, H5DNN_CHUNKED, H5DNN_ELSEWHERE };
int64_t shim_dataset(int64_t file, const char *path, int64_t type, int rank, const uint64_t *dims, const uint64_t *maxdims,
                      int layout, int64_t properties, const uint64_t *chunk, const uint32_t *filters, size_t words,
                      const void *fill, size_t fill_bytes, const uint64_t *pointers, size_t n, size_t fill_size,
                      uint64_t *offset, H5DNN_MESSAGE);

// An image is elements as the library has them in memory, followed by the values that
// they point to. pointers lists the positions of its pointers, which hold offsets from
// its start. elem_size is the type's size in memory as the caller computed it.
int64_t shim_write_image(int64_t dataset, int64_t type, int rank, const uint64_t *start, const uint64_t *count,
                          const void *image, size_t bytes, const uint64_t *pointers, size_t n, size_t elem_size, H5DNN_MESSAGE);
int64_t shim_attr_image(int64_t file, const char *path, const char *name, int64_t type, int rank, const uint64_t *dims,
                         const void *image, size_t bytes, const uint64_t *pointers, size_t n, size_t elem_size, H5DNN_MESSAGE);

#endif
