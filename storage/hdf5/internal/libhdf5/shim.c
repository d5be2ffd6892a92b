#include "shim.h"

#include "hdf5_header.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(hid_t) == sizeof(int64_t), "ids are 64 bits wide since HDF5 1.10");
_Static_assert(sizeof(hsize_t) == sizeof(uint64_t), "sizes are 64 bits wide");

#define DIMS(p) ((const hsize_t *)(p))

// An id that is released when it goes out of scope.
static void drop(hid_t *id)
{
	if (*id > 0)
		H5Idec_ref(*id);
}
#define scoped __attribute__((cleanup(drop))) hid_t

static void drop_memory(void *p) { free(*(void **)p); }
#define scoped_memory __attribute__((cleanup(drop_memory)))

// Errors

int shim_quiet(void) { return H5Eset_auto2(H5E_DEFAULT, NULL, NULL); }

static int64_t fail(const char *why, H5DNN_MESSAGE)
{
	snprintf(text, size, "%s", why);
	return -1;
}

struct message {
	char *text;
	size_t size;
};

// The first description on the stack is the innermost and most specific.
static herr_t first(unsigned n, const H5E_error2_t *e, void *data)
{
	struct message *to = data;
	if (n == 0 && e->desc)
		snprintf(to->text, to->size, "%s", e->desc);
	return 0;
}

// Returns result. If it is negative, writes the library's message to text.
static int64_t check(int64_t result, H5DNN_MESSAGE)
{
	if (result >= 0)
		return result;
	struct message to = {text, size};
	snprintf(text, size, "failed without a reason");
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &to);
	H5Eclear2(H5E_DEFAULT);
	return -1;
}

#define TRY(call)                                  \
	do {                                       \
		if ((call) < 0)                    \
			return check(-1, text, size); \
	} while (0)

// Like TRY, for calls that may have changed the file.
#define TRY_PARTIAL(call)                       \
	do {                                    \
		if ((call) < 0) {               \
			check(-1, text, size);  \
			return H5DNN_PARTIAL;   \
		}                               \
	} while (0)

// The library

int64_t shim_start(H5DNN_MESSAGE)
{
	unsigned major, minor, release;
	shim_quiet();
	TRY(H5get_libversion(&major, &minor, &release));
	if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR) {
		snprintf(text, size, "compiled against HDF5 %d.%d but running with %u.%u; build h5dnn again",
		         H5_VERS_MAJOR, H5_VERS_MINOR, major, minor);
		return -1;
	}
	return check(H5PLset_loading_state(0), text, size);
}

int64_t shim_close(int64_t id, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Idec_ref(id), text, size);
}

// Files

herr_t H5Pset_file_locking(hid_t access, hbool_t use, hbool_t ignore_when_disabled); // some headers lack it

// Creates a file, or opens it for reading if creation is negative. Files are private to this process
// until they are renamed, and are read only by tests. The library's locks would conflict with the
// lock of a temporary file, and fail on file systems that have none.
static hid_t open_unlocked(const char *path, hid_t creation, hid_t access)
{
	const char *variable = "HDF5_USE_FILE_LOCKING", *value = getenv(variable);
	scoped_memory char *kept = value ? strdup(value) : NULL;
	if (!h5dnn_has_file_locking)
		setenv(variable, "FALSE", 1); // which those versions read here
	else if (H5Pset_file_locking(access, 0, 1) < 0)
		return -1;
	hid_t file = creation < 0 ? H5Fopen(path, H5F_ACC_RDONLY, access) : H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
	if (!h5dnn_has_file_locking && kept)
		setenv(variable, kept, 1);
	else if (!h5dnn_has_file_locking)
		unsetenv(variable);
	return file;
}

// The cache of metadata, which is of up to 32 MiB by default. Its size is that of objects in the
// file; a header of 256 bytes takes 1.3 KiB of memory.
static herr_t limit_metadata(hid_t access)
{
	enum { most = 1 << 18 };
	H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
	if (H5Pget_mdc_config(access, &config) < 0)
		return -1;
	config.set_initial_size = 1;
	config.initial_size = config.min_size = config.max_size = most;
	return H5Pset_mdc_config(access, &config);
}

