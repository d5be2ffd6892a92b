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
 * Forks. A child process of fork must not call any function, nor delete tensors, because the
 * threads of the library are not in it. The functions would hang. It can load a copy of the
 * library, from another file, as h5dnn's Python package does.
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
	H5DNN_ERROR = 1,  /* any other error, such as a corrupt file */
	H5DNN_SHAPE = 2,  /* shape, strides or index do not fit */
	H5DNN_TYPE = 3,   /* element type does not fit */
	H5DNN_DEVICE = 4, /* memory on another device, or no such device */
	H5DNN_STATE = 5,  /* invalid handle, NULL argument, or read-only memory */
	H5DNN_BUG = 6,    /* internal error of h5dnn */
	H5DNN_AGAIN = 7,  /* no batch within the time limit; call again */
	H5DNN_MISSING = 8, /* no file, object or array of that name */
	H5DNN_SETTING = 9 /* a setting that does not exist or cannot have the value given */
} h5dnn_status;

typedef uint64_t h5dnn_file;
typedef uint64_t h5dnn_array;
typedef uint64_t h5dnn_loader;

/* Returns the message of the last error on this thread, or "". It is valid until the next
 * error. */
const char *h5dnn_message(void);

/* Opens a file of any format, or one at a URL (https, s3), for reading. External links and
 * external data are not followed. */
h5dnn_status h5dnn_open(const char *path, h5dnn_file *file);

/* Opens a file as one of a format, such as hdf5 for the stored objects of AnnData or NetCDF. */
h5dnn_status h5dnn_open_as(const char *path, const char *format, h5dnn_file *file);

/* Opens a file that refers to others: external links, external data and virtual datasets are read from files in a
 * folder, or below a URL, and from no others. NULL or "" follows nothing. */
h5dnn_status h5dnn_open_following(const char *path, const char *format, const char *follow, h5dnn_file *file);

/* Closes a file. Its arrays can no longer be read, and still have to be freed. */
h5dnn_status h5dnn_close(h5dnn_file file);

/* Lists the numeric datasets of a file, such as "/train/images", sorted by name and terminated
 * by NULL. The list is valid until the file is closed. */
h5dnn_status h5dnn_names(h5dnn_file file, const char *const **names);

/* Gets an array of a file without reading its elements. */
h5dnn_status h5dnn_get(h5dnn_file file, const char *name, h5dnn_array *array);

/* Gets a numeric member of a dataset of compounds in an HDF5 file, without reading it. */
h5dnn_status h5dnn_member(h5dnn_file file, const char *name, const char *member, h5dnn_array *array);

/* Describes the object of that name as a JSON object, with its attributes and their values. Free
 * the text with h5dnn_free_text. */
h5dnn_status h5dnn_object(h5dnn_file file, const char *name, char **json);

/* Describes all objects at and below a name as a JSON list. Attributes have names and no values. */
h5dnn_status h5dnn_objects(h5dnn_file file, const char *name, char **json);

/* Reads the elements that index selects of a dataset that does not hold numbers, such as strings
 * and compounds: {"shape": [...], "values": [...]}, with the values in row-major order. Compounds
 * are lists of the values of their members. */
h5dnn_status h5dnn_values(h5dnn_file file, const char *name, const char *index, char **json);

/* Checks a file: of HDF5 every structure and chunk, of other formats every array and the checksums
 * that the format has. The result is a JSON list of problems, each with path and message; an
 * empty one if the file is intact. */
h5dnn_status h5dnn_verify(const char *path, char **json);

/* Writes the arrays of a file to a file of another format, or an HDF5 file as HDF5 with its objects as
 * they are stored. The settings are a JSON object: format (of the output; by its extension if
 * absent), force (replace a file) and verify (read the output and compare every element). The
 * result is a JSON list of what the output lacks, each with path and message. */
h5dnn_status h5dnn_convert(const char *path, const char *out, const char *settings, char **json);

/* Compares the arrays of two files of any formats. The settings are a JSON object: atol and rtol
 * (elements x and y are equal if |x - y| <= atol + rtol*|y|) and ignore_types. The result is a JSON
 * list of the arrays that differ, the worst first, and of those that only file "a" or "b" has. */
h5dnn_status h5dnn_diff(const char *a, const char *b, const char *settings, char **json);

/* Frees a text of one of these functions. */
h5dnn_status h5dnn_free_text(char *text);

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

