/* C interface of h5dnn: arrays in files, in memory and on GPUs, shared with other libraries
 * in the process through DLPack without a copy.
 *
 *     h5dnn_file file;
 *     h5dnn_array images;
 *     float data[64 * 28 * 28];
 *     int64_t shape[] = {64, 28, 28};
 *     DLTensor batch = {data, {kDLCPU, 0}, 3, {kDLFloat, 32, 1}, shape, NULL, 0};
 *
 *     if (h5dnn_open("mnist.h5", &file) || h5dnn_get(file, "/train/images", &images) ||
 *         h5dnn_read(images, "[:64]", &batch))
 *             fprintf(stderr, "%s\n", h5dnn_message());
 *
 * Status. Every function returns H5DNN_OK or the kind of error. h5dnn_message returns the
 * error message of the calling thread. A function that fails stores no result.
 *
 * Handles. Files and arrays are numbers that are never 0 and never reused. Using a closed,
 * freed or invalid handle is an error. Close files with h5dnn_close and free arrays with
 * h5dnn_free, once, and not while another thread uses them.
 *
 * Memory. An array's memory is kept as long as an array refers to it or a tensor exported from
 * it has not been deleted. An imported tensor is deleted when neither is left; on a GPU, after
 * h5dnn's work on it. Arrays of a file need the file: close it last.
 *
 * Threads. All functions may be called concurrently on different memory. The caller
 * synchronizes access to the same memory.
 *
 * GPUs. h5dnn uses a stream of its own, h5dnn_stream, in the primary context, as the CUDA
 * runtime does. It restores the thread's current context.
 */
#ifndef H5DNN_H
#define H5DNN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The structs of DLPack 1 (https://dmlc.github.io/dlpack/latest/c_api.html). All minor
 * versions have the same layout. If you use DLPack's own header too, include it first. */
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
	void *data; /* device address; NULL if there are no elements */
	DLDevice device;
	int32_t ndim;
	DLDataType dtype;
	int64_t *shape;   /* ndim sizes; may be NULL if ndim is 0 */
	int64_t *strides; /* in elements, of any sign; NULL for row-major order */
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
	H5DNN_ERROR = 1,  /* any other error, such as a missing or corrupt file or an unknown name */
	H5DNN_SHAPE = 2,  /* shape, strides or index do not fit */
	H5DNN_TYPE = 3,   /* element type does not fit */
	H5DNN_DEVICE = 4, /* memory on another device, or no such device */
	H5DNN_STATE = 5,  /* invalid handle, NULL argument, or read-only memory */
	H5DNN_BUG = 6     /* internal error of h5dnn */
} h5dnn_status;

typedef uint64_t h5dnn_file;
typedef uint64_t h5dnn_array;

/* Returns the message of the last error on this thread, or "". It is valid until the next
 * error. */
const char *h5dnn_message(void);

/* Opens an HDF5 file for reading. External links and external data are not followed. */
h5dnn_status h5dnn_open(const char *path, h5dnn_file *file);

/* Closes a file. Its arrays can no longer be read, and still have to be freed. */
h5dnn_status h5dnn_close(h5dnn_file file);

/* Lists the numeric datasets of a file, such as "/train/images", sorted by name and terminated
 * by NULL. The list is valid until the file is closed. */
h5dnn_status h5dnn_names(h5dnn_file file, const char *const **names);

/* Gets an array of a file without reading its elements. */
h5dnn_status h5dnn_get(h5dnn_file file, const char *name, h5dnn_array *array);

/* Makes a row-major array of zeros on a device: "cpu", "cuda:0". */
h5dnn_status h5dnn_make(const char *device, DLDataType dtype, int32_t ndim, const int64_t *shape, h5dnn_array *array);

/* Returns a slice of an array. The index is a NumPy expression such as "[10:20, ::-1, 0]"; NULL
 * or "" selects everything. Nothing is read or copied: the slice is a view of the same memory or
 * file. */
h5dnn_status h5dnn_slice(h5dnn_array array, const char *index, h5dnn_array *slice);

/* Describes an array: type, shape, strides, device and address. An array in a file has strides
 * in the file, device type 0 and no address. The description is valid until the array is freed. */
h5dnn_status h5dnn_describe(h5dnn_array array, const DLTensor **view);

/* Copies the elements that index selects (see h5dnn_slice) to memory of the same shape. They are
 * converted to its type as by NumPy's astype: floats are truncated to integers, and integers wrap.
 * On a GPU, the destination must be row-major. The copy runs on h5dnn_stream, which has to wait
 * for your own work on the memory, and has finished on return. */
h5dnn_status h5dnn_read(h5dnn_array array, const char *index, const DLTensor *into);

/* Copies memory to the elements of an array that index selects. Arrays in files and tensors
 * imported as read-only cannot be written. */
h5dnn_status h5dnn_write(h5dnn_array array, const char *index, const DLTensor *from);

/* Copies an array to a device: "cpu", "cuda:0". An array that is already there is not copied. */
h5dnn_status h5dnn_move(h5dnn_array array, const char *device, h5dnn_array *moved);

/* Frees an array. */
h5dnn_status h5dnn_free(h5dnn_array array);

/* Exports an array that is not in a file as a DLPack tensor, which the consumer deletes with
 * the tensor's deleter, from any thread. The memory is shared and valid until then.
 *
 * For an array on a GPU, stream is the consumer's CUstream, which waits for h5dnn's work; 1 is
 * the legacy default stream, 2 the per-thread default stream, and 0 means no synchronization.
 * The deleter waits for the device. */
h5dnn_status h5dnn_export(h5dnn_array array, uint64_t stream, DLManagedTensorVersioned **tensor);

/* Exports as the struct of DLPack before 1.0. It has no read-only flag, so a read-only array is
 * an error. */
h5dnn_status h5dnn_export_unversioned(h5dnn_array array, uint64_t stream, DLManagedTensor **tensor);

/* Imports a tensor as an array that shares its memory. On success h5dnn owns the tensor, after an
 * error the caller still does. On a GPU, the producer must make h5dnn_stream wait for its work. */
h5dnn_status h5dnn_import(DLManagedTensorVersioned *tensor, h5dnn_array *array);
h5dnn_status h5dnn_import_unversioned(DLManagedTensor *tensor, h5dnn_array *array);

/* Returns the CUstream that h5dnn uses on a device, which a producer takes as the consumer's
 * stream. 0 for the CPU. */
h5dnn_status h5dnn_stream(const char *device, uint64_t *stream);

#ifdef __cplusplus
}
#endif

#endif