// Objects smaller than aligned_from bytes are packed: headers, heaps, the smallest arrays.
enum { alignment = 4096, aligned_from = 1024 };

int64_t shim_create(const char *path, uint64_t userblock, uint64_t page, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped access = H5Pcreate(H5P_FILE_ACCESS);
	scoped creation = H5Pcreate(H5P_FILE_CREATE);
	TRY(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V110));
	// A user block must be a multiple of the alignment.
	TRY(H5Pset_alignment(access, aligned_from, userblock > 0 && userblock < alignment ? userblock : alignment));
	TRY(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
	TRY(limit_metadata(access));
	TRY(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
	TRY(H5Pset_userblock(creation, userblock));
	TRY(H5Pset_obj_track_times(creation, 0)); // of the root
	if (page > 0) {
		TRY(H5Pset_file_space_strategy(creation, H5F_FSPACE_STRATEGY_PAGE, 0, 1));
		TRY(H5Pset_file_space_page_size(creation, page));
	}
	return check(open_unlocked(path, creation, access), text, size);
}

int64_t shim_open(const char *path, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped access = H5Pcreate(H5P_FILE_ACCESS);
	TRY(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
	return check(open_unlocked(path, -1, access), text, size);
}

// Types

// A float whose sign is the highest bit, above the exponent and the fraction.
static hid_t small_float(size_t bytes, size_t exponent, size_t bias)
{
	size_t fraction = 8 * bytes - 1 - exponent;
	hid_t type = H5Tcopy(H5T_NATIVE_FLOAT);
	if (H5Tset_fields(type, 8 * bytes - 1, fraction, exponent, 0, fraction) < 0 || H5Tset_size(type, bytes) < 0 ||
	    H5Tset_ebias(type, bias) < 0) {
		drop(&type);
		return -1;
	}
	return type;
}

// A bool as h5py has it.
static hid_t boolean(void)
{
	int8_t no = 0, yes = 1;
	hid_t type = H5Tenum_create(H5T_NATIVE_INT8);
	if (H5Tenum_insert(type, "FALSE", &no) < 0 || H5Tenum_insert(type, "TRUE", &yes) < 0) {
		drop(&type);
		return -1;
	}
	return type;
}

static hid_t complex_of(size_t bytes)
{
	hid_t part = bytes == 8 ? H5T_NATIVE_FLOAT : H5T_NATIVE_DOUBLE;
	hid_t type = H5Tcreate(H5T_COMPOUND, bytes);
	if (H5Tinsert(type, "r", 0, part) < 0 || H5Tinsert(type, "i", bytes / 2, part) < 0) {
		drop(&type);
		return -1;
	}
	return type;
}

static hid_t integer(size_t bytes, int is_signed)
{
	switch (bytes) {
	case 1: return H5Tcopy(is_signed ? H5T_NATIVE_INT8 : H5T_NATIVE_UINT8);
	case 2: return H5Tcopy(is_signed ? H5T_NATIVE_INT16 : H5T_NATIVE_UINT16);
	case 4: return H5Tcopy(is_signed ? H5T_NATIVE_INT32 : H5T_NATIVE_UINT32);
	case 8: return H5Tcopy(is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64);
	}
	return -1;
}

static hid_t floating(size_t bytes)
{
	switch (bytes) {
	case 2: return small_float(2, 5, 15);
	case 4: return H5Tcopy(H5T_NATIVE_FLOAT);
	case 8: return H5Tcopy(H5T_NATIVE_DOUBLE);
	}
	return -1;
}

static hid_t type_of(int kind, size_t bytes)
{
	switch (kind) {
	case H5DNN_BOOL: return boolean();
	case H5DNN_UNSIGNED: return integer(bytes, 0);
	case H5DNN_SIGNED: return integer(bytes, 1);
	case H5DNN_FLOAT: return floating(bytes);
	case H5DNN_COMPLEX: return complex_of(bytes);
	case H5DNN_BFLOAT: return small_float(2, 8, 127);
	case H5DNN_F8E4M3: return small_float(1, 4, 7);
	case H5DNN_F8E5M2: return small_float(1, 5, 15);
	}
	return -1;
}

int64_t shim_type(int kind, size_t bytes, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(type_of(kind, bytes), text, size);
}

static hid_t text_type(int utf8)
{
	hid_t type = H5Tcopy(H5T_C_S1);
	if (H5Tset_size(type, H5T_VARIABLE) < 0 || H5Tset_cset(type, utf8 ? H5T_CSET_UTF8 : H5T_CSET_ASCII) < 0) {
		drop(&type);
		return -1;
	}
	return type;
}

// Objects

// Property lists that every call needs are created once and kept, because creating one
// takes longer than creating a small dataset. Callers hold the lock.
// Objects have no times: a file written again has the same bytes.

#define KEPT_LIST(name, class, failed) \
	static hid_t name(void) \
	{ \
		static hid_t list; \
		if (list > 0) \
			return list; \
		list = H5Pcreate(class); \
		if (failed) \
			drop(&list), list = -1; \
		return list; \
	}

KEPT_LIST(in_groups, H5P_LINK_CREATE,
	  H5Pset_create_intermediate_group(list, 1) < 0 || H5Pset_char_encoding(list, H5T_CSET_UTF8) < 0)
KEPT_LIST(in_order, H5P_GROUP_CREATE,
	  H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED) < 0 || H5Pset_obj_track_times(list, 0) < 0)
KEPT_LIST(named_type, H5P_DATATYPE_CREATE, H5Pset_obj_track_times(list, 0) < 0)
KEPT_LIST(any_layout, H5P_DATASET_CREATE, H5Pset_obj_track_times(list, 0) < 0)
KEPT_LIST(allocated_at_once, H5P_DATASET_CREATE,
	  H5Pset_obj_track_times(list, 0) < 0 || H5Pset_layout(list, H5D_CONTIGUOUS) < 0 || H5Pset_alloc_time(list, H5D_ALLOC_TIME_EARLY) < 0 ||
	      H5Pset_fill_time(list, H5D_FILL_TIME_NEVER) < 0)

// with_parents creates the groups on the way to path, because those that libhdf5 creates by itself
// have times, and returns the list for the link. What cannot be created is the error of the call
// that gets the list.
static hid_t with_parents(hid_t file, const char *path)
{
	scoped_memory char *way = strdup(path);
	char *last = way ? strrchr(way, '/') : NULL;
	if (!last || last == way)
		return in_groups();
	*last = 0;
	htri_t there = H5Lexists(file, way, H5P_DEFAULT);
	*last = '/';
	for (char *slash = there > 0 ? NULL : strchr(way + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (H5Lexists(file, way, H5P_DEFAULT) == 0) {
			scoped group = H5Gcreate2(file, way, in_groups(), in_order(), H5P_DEFAULT);
		}
		*slash = '/';
	}
	return in_groups();
}

int64_t shim_group(int64_t file, const char *path, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped there = H5Gopen2(file, path, H5P_DEFAULT); // made on the way to something else
	if (there >= 0)
		return 0;
	scoped group = H5Gcreate2(file, path, with_parents(file, path), in_order(), H5P_DEFAULT);
	return check(group < 0 ? -1 : 0, text, size);
}

int64_t shim_soft_link(int64_t file, const char *path, const char *target, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Lcreate_soft(target, file, path, with_parents(file, path), H5P_DEFAULT), text, size);
}

static hid_t space_of(int rank, const uint64_t *dims, const uint64_t *maxdims)
{
	if (rank < 0)
		return H5Screate(H5S_NULL);
	if (rank == 0)
		return H5Screate(H5S_SCALAR);
	return H5Screate_simple(rank, DIMS(dims), DIMS(maxdims));
}

int64_t shim_contiguous(int64_t file, const char *path, int64_t type, int rank, const uint64_t *dims,
                         uint64_t *offset, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped space = space_of(rank, dims, NULL);
	TRY(space);
	hid_t dataset = H5Dcreate2(file, path, type, space, with_parents(file, path), allocated_at_once(), H5P_DEFAULT);
	TRY(dataset);
	// Without elements HADDR_UNDEF comes back, which not every version keeps intact.
	*offset = H5Sget_simple_extent_npoints(space) > 0 ? H5Dget_offset(dataset) : UINT64_MAX;
	return dataset;
}

// Applies filters, whose words are checked against their number.
static const char *set_filters(hid_t creation, const uint32_t *filters, size_t words)
{
	for (size_t at = 0; at < words;) {
		if (words - at < 3 || words - at - 3 < filters[at + 2])
			return "filters: words are missing";
		unsigned params[32];
		size_t n = filters[at + 2];
		if (n > sizeof params / sizeof params[0])
			return "filters: more than 32 params";
		for (size_t i = 0; i < n; i++)
			params[i] = filters[at + 3 + i];
		if (H5Pset_filter(creation, (H5Z_filter_t)filters[at], filters[at + 1], n, params) < 0)
			return "filters: refused by the library";
		at += 3 + n;
	}
	return NULL;
}

int64_t shim_chunked(int64_t file, const char *path, int64_t type, int rank, const uint64_t *dims,
                      const uint64_t *maxdims, const uint64_t *chunk, const uint32_t *filters, size_t words, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped creation = H5Pcopy(any_layout());
	TRY(H5Pset_chunk(creation, rank, DIMS(chunk)));
	const char *wrong = set_filters(creation, filters, words);
	if (wrong)
		return fail(wrong, text, size);
	scoped space = space_of(rank, dims, maxdims);
	TRY(space);
	return check(H5Dcreate2(file, path, type, space, with_parents(file, path), creation, H5P_DEFAULT), text, size);
}

int64_t shim_extend(int64_t dataset, const uint64_t *dims, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Dset_extent(dataset, DIMS(dims)), text, size);
}

