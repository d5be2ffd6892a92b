/* h5dnn for C and all that can call it: arrays in files, in memory and on GPUs, shared with
 * other libraries of the process through DLPack, without a copy.
 *
 *     h5dnn_file file;
 *     h5dnn_array images;
 *     float room[64 * 28 * 28];
 *     int64_t shape[] = {64, 28, 28};
 *     DLTensor batch = {room, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape, NULL, 0};
 *
 *     if (h5dnn_open("mnist.h5", &file) || h5dnn_get(file, "/train/images", &images) ||
 *         h5dnn_read(images, "[:64]", &batch))
 *             fprintf(stderr, "%s\n", h5dnn_message());
 *
 * Status. Every function returns H5DNN_OK or the kind of error. What went wrong, h5dnn_message
 * tells in a line, to the thread that it happened to. Nothing is stored where a function fails.
 *
 * Handles. Files and arrays are numbers that are never used twice and never 0: one that was
 * closed or freed, or is none, is an error. Files are closed by h5dnn_close, arrays freed by
 * h5dnn_free, each once and by no thread while another uses it.
 *
 * Memory. An array's memory is kept while an array shows it, or a tensor that was exported of
 * it has not been deleted. An imported tensor is deleted when the last of both is gone; on a
 * GPU, after h5dnn's own work on it. Arrays of a file need the file: close it last.
 *
 * Threads. All functions may be called by several threads at once, on different memory. Who
 * writes to memory that others read is for the caller to order, as ever.
 *
 * GPUs. h5dnn works on a stream of its own, h5dnn_stream, and in the primary context, as the
 * CUDA runtime does; a thread's current context is left as it was found.
 */
#ifndef H5DNN_H
#define H5DNN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of DLPack 1, of which all minor versions share the layout
 * (https://dmlc.github.io/dlpack/latest/c_api.html). If you use its own header as well,
 * include that first. */
#ifndef DLPACK_DLPACK_H_

typedef struct {
	uint32_t major, minor;
} DLPackVersion;

typedef enum { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3 /* pinned */ } DLDeviceType;

typedef struct {
	DLDeviceType device_type;
	int32_t device_id;
} DLDevice;

typedef enum {
	kDLInt = 0,
	kDLUInt = 1,
	kDLFloat = 2,
	kDLBfloat = 4,
	kDLComplex = 5,
	kDLBool = 6, /* of 8 bits */
	kDLFloat8_e4m3fn = 10,
	kDLFloat8_e5m2 = 12
} DLDataTypeCode;

typedef struct {
	uint8_t code, bits;
	uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
	void *data; /* NULL if there are no elements; an address of the device */
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;   /* of ndim sizes; may be NULL if ndim is 0 */
	int64_t *strides; /* in elements, of any sign; NULL if they lie row by row */
	uint64_t byte_offset;
} DLTensor;

typedef struct DLManagedTensor {
	DLTensor dl_tensor;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensor *self); /* may be NULL */
} DLManagedTensor;

#define DLPACK_FLAG_BITMASK_READ_ONLY (1UL << 0UL)

typedef struct DLManagedTensorVersioned {
	DLPackVersion version;
	void *manager_ctx;
	void (*deleter)(struct DLManagedTensorVersioned *self); /* may be NULL */
	uint64_t flags;
	DLTensor dl_tensor;
} DLManagedTensorVersioned;

#endif

typedef enum {
	H5DNN_OK = 0,
	H5DNN_ERROR = 1,  /* none of those below: a file that is absent or broken, an unknown name */
	H5DNN_SHAPE = 2,  /* a shape, stride or index that does not fit */
	H5DNN_TYPE = 3,   /* an element type that does not fit */
	H5DNN_DEVICE = 4, /* memory that is elsewhere, a device that is not there */
	H5DNN_STATE = 5,  /* a handle that is none or no longer one, NULL, memory that is not there or not to be written */
	H5DNN_BUG = 6     /* of h5dnn itself */
} h5dnn_status;

typedef uint64_t h5dnn_file;
typedef uint64_t h5dnn_array;