/* Operations compute on tensors in memory that the caller owns, operands and results alike: nothing of
 * it is kept after a call, and nothing of the library's memory is left with the caller. They have PyTorch's
 * names and parameters. The settings are a JSON object of the parameters that are no tensors, such as
 * {"dim": -1}; NULL or "" leaves all at their defaults. Numbers that JSON lacks are the strings "nan",
 * "inf", "-inf" and, as complex ones, "1+2i".
 *
 * Operands are the tensors among the parameters, in order, NULL where one is left out: where it is optional, or
 * a number among the settings stands in its place, as in add(input, other). All tensors of a call are on one device.
 * On a GPU, the operation runs on h5dnn_stream, which has to wait for your own work on the memory, and has
 * finished on return. Loops over large arrays use several threads, of each thread that calls. */

/* Lists the operations: a JSON list of objects with name, torch (the name below torch) and parameters, each
 * with name, kind (tensor; tensors, which are all operands; tensor or number; setting) and default, in Python's
 * syntax, absent if it must be given. Free the text with h5dnn_free_text. */
h5dnn_status h5dnn_operations(char **json);

/* Finds the types and shapes of the m results of an operation on n operands, whose memory is not looked at.
 * There is space for that many results, whose shape points to 64 sizes each. Of each result, ndim, dtype and
 * these sizes are set. */
h5dnn_status h5dnn_infer(const char *operation, const char *settings, int32_t n, const DLTensor *const *in, int32_t space,
                         DLTensor *results, int32_t *m);

/* Computes an operation on n operands into the memory of m outputs, which have the types and shapes that
 * h5dnn_infer finds, and any strides. Outputs may share memory with operands, which are read first, but
 * not with each other. After an error, the memory of outputs is undefined. */
h5dnn_status h5dnn_call(const char *operation, const char *settings, int32_t n, const DLTensor *const *in, int32_t m,
                        const DLTensor *const *out);

/* Computes the gradients of the sum of incoming*result with respect to the n operands (the vector-Jacobian
 * product), into n outputs of their types and shapes, NULL where no gradient is wanted. There is an incoming
 * gradient for each of the m results, of its type and shape; NULL stands for zeros. */
h5dnn_status h5dnn_vjp(const char *operation, const char *settings, int32_t n, const DLTensor *const *in, int32_t m,
                       const DLTensor *const *incoming, const DLTensor *const *out);

/* Sets the number of threads that operations compute with, by default the number of processors. In the
 * child of a fork that loads a copy of the library, it must be 1 on threads that have computed before the fork, because
 * threads of OpenMP do not survive it. */
h5dnn_status h5dnn_threads(int32_t n);

/* Loaders. A loader reads batches of samples ahead, in the order of an epoch, on threads of its
 * own. One thread at a time may call h5dnn_loader_start, _next and _close. */

/* Plans the loading of samples. The settings are a JSON object: data, as documented for run
 * configurations in docs/configuration.md, where y may be absent; or config, the name of such a
 * YAML file; validation (true for the samples to validate on), batch_size, drop_last, seed, rank,
 * world_size, workers, memory (bytes), format and follow (as for h5dnn_open_following). */
h5dnn_status h5dnn_loader_open(const char *settings, h5dnn_loader *loader);

/* Describes a loader as JSON: fields, in the order of the arrays of a batch, samples, batches, and
 * how they are loaded. Free the text with h5dnn_free_text. */
h5dnn_status h5dnn_loader_about(h5dnn_loader loader, char **json);

/* Starts an epoch after a number of its samples. An epoch in progress ends. */
h5dnn_status h5dnn_loader_start(h5dnn_loader loader, int64_t epoch, int64_t start);

/* Stores the next batch: an array for each of the loader's fields, n of them, which are to be
 * freed, the indices of the samples as an array of int64, unless rows is NULL, and the number of
 * samples of the epoch up to the end of the batch, with which to start in order to go on there.
 * At the end of the epoch, consumed is -1 and nothing else is stored. If no batch is ready within
 * the given number of milliseconds, the status is H5DNN_AGAIN. Another n than the number of the
 * loader's fields is an error, and the batch is kept for the next call.
 *
 * A sparse input (csr in data) has three fields, which its part of csr in the description names: values, the column of
 * each in the place of columns, and in the place of lengths the offsets of rows, one more than there are samples.
 *
 * The memory of an array is reused for later batches once it is freed, and every tensor exported
 * from it deleted. After the error of a batch the next call returns the next batch. */
h5dnn_status h5dnn_loader_next(h5dnn_loader loader, int64_t milliseconds, int32_t n, h5dnn_array *fields, h5dnn_array *rows,
                               int64_t *consumed);

/* Reads samples, the number of them and their indices, in this order, as a batch of n fields. It
 * may be called concurrently. */
h5dnn_status h5dnn_loader_read(h5dnn_loader loader, int64_t samples, const int64_t *rows, int32_t n, h5dnn_array *fields);

/* Closes a loader and its files. Arrays of its batches stay valid. */
h5dnn_status h5dnn_loader_close(h5dnn_loader loader);

#ifdef __cplusplus
}
#endif

#endif