int64_t shim_write_chunk(int64_t dataset, const uint64_t *start, uint32_t mask, const void *data, size_t bytes, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, DIMS(start), bytes, data), text, size);
}

int64_t shim_chunk_size(int64_t dataset, const uint64_t *start, H5DNN_MESSAGE)
{
	shim_quiet();
	hsize_t stored = 0;
	if (H5Dget_chunk_storage_size(dataset, DIMS(start), &stored) < 0) {
		H5Eclear2(H5E_DEFAULT); // some versions call a missing chunk an error
		return 0;
	}
	if (stored > INT64_MAX)
		return fail("chunk is too large", text, size);
	return (int64_t)stored;
}

int64_t shim_read_chunk(int64_t dataset, const uint64_t *start, uint32_t *mask, void *data, size_t bytes, H5DNN_MESSAGE)
{
	int64_t stored = shim_chunk_size(dataset, start, text, size);
	if (stored < 0)
		return -1;
	if ((uint64_t)stored != bytes)
		return fail("chunk has another size than expected", text, size);
#if H5_VERSION_GE(2, 0, 0)
	return check(H5Dread_chunk1(dataset, H5P_DEFAULT, DIMS(start), mask, data), text, size);
#else
	return check(H5Dread_chunk(dataset, H5P_DEFAULT, DIMS(start), mask, data), text, size);
#endif
}