/* What the last function that failed on this thread has to say; "" if none has. It lasts until
 * the next one fails. */
const char *h5dnn_message(void);

/* Opens an HDF5 file for reading. Other files that it refers to are not opened. */
h5dnn_status h5dnn_open(const char *path, h5dnn_file *file);

/* Closes a file. Its arrays can no longer be read, but are still to be freed. */
h5dnn_status h5dnn_close(h5dnn_file file);

/* Lists the arrays of a file, "/train/images", the last followed by NULL: datasets of numbers,
 * groups' members in the order of their names. The list lasts until the file is closed. */
h5dnn_status h5dnn_names(h5dnn_file file, const char *const **names);

/* Gets an array of a file. Nothing is read yet. */
h5dnn_status h5dnn_get(h5dnn_file file, const char *name, h5dnn_array *array);

/* Makes an array of zeros on a device: "cpu", "cuda:0". Its elements lie row by row. */
h5dnn_status h5dnn_make(const char *device, DLDataType dtype, int32_t ndim, const int64_t *shape, h5dnn_array *array);

/* Selects of an array as NumPy does: index is "[10:20, ::-1, 0]", NULL or "" for all. Nothing
 * is read or copied: the slice shows the same memory, or the same file. */
h5dnn_status h5dnn_slice(h5dnn_array array, const char *index, h5dnn_array *slice);

/* Describes an array: type, shape, strides, device and, unless it is in a file, address. An
 * array in a file has its strides there and device type 0. This lasts until the array is freed. */
h5dnn_status h5dnn_describe(h5dnn_array array, const DLTensor **view);

/* Copies the elements that index selects, as h5dnn_slice does, into memory of the same shape.
 * They are converted to its type as NumPy's astype does: floats to integers are cut off, and
 * integers wrap. On a GPU into must lie row by row; the copy is done on return, and begins when
 * h5dnn_stream reaches it: let that stream wait for your own work there. */
h5dnn_status h5dnn_read(h5dnn_array array, const char *index, const DLTensor *into);

/* Likewise copies from memory into what index selects of an array. Arrays in files cannot be
 * written, nor tensors that were imported as read-only. */
h5dnn_status h5dnn_write(h5dnn_array array, const char *index, const DLTensor *from);

/* Copies an array to a device: "cpu", "cuda:0". One that is there is shown again, not copied. */
h5dnn_status h5dnn_move(h5dnn_array array, const char *device, h5dnn_array *moved);

/* Frees an array. */
h5dnn_status h5dnn_free(h5dnn_array array);

/* Exports an array that is not in a file as a tensor of DLPack, which its consumer deletes by
 * the tensor's own deleter, from any thread. The memory is shared, and lasts until then.
 *
 * stream is the consumer's CUstream for an array on a GPU: it is made to wait for what h5dnn has
 * issued there; 1 is the legacy default stream, 2 that of the thread, 0 is for consumers that
 * know to wait by themselves. The deleter waits for the device, so that the consumer need not. */
h5dnn_status h5dnn_export(h5dnn_array array, uint64_t stream, DLManagedTensorVersioned **tensor);

/* Likewise, in the struct of DLPack before 1.0, which cannot say that memory is read-only: such
 * an array is an error. */
h5dnn_status h5dnn_export_unversioned(h5dnn_array array, uint64_t stream, DLManagedTensor **tensor);

/* Imports a tensor, whose memory the array then shows. On success it is h5dnn's to delete, on
 * failure the caller's still. On a GPU its producer has made h5dnn_stream wait for its work. */
h5dnn_status h5dnn_import(DLManagedTensorVersioned *tensor, h5dnn_array *array);
h5dnn_status h5dnn_import_unversioned(DLManagedTensor *tensor, h5dnn_array *array);

/* Tells the CUstream that h5dnn works on, on a device: what a producer is to be given as the
 * consumer's stream. 0 on the cpu. */
h5dnn_status h5dnn_stream(const char *device, uint64_t *stream);

#ifdef __cplusplus
}
#endif

#endif