// Text and attributes

// Points to the strings in data, or NULL unless there are exactly as many as space holds.
static const char **pointers(hid_t space, const char *data, size_t bytes)
{
	hssize_t n = H5Sget_simple_extent_npoints(space);
	if (n < 0 || (uint64_t)n > bytes)
		return NULL;
	const char **each = malloc((size_t)(n + 1) * sizeof *each);
	size_t at = 0;
	for (hssize_t i = 0; each && i < n; i++) {
		const char *end = at < bytes ? memchr(data + at, 0, bytes - at) : NULL;
		if (!end) {
			free(each);
			return NULL;
		}
		each[i] = data + at;
		at = (size_t)(end - data) + 1;
	}
	if (each && at != bytes) {
		free(each);
		return NULL;
	}
	return each;
}

int64_t shim_strings(int64_t file, const char *path, int rank, const uint64_t *dims, const uint64_t *start, const uint64_t *count,
                     int create, const char *data, size_t bytes, int utf8, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped type = text_type(utf8);
	scoped space = space_of(rank, dims, NULL);
	TRY(space);
	scoped here = space_of(rank, count, NULL);
	TRY(here);
	scoped_memory const char **each = pointers(here, data, bytes);
	if (!each)
		return fail("the number of strings does not fit the shape", text, size);
	scoped dataset = create ? H5Dcreate2(file, path, type, space, with_parents(file, path), any_layout(), H5P_DEFAULT) : H5Dopen2(file, path, H5P_DEFAULT);
	TRY(dataset);
	if (bytes == 0)
		return 0;
	if (rank > 0)
		TRY_PARTIAL(H5Sselect_hyperslab(space, H5S_SELECT_SET, DIMS(start), NULL, DIMS(count), NULL));
	TRY_PARTIAL(H5Dwrite(dataset, type, here, space, H5P_DEFAULT, each));
	return 0;
}

// Creates an attribute. An older one of the same name is deleted; then *deleted is set.
static hid_t new_attribute(hid_t object, const char *name, hid_t type, hid_t space, int *deleted)
{
	scoped creation = H5Pcreate(H5P_ATTRIBUTE_CREATE);
	htri_t there = H5Aexists(object, name);
	*deleted = 0;
	if (there < 0 || (there > 0 && H5Adelete(object, name) < 0) || H5Pset_char_encoding(creation, H5T_CSET_UTF8) < 0)
		return -1;
	*deleted = there > 0;
	return H5Acreate2(object, name, type, space, creation, H5P_DEFAULT);
}

int64_t shim_attr_strings(int64_t file, const char *path, const char *name, int rank, const uint64_t *dims,
                           const char *data, size_t bytes, int utf8, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped object = H5Oopen(file, path, H5P_DEFAULT);
	TRY(object);
	scoped type = text_type(utf8);
	scoped space = space_of(rank, dims, NULL);
	TRY(space);
	scoped_memory const char **each = pointers(space, data, bytes);
	if (!each)
		return fail("the number of strings does not fit the shape", text, size);
	int deleted;
	scoped attribute = new_attribute(object, name, type, space, &deleted);
	if (attribute < 0)
		return check(-1, text, size) && deleted ? H5DNN_PARTIAL : -1;
	if (bytes == 0)
		return 0;
	TRY_PARTIAL(H5Awrite(attribute, type, each));
	return 0;
}

int64_t shim_attr(int64_t file, const char *path, const char *name, int64_t type, int rank, const uint64_t *dims,
                   const void *data, size_t bytes, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped object = H5Oopen(file, path, H5P_DEFAULT);
	TRY(object);
	scoped space = space_of(rank, dims, NULL);
	TRY(space);
	hssize_t n = rank < 0 ? 0 : H5Sget_simple_extent_npoints(space);
	if (n < 0 || (uint64_t)n * H5Tget_size(type) != bytes)
		return fail("the number of bytes does not fit the shape", text, size);
	int deleted;
	scoped attribute = new_attribute(object, name, type, space, &deleted);
	if (attribute < 0)
		return check(-1, text, size) && deleted ? H5DNN_PARTIAL : -1;
	if (bytes == 0)
		return 0;
	TRY_PARTIAL(H5Awrite(attribute, type, data));
	return 0;
}

// The reader that tests compare with

static herr_t refuse(const char *file, const char *path, const char *target_file, const char *target, unsigned *flags,
                     hid_t access, void *data)
{
	(void)file, (void)path, (void)target_file, (void)target, (void)flags, (void)access, (void)data;
	return -1;
}

// Returns why the dataset must not be read, or NULL.
static const char *refusal(hid_t dataset)
{
	scoped creation = H5Dget_create_plist(dataset);
	if (creation < 0)
		return "creation properties cannot be read";
	if (H5Pget_layout(creation) == H5D_VIRTUAL)
		return "a virtual dataset";
	if (H5Pget_layout(creation) == H5D_CONTIGUOUS && H5Pget_external_count(creation) != 0)
		return "its data lies in another file";
	return NULL;
}

int64_t shim_read(int64_t file, const char *path, int64_t type, int rank, const uint64_t *start, const uint64_t *count,
                   void *data, size_t bytes, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped access = H5Pcreate(H5P_DATASET_ACCESS);
	TRY(H5Pset_elink_cb(access, refuse, NULL));
	scoped dataset = H5Dopen2(file, path, access);
	TRY(dataset);
	const char *wrong = refusal(dataset);
	if (wrong)
		return fail(wrong, text, size);
	scoped stored = H5Dget_type(dataset);
	scoped there = H5Dget_space(dataset);
	TRY(stored);
	TRY(there);
	if (H5Sget_simple_extent_ndims(there) != rank)
		return fail("another number of axes than expected", text, size);
	if (H5Tdetect_class(stored, H5T_VLEN) != 0 || H5Tis_variable_str(stored) != 0)
		return fail("elements of variable length", text, size);
	scoped here = space_of(rank, count, NULL);
	TRY(here);
	if (rank > 0)
		TRY(H5Sselect_hyperslab(there, H5S_SELECT_SET, DIMS(start), NULL, DIMS(count), NULL));
	if (H5Sselect_valid(there) <= 0)
		return fail("the selection lies outside the dataset", text, size);
	hid_t as = type ? type : stored;
	hssize_t n = H5Sget_select_npoints(there);
	if (n < 0 || (n > 0 && bytes / (uint64_t)n != H5Tget_size(as)) || bytes != (uint64_t)n * H5Tget_size(as))
		return fail("the number of bytes does not fit the selection", text, size);
	if (n == 0)
		return 0;
	return check(H5Dread(dataset, as, here, there, H5P_DEFAULT, data), text, size);
}

// Copies

int64_t shim_decode_type(const void *message, size_t bytes, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped_memory unsigned char *encoded = malloc(bytes + 2);
	if (!encoded)
		return fail("no memory", text, size);
	encoded[0] = 3; // a datatype message
	encoded[1] = 0; // the version of this encoding
	memcpy(encoded + 2, message, bytes);
	return check(H5Tdecode(encoded), text, size);
}

int64_t shim_hard_link(int64_t file, const char *path, const char *target, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Lcreate_hard(file, target, file, path, with_parents(file, path), H5P_DEFAULT), text, size);
}

int64_t shim_comment(int64_t file, const char *path, const char *comment, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Oset_comment_by_name(file, path, comment, H5P_DEFAULT), text, size);
}

int64_t shim_external_link(int64_t file, const char *path, const char *other, const char *target, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Lcreate_external(other, target, file, path, with_parents(file, path), H5P_DEFAULT), text, size);
}

int64_t shim_address(int64_t file, const char *path, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped object = H5Oopen(file, path, H5P_DEFAULT);
	TRY(object);
#if H5_VERSION_GE(1, 12, 0)
	H5O_info1_t info;
	TRY(H5Oget_info1(object, &info));
#else
	H5O_info_t info;
	TRY(H5Oget_info(object, &info));
#endif
	return (int64_t)info.addr;
}

int64_t shim_commit_unnamed(int64_t file, int64_t type, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Tcommit_anon(file, type, named_type(), H5P_DEFAULT), text, size);
}

int64_t shim_link_type(int64_t file, const char *path, int64_t type, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Olink(type, file, path, with_parents(file, path), H5P_DEFAULT), text, size);
}

int64_t shim_properties(H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Pcopy(any_layout()), text, size);
}

int64_t shim_add_external(int64_t properties, const char *file, int64_t offset, uint64_t bytes, H5DNN_MESSAGE)
{
	shim_quiet();
	return check(H5Pset_external(properties, file, (off_t)offset, bytes), text, size);
}

// Returns a dataspace with a selection. Go has checked the number of numbers.
static hid_t selected(struct shim_selection s)
{
	hid_t space = space_of(s.rank, s.dims, s.maxdims);
	size_t rank = (size_t)s.rank, per = s.kind == H5DNN_POINTS ? rank : s.kind == H5DNN_BLOCKS ? 2 * rank : 4 * rank;
	hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
	herr_t done = space < 0 || rank > H5S_MAX_RANK ? -1 : 0;

	if (done >= 0 && s.kind == H5DNN_NONE)
		done = H5Sselect_none(space);
	if (done >= 0 && s.kind == H5DNN_POINTS)
		done = H5Sselect_elements(space, H5S_SELECT_SET, s.count / per, DIMS(s.numbers));
	for (size_t at = 0; done >= 0 && (s.kind == H5DNN_REGULAR || s.kind == H5DNN_BLOCKS) && at < s.count; at += per) {
		const uint64_t *n = s.numbers + at;
		for (size_t axis = 0; axis < rank; axis++) {
			if (s.kind == H5DNN_REGULAR) {
				start[axis] = n[4 * axis], stride[axis] = n[4 * axis + 1];
				count[axis] = n[4 * axis + 2], block[axis] = n[4 * axis + 3];
			} else {
				start[axis] = n[axis], stride[axis] = count[axis] = 1;
				block[axis] = n[rank + axis] - n[axis] + 1;
				stride[axis] = block[axis];
			}
		}
		done = H5Sselect_hyperslab(space, at == 0 ? H5S_SELECT_SET : H5S_SELECT_OR, start, stride, count, block);
	}
	if (done < 0)
		drop(&space), space = -1;
	return space;
}

int64_t shim_add_virtual(int64_t properties, struct shim_selection to, const char *file, const char *dataset,
                          struct shim_selection from, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped there = selected(to);
	TRY(there);
	scoped source = selected(from);
	TRY(source);
	return check(H5Pset_virtual(properties, there, file, dataset, source), text, size);
}

int64_t shim_region(int64_t file, const char *path, struct shim_selection region, void *reference, H5DNN_MESSAGE)
{
	shim_quiet();
	hdset_reg_ref_t made;
	_Static_assert(sizeof made == 12, "an address and an index");
	scoped space = selected(region);
	TRY(space);
	TRY(H5Rcreate(&made, file, path, H5R_DATASET_REGION, space));
	memcpy(reference, &made, sizeof made);
	return 0;
}

// Returns a copy of an image in which the pointers are addresses in the copy, or NULL
// if one of them is out of range.
static unsigned char *placed(const void *image, size_t bytes, const uint64_t *pointers, size_t n)
{
	unsigned char *copy = malloc(bytes + 1);
	if (!copy)
		return NULL;
	memcpy(copy, image, bytes);
	for (size_t i = 0; i < n; i++) {
		uint64_t to;
		if (bytes < sizeof to || pointers[i] > bytes - sizeof to) {
			free(copy);
			return NULL;
		}
		memcpy(&to, copy + pointers[i], sizeof to);
		if (to > bytes) {
			free(copy);
			return NULL;
		}
		unsigned char *at = copy + to;
		memcpy(copy + pointers[i], &at, sizeof at);
	}
	return copy;
}

int64_t shim_dataset(int64_t file, const char *path, int64_t type, int rank, const uint64_t *dims, const uint64_t *maxdims,
                      int layout, int64_t properties, const uint64_t *chunk, const uint32_t *filters, size_t words,
                      const void *fill, size_t fill_bytes, const uint64_t *pointers, size_t n, size_t fill_size,
                      uint64_t *offset, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped creation = H5Pcopy(properties ? properties : any_layout());
	TRY(creation);
	if (layout == H5DNN_CHUNKED)
		TRY(H5Pset_chunk(creation, rank, DIMS(chunk)));
	else if (layout != H5DNN_ELSEWHERE)
		TRY(H5Pset_layout(creation, layout == H5DNN_COMPACT ? H5D_COMPACT : H5D_CONTIGUOUS));
	if (layout == H5DNN_ALLOCATED) {
		TRY(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY));
		TRY(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER));
	}
	const char *wrong = set_filters(creation, filters, words);
	if (wrong)
		return fail(wrong, text, size);
	scoped_memory unsigned char *element = fill_size ? placed(fill, fill_bytes, pointers, n) : NULL;
	if (fill_size && (!element || fill_size != H5Tget_size(type) || fill_bytes < fill_size))
		return fail("the fill value has not the size of an element", text, size);
	if (element)
		TRY(H5Pset_fill_value(creation, type, element));
	scoped space = space_of(rank, dims, maxdims);
	TRY(space);
	hid_t dataset = H5Dcreate2(file, path, type, space, with_parents(file, path), creation, H5P_DEFAULT);
	TRY(dataset);
	*offset = layout == H5DNN_ALLOCATED && H5Sget_simple_extent_npoints(space) > 0 ? H5Dget_offset(dataset) : UINT64_MAX;
	return dataset;
}

int64_t shim_write_image(int64_t dataset, int64_t type, int rank, const uint64_t *start, const uint64_t *count,
                          const void *image, size_t bytes, const uint64_t *pointers, size_t n, size_t elem_size, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped there = H5Dget_space(dataset);
	TRY(there);
	if (H5Sget_simple_extent_ndims(there) != rank)
		return fail("another number of axes than expected", text, size);
	scoped here = space_of(rank, count, NULL);
	TRY(here);
	if (rank > 0)
		TRY(H5Sselect_hyperslab(there, H5S_SELECT_SET, DIMS(start), NULL, DIMS(count), NULL));
	hssize_t elements = H5Sget_select_npoints(there);
	if (elements < 0 || H5Tget_size(type) != elem_size || elem_size == 0 || (uint64_t)elements > bytes / elem_size)
		return fail("the number of bytes does not fit the selection", text, size);
	if (elements == 0)
		return 0;
	scoped_memory unsigned char *copy = placed(image, bytes, pointers, n);
	if (!copy)
		return fail("values point outside of their memory", text, size);
	return check(H5Dwrite(dataset, type, here, there, H5P_DEFAULT, copy), text, size);
}

int64_t shim_attr_image(int64_t file, const char *path, const char *name, int64_t type, int rank, const uint64_t *dims,
                         const void *image, size_t bytes, const uint64_t *pointers, size_t n, size_t elem_size, H5DNN_MESSAGE)
{
	shim_quiet();
	scoped object = H5Oopen(file, path, H5P_DEFAULT);
	TRY(object);
	scoped space = space_of(rank, dims, NULL);
	TRY(space);
	hssize_t elements = rank < 0 ? 0 : H5Sget_simple_extent_npoints(space);
	if (elements < 0 || H5Tget_size(type) != elem_size || elem_size == 0 || (uint64_t)elements > bytes / elem_size)
		return fail("the number of bytes does not fit the shape", text, size);
	int deleted;
	scoped attribute = new_attribute(object, name, type, space, &deleted);
	if (attribute < 0)
		return check(-1, text, size) && deleted ? H5DNN_PARTIAL : -1;
	if (elements == 0)
		return 0;
	scoped_memory unsigned char *copy = placed(image, bytes, pointers, n);
	if (!copy)
		return fail("values point outside of their memory", text, size);
	TRY_PARTIAL(H5Awrite(attribute, type, copy));
	return 0;
}
