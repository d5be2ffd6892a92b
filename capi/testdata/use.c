/* Calls every function of the library: use FILE, where FILE is testdata/digits.h5. It prints what
 * is wrong and fails. With -include dlpack.h it uses the structs of DLPack's own header. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5dnn.h"

_Static_assert(sizeof(DLDevice) == 8 && sizeof(DLDataType) == 4 && sizeof(DLTensor) == 48, "sizes");
_Static_assert(offsetof(DLTensor, device) == 8 && offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, dtype) == 20, "DLTensor");
_Static_assert(offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 && offsetof(DLTensor, byte_offset) == 40, "DLTensor");
_Static_assert(offsetof(DLManagedTensor, manager_ctx) == 48 && offsetof(DLManagedTensor, deleter) == 56, "DLManagedTensor");
_Static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8 && offsetof(DLManagedTensorVersioned, deleter) == 16, "versioned");
_Static_assert(offsetof(DLManagedTensorVersioned, flags) == 24 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32, "versioned");
_Static_assert(kDLCPU == 1 && kDLCUDA == 2 && kDLCUDAHost == 3, "devices");
_Static_assert(kDLInt == 0 && kDLUInt == 1 && kDLFloat == 2 && kDLBfloat == 4 && kDLComplex == 5 && kDLBool == 6, "types");
_Static_assert(kDLFloat8_e4m3fn == 10 && kDLFloat8_e5m2 == 12 && DLPACK_FLAG_BITMASK_READ_ONLY == 1, "types");

static int failures;

/* Memory that the address sanitizer reports as leaked, because it does not scan Go's memory. The
 * second are error messages that the interpreted GPUs keep as C strings. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
#ifdef FAKEGPUS
	return "leak:libdeflate_alloc_decompressor\nleak:_Cfunc__Cmalloc\n";
#else
	return "leak:libdeflate_alloc_decompressor\n";
#endif
}

static void fail(int line, const char *what) {
	fprintf(stderr, "line %d: not so: %s; last message: %s\n", line, what, h5dnn_message());
	failures++;
}

#define CHECK(what) ((what) ? (void)0 : fail(__LINE__, #what))
#define OK(call) CHECK((call) == H5DNN_OK)

static DLTensor cpu(void *data, int32_t ndim, int64_t *shape, uint8_t code, uint8_t bits) {
	DLTensor t = {data, {kDLCPU, 0}, ndim, {code, bits, 1}, shape, NULL, 0};
	return t;
}

static void reading(const char *path) {
	h5dnn_file file;
	h5dnn_array images, corner;
	const char *const *names;
	const DLTensor *seen;
	float *batch = malloc(2 * 8 * 8 * sizeof *batch); /* so that a byte too far is seen */
	int64_t shape[] = {2, 8, 8}, wrong[] = {2, 8, 7}, back[] = {-8, 1};
	DLTensor into = cpu(batch, 3, shape, kDLFloat, 32), narrow = cpu(batch, 3, wrong, kDLFloat, 32);
	uint8_t picture[8][8];
	DLTensor upside_down = cpu(picture[7], 2, shape + 1, kDLUInt, 8);

	OK(h5dnn_open(path, &file));
	OK(h5dnn_names(file, &names));
	CHECK(strcmp(names[0], "/test/images") == 0 && strcmp(names[3], "/train/labels") == 0 && names[4] == NULL);
	OK(h5dnn_get(file, names[0], &images));
	OK(h5dnn_describe(images, &seen));
	CHECK(seen->ndim == 3 && seen->shape[0] == 360 && seen->shape[2] == 8 && seen->dtype.code == kDLUInt && seen->dtype.bits == 8);
	CHECK(seen->device.device_type == 0 && seen->data == NULL);

	OK(h5dnn_read(images, "[:2]", &into));
	CHECK(batch[16 + 1] == 11 && batch[16 + 2] == 10 && batch[24 + 2] == 5); /* README.md shows rows 2 and 3 */
	upside_down.strides = back;
	OK(h5dnn_read(images, "[0]", &upside_down));
	CHECK(picture[5][1] == 11 && picture[5][2] == 10); /* row 2 */

	CHECK(h5dnn_read(images, "[:2]", &narrow) == H5DNN_SHAPE && strstr(h5dnn_message(), "[2 8 7]"));
	CHECK(h5dnn_read(images, "[:2", &into) == H5DNN_SHAPE);
	CHECK(h5dnn_read(images, NULL, NULL) == H5DNN_STATE);
	CHECK(h5dnn_write(images, "[:2]", &into) == H5DNN_DEVICE);
	CHECK(h5dnn_get(file, "/train/imges", &corner) == H5DNN_MISSING && strchr(h5dnn_message(), '\n') == NULL);
	CHECK(h5dnn_open("no such file", &file) == H5DNN_MISSING);

	OK(h5dnn_slice(images, "[0, 0, 1:3]", &corner));
	OK(h5dnn_close(file));
	CHECK(h5dnn_read(corner, NULL, &into) != H5DNN_OK);
	CHECK(h5dnn_close(file) == H5DNN_STATE && h5dnn_free((h5dnn_array)file) == H5DNN_STATE && h5dnn_free(0) == H5DNN_STATE);
	OK(h5dnn_free(corner));
	OK(h5dnn_free(images));
	CHECK(h5dnn_free(images) == H5DNN_STATE);
	free(batch);
}

static void exporting(void) {
	h5dnn_array whole, odd;
	int64_t shape[] = {3, 4};
	double ours[12] = {0};
	DLDataType f64 = {kDLFloat, 64, 1};
	DLTensor all = cpu(ours, 2, shape, kDLFloat, 64);
	DLManagedTensorVersioned *t;
	DLManagedTensor *u;

	OK(h5dnn_make("cpu", f64, 2, shape, &whole));
	OK(h5dnn_slice(whole, "[::-2, 1:3]", &odd));
	OK(h5dnn_export(odd, 0, &t));
	OK(h5dnn_export_unversioned(whole, 0, &u));
	OK(h5dnn_free(odd));
	CHECK(t->version.major == 1 && t->flags == 0 && t->dl_tensor.ndim == 2 && t->dl_tensor.byte_offset == 0);
	CHECK(t->dl_tensor.strides[0] == -8 && t->dl_tensor.strides[1] == 1 && u->dl_tensor.strides[0] == 4);
	((double *)t->dl_tensor.data)[-8] = 3.5; /* row 0, column 1 */
	OK(h5dnn_read(whole, "", &all));
	CHECK(ours[1] == 3.5 && ours[9] == 0 && ((double *)u->dl_tensor.data)[1] == 3.5);
	ours[9] = 4.5;
	OK(h5dnn_write(whole, "[...]", &all));
	OK(h5dnn_free(whole));
	CHECK(*(double *)t->dl_tensor.data == 4.5);
	CHECK(h5dnn_import_unversioned(NULL, &whole) == H5DNN_STATE);
	OK(h5dnn_import_unversioned(u, &whole));
	ours[9] = 0;
	OK(h5dnn_read(whole, NULL, &all));
	CHECK(ours[1] == 3.5 && ours[9] == 4.5);
	OK(h5dnn_free(whole)); /* and deleted the tensor */
	CHECK(*(double *)t->dl_tensor.data == 4.5);
	t->deleter(t);
}

/* A tensor of ours that counts how often it is deleted. */
typedef struct {
	DLManagedTensorVersioned t;
	int64_t shape[1];
	int *deleted;
} lent;

static void take_back(DLManagedTensorVersioned *t) {
	lent *l = t->manager_ctx;
	++*l->deleted;
	free(t->dl_tensor.data);
	free(l);
}

static DLManagedTensorVersioned *lend(int *deleted, uint64_t flags) {
	lent *l = calloc(1, sizeof *l);
	int32_t *data = calloc(10, sizeof *data);
	l->shape[0] = 10;
	l->deleted = deleted;
	l->t.version.major = 1;
	l->t.manager_ctx = l;
	l->t.deleter = take_back;
	l->t.flags = flags;
	l->t.dl_tensor = cpu(data, 1, l->shape, kDLInt, 32);
	return &l->t;
}

static void importing(void) {
	int deleted = 0;
	int16_t some[] = {-1, 7}, one = 0;
	int64_t two = 2;
	DLTensor from = cpu(some, 1, &two, kDLInt, 16), single = cpu(&one, 0, NULL, kDLInt, 16);
	h5dnn_array all, tail, copy;
	DLManagedTensorVersioned *mine = lend(&deleted, 0), *again;
	DLManagedTensor *unversioned;

	OK(h5dnn_import(mine, &all));
	OK(h5dnn_write(all, "[8:]", &from));
	CHECK(((int32_t *)mine->dl_tensor.data)[8] == -1 && ((int32_t *)mine->dl_tensor.data)[9] == 7);
	OK(h5dnn_slice(all, "[-1]", &tail));
	OK(h5dnn_free(all));
	OK(h5dnn_export(tail, 0, &again));
	OK(h5dnn_move(tail, "cpu", &copy));
	OK(h5dnn_free(tail));
	OK(h5dnn_read(copy, NULL, &single));
	CHECK(one == 7 && deleted == 0);
	OK(h5dnn_free(copy));
	CHECK(deleted == 0 && *(int32_t *)again->dl_tensor.data == 7);
	again->deleter(again);
	CHECK(deleted == 1);

	OK(h5dnn_import(lend(&deleted, DLPACK_FLAG_BITMASK_READ_ONLY), &all));
	CHECK(h5dnn_write(all, "[8:]", &from) == H5DNN_STATE);
	CHECK(h5dnn_export_unversioned(all, 0, &unversioned) == H5DNN_STATE);
	OK(h5dnn_slice(all, "[:2]", &tail));
	CHECK(h5dnn_write(tail, "", &from) == H5DNN_STATE);
	OK(h5dnn_export(tail, 0, &again));
	CHECK(again->flags == DLPACK_FLAG_BITMASK_READ_ONLY);
	again->deleter(again);
	OK(h5dnn_free(tail));
	OK(h5dnn_free(all));
	CHECK(deleted == 2);

	mine = lend(&deleted, 0);
	mine->version.major = 2;
	CHECK(h5dnn_import(mine, &all) == H5DNN_STATE && deleted == 2);
	mine->version.major = 1;
	mine->dl_tensor.dtype.lanes = 2;
	CHECK(h5dnn_import(mine, &all) == H5DNN_TYPE && deleted == 2);
	mine->deleter(mine);
}

/* Objects and elements in JSON. */
static void describing(const char *path) {
	h5dnn_file file;
	h5dnn_array member;
	char *text;

	CHECK(h5dnn_open_as(path, "hdf6", &file) == H5DNN_ERROR);
	OK(h5dnn_open_following(path, "hdf5", ".", &file));
	OK(h5dnn_object(file, "/test/images", &text));
	CHECK(strstr(text, "\"shape\":[360,8,8]") && strstr(text, "\"dtype\":\"uint8\"") && strstr(text, "\"value\":[0,16]"));
	OK(h5dnn_free_text(text));
	OK(h5dnn_objects(file, "/", &text));
	CHECK(strstr(text, "\"/test/images\"") && strstr(text, "\"/train/labels\""));
	OK(h5dnn_free_text(text));
	OK(h5dnn_free_text(NULL));
	OK(h5dnn_verify(path, &text));
	CHECK(strcmp(text, "[]") == 0);
	OK(h5dnn_free_text(text));
	CHECK(h5dnn_verify("no such file", &text) == H5DNN_MISSING);
	OK(h5dnn_diff(path, path, "{}", &text));
	CHECK(strcmp(text, "[]") == 0);
	OK(h5dnn_free_text(text));
	CHECK(h5dnn_diff(path, path, "{\"atol\": -1}", &text) == H5DNN_SETTING && h5dnn_convert(path, path, "{}", &text) == H5DNN_SETTING);
	OK(h5dnn_values(file, "/test/images", "[0]", &text));
	CHECK(strstr(text, "\"values\":[]")); /* numbers are for h5dnn_read */
	OK(h5dnn_free_text(text));
	CHECK(h5dnn_object(file, "/nothing", &text) == H5DNN_MISSING && h5dnn_object(file, "/", NULL) == H5DNN_STATE);
	CHECK(h5dnn_objects(0, "/", &text) == H5DNN_STATE && h5dnn_values(file, "/test/images", "[400]", &text) == H5DNN_SHAPE);
	CHECK(h5dnn_member(file, "/test/images", "x", &member) == H5DNN_ERROR);
	OK(h5dnn_close(file));
}

/* An epoch, twice the same from its middle on, samples by index, and batches that outlive their loader. */
static void loading(const char *path) {
	h5dnn_loader loader;
	h5dnn_array fields[2], rows, kept[2];
	char settings[1024], *text;
	int64_t consumed = 0, total = 0, pair[] = {5, 1436}, far[] = {1437}, second[100];
	const DLTensor *seen;

	snprintf(settings, sizeof settings, "{\"data\": {\"file\": \"%s\", \"x\": \"train/images\", \"y\": \"train/labels\"}, \"batch_size\": 100, \"seed\": 3}", path);
	CHECK(h5dnn_loader_open("{\"batch\": 1}", &loader) == H5DNN_SETTING && strstr(h5dnn_message(), "batch_size"));
	CHECK(h5dnn_loader_open("{\"data\": {\"file\": \"nowhere.h5\", \"x\": \"x\"}}", &loader) == H5DNN_MISSING);
	OK(h5dnn_loader_open(settings, &loader));
	OK(h5dnn_loader_about(loader, &text));
	CHECK(strstr(text, "\"batches\":15") && strstr(text, "\"samples\":1437"));
	OK(h5dnn_free_text(text));
	CHECK(h5dnn_loader_next(loader, 1000, 2, fields, NULL, &consumed) == H5DNN_STATE);
	OK(h5dnn_loader_start(loader, 0, 0));
	for (int batch = 0; consumed >= 0; batch++) {
		h5dnn_status status = h5dnn_loader_next(loader, 1000, 2, fields, &rows, &consumed);
		if (status == H5DNN_AGAIN)
			continue;
		CHECK(status == H5DNN_OK);
		if (status != H5DNN_OK || consumed < 0)
			break;
		OK(h5dnn_describe(rows, &seen));
		total += seen->shape[0];
		if (consumed == 200)
			memcpy(second, seen->data, sizeof second);
		OK(h5dnn_free(fields[0]));
		OK(h5dnn_free(fields[1]));
		OK(h5dnn_free(rows));
	}
	CHECK(total == 1437);
	OK(h5dnn_loader_start(loader, 0, 100));
	CHECK(h5dnn_loader_next(loader, 1000, 2, NULL, NULL, &consumed) == H5DNN_STATE);
	CHECK(h5dnn_loader_next(loader, 1000, 1, fields, NULL, &consumed) == H5DNN_SHAPE && strstr(h5dnn_message(), "2 fields"));
	CHECK(h5dnn_loader_read(loader, 2, (int64_t[]){0, 1}, 3, fields) == H5DNN_SHAPE);
	while (h5dnn_loader_next(loader, 1000, 2, kept, &rows, &consumed) == H5DNN_AGAIN)
		;
	OK(h5dnn_describe(rows, &seen));
	CHECK(consumed == 200 && memcmp(second, seen->data, sizeof second) == 0);
	OK(h5dnn_free(rows));
	OK(h5dnn_loader_read(loader, 2, pair, 2, fields));
	OK(h5dnn_describe(fields[0], &seen));
	CHECK(seen->ndim == 3 && seen->shape[0] == 2 && seen->shape[2] == 8 && seen->device.device_type == kDLCPU);
	CHECK(h5dnn_loader_read(loader, 1, far, 2, fields) == H5DNN_SHAPE && h5dnn_loader_read(loader, 1, NULL, 2, fields) == H5DNN_STATE);
	OK(h5dnn_free(fields[0]));
	OK(h5dnn_free(fields[1]));
	CHECK(h5dnn_loader_start(loader, 1, 2000) == H5DNN_OK);
	while (h5dnn_loader_next(loader, 1000, 2, fields, NULL, &consumed) == H5DNN_AGAIN)
		;
	CHECK(strstr(h5dnn_message(), "2000"));
	OK(h5dnn_loader_start(loader, 2, 0)); /* and does not take a batch */
	OK(h5dnn_loader_close(loader));
	CHECK(h5dnn_loader_close(loader) == H5DNN_STATE);
	OK(h5dnn_describe(kept[0], &seen));
	CHECK(seen->shape[0] == 100 && ((uint8_t *)seen->data)[0] <= 16);
	OK(h5dnn_free(kept[0]));
	OK(h5dnn_free(kept[1]));
}

/* Devices and shapes that are not there. */
static void devices(void) {
	h5dnn_array a;
	uint64_t stream = 1;
	int64_t shape[] = {4}, negative[] = {-4}, huge[] = {1LL << 46};
	DLDataType u8 = {kDLUInt, 8, 1}, odd = {kDLUInt, 3, 1};

	OK(h5dnn_stream("cpu", &stream));
	CHECK(stream == 0);
	CHECK(h5dnn_stream("cuda:99", &stream) == H5DNN_DEVICE);
	CHECK(h5dnn_make("tpu", u8, 1, shape, &a) == H5DNN_DEVICE);
	CHECK(h5dnn_make("cuda:99", u8, 1, shape, &a) == H5DNN_DEVICE);
	CHECK(h5dnn_make("cpu", odd, 1, shape, &a) == H5DNN_TYPE);
	CHECK(h5dnn_make("cpu", u8, 1, negative, &a) == H5DNN_SHAPE);
	CHECK(h5dnn_make("cpu", u8, -1, shape, &a) == H5DNN_SHAPE);
	CHECK(h5dnn_make("cpu", u8, 1 << 30, shape, &a) == H5DNN_SHAPE);
	CHECK(h5dnn_make("cpu", u8, 1, huge, &a) == H5DNN_STATE);
	CHECK(h5dnn_make("cpu", u8, 1, NULL, &a) == H5DNN_SHAPE);
	CHECK(h5dnn_make("cpu", u8, 1, shape, NULL) == H5DNN_STATE);
	OK(h5dnn_make("cpu", u8, 0, NULL, &a));
	OK(h5dnn_free(a));
}

/* What stays on a GPU all the way, and comes back. */
/* Operations on x (2, 3), in the memory of this function. */
static void operating(void) {
	float x[] = {1, -2, 3, -4, 5, -6}, y[12] = {0}, dy[] = {1, 1, 1, 1, 1, 1}, dx[6] = {0};
	int64_t shape[] = {2, 3}, apart[] = {6, 2}, folded[] = {1, 1}, huge[] = {1LL << 40, 1 << 20}, index[6], sizes[2][64];
	int32_t m;
	char *text;
	DLTensor of_x = cpu(x, 2, shape, kDLFloat, 32), of_y = cpu(y, 2, shape, kDLFloat, 32), of_dy = cpu(dy, 2, shape, kDLFloat, 32);
	DLTensor of_dx = cpu(dx, 2, shape, kDLFloat, 32), odd = cpu(y + 1, 2, shape, kDLFloat, 32), indices = cpu(index, 2, shape, kDLInt, 64);
	DLTensor results[2] = {{.shape = sizes[0]}, {.shape = sizes[1]}}, large = cpu(NULL, 2, huge, kDLInt, 8);
	const DLTensor *in[] = {&of_x, NULL}, *both[] = {&of_x, &of_x}, *out[] = {&of_y, &indices}, *incoming[] = {&of_dy}, *gradient[] = {&of_dx, NULL};

	OK(h5dnn_operations(&text));
	CHECK(strstr(text, "{\"name\":\"gelu\",\"torch\":\"nn.functional.gelu\",\"parameters\":[{\"name\":\"input\",\"kind\":\"tensor\"},"
			   "{\"name\":\"approximate\",\"kind\":\"setting\",\"default\":\"'none'\"}]}"));
	OK(h5dnn_free_text(text));

	OK(h5dnn_infer("sort", "{\"dim\": 1}", 1, in, 2, results, &m));
	CHECK(m == 2 && results[0].ndim == 2 && sizes[0][1] == 3 && results[0].dtype.code == kDLFloat && results[1].dtype.bits == 64);
	in[0] = &large; /* no memory is needed to infer, nor looked at */
	OK(h5dnn_infer("sum", "{\"dim\": [1]}", 1, in, 2, results, &m));
	CHECK(m == 1 && results[0].ndim == 1 && sizes[0][0] == 1LL << 40 && results[0].dtype.bits == 64);
	in[0] = &of_x;
	CHECK(h5dnn_infer("sort", NULL, 1, in, 1, results, &m) == H5DNN_STATE);
	CHECK(h5dnn_infer("exp", NULL, 1, in, 2, results, NULL) == H5DNN_STATE && h5dnn_infer("exp", NULL, -1, in, 2, results, &m) == H5DNN_STATE);

	OK(h5dnn_call("sort", "{\"dim\": 1, \"descending\": true}", 1, in, 2, out));
	CHECK(y[0] == 3 && y[5] == -6 && index[0] == 2 && index[4] == 0);
	OK(h5dnn_call("add", "{\"other\": 0.5}", 2, in, 1, out));
	CHECK(y[0] == 1.5 && y[5] == -5.5);
	OK(h5dnn_call("relu", "", 1, in, 1, in));
	CHECK(x[0] == 1 && x[1] == 0 && x[5] == 0);
	odd.strides = apart;
	out[0] = &odd;
	OK(h5dnn_call("mul", NULL, 2, both, 1, out));
	CHECK(y[1] == 1 && y[5] == 9 && y[9] == 25 && y[0] == 1.5);
	in[1] = NULL;
	OK(h5dnn_vjp("mul", "{\"other\": 4}", 2, in, 1, incoming, gradient));
	CHECK(dx[0] == 4 && dx[5] == 4);
	OK(h5dnn_vjp("mul", NULL, 2, both, 1, incoming, gradient));
	CHECK(dx[2] == 3 && dx[4] == 5);
	OK(h5dnn_threads(1));
	OK(h5dnn_call("matmul", NULL, 2, (const DLTensor *[]){&of_x, &(DLTensor){x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){3, 2}, (int64_t[]){1, 3}, 0}}, 1,
		      (const DLTensor *[]){&(DLTensor){y, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, (int64_t[]){2, 2}, NULL, 0}}));
	CHECK(y[0] == 10 && y[1] == 0 && y[3] == 25);

	CHECK(h5dnn_call("gellu", NULL, 1, in, 1, out) == H5DNN_MISSING && strstr(h5dnn_message(), "gelu"));
	CHECK(h5dnn_call("softmax", "{\"axis\": 1}", 1, in, 1, out) == H5DNN_SETTING);
	CHECK(h5dnn_call("exp", NULL, 1, in, 1, &out[1]) == H5DNN_SHAPE && strstr(h5dnn_message(), "does not fit int64"));
	CHECK(h5dnn_call("exp", NULL, 1, in, 1, NULL) == H5DNN_STATE && h5dnn_call("exp", NULL, 1, NULL, 1, out) == H5DNN_STATE);
	CHECK(h5dnn_call("exp", NULL, 1, in, 1, &in[1]) == H5DNN_STATE && h5dnn_call("exp", NULL, 0, in, 1, out) == H5DNN_STATE);
	odd.strides = folded;
	CHECK(h5dnn_call("exp", NULL, 1, in, 1, out) == H5DNN_SHAPE && strstr(h5dnn_message(), "share memory"));
	CHECK(h5dnn_vjp("exp", NULL, 1, in, 1, in, &out[1]) != H5DNN_OK && h5dnn_threads(0) == H5DNN_STATE);
}

/* An operation and its gradient in the memory of a GPU. */
static void operating_on(const char *device) {
	h5dnn_array on[3];
	const DLTensor *x[3], *host;
	int64_t shape[] = {3};
	float from[] = {1, -2, 3}, back[3];
	DLTensor of = cpu(from, 1, shape, kDLFloat, 32), to = cpu(back, 1, shape, kDLFloat, 32);

	for (int i = 0; i < 3; i++) {
		OK(h5dnn_make(device, (DLDataType){kDLFloat, 32, 1}, 1, shape, &on[i]));
		OK(h5dnn_describe(on[i], &x[i]));
	}
	OK(h5dnn_write(on[0], NULL, &of));
	OK(h5dnn_call("mul", "{\"other\": 10}", 2, (const DLTensor *[]){x[0], NULL}, 1, &x[1]));
	OK(h5dnn_read(on[1], NULL, &to));
	CHECK(back[0] == 10 && back[1] == -20 && back[2] == 30);
	OK(h5dnn_vjp("relu", NULL, 1, x, 1, &x[1], &x[2]));
	OK(h5dnn_read(on[2], NULL, &to));
	CHECK(back[0] == 10 && back[1] == 0 && back[2] == 30);
	host = &to;
	CHECK(h5dnn_call("relu", NULL, 1, x, 1, &host) == H5DNN_DEVICE || strcmp(device, "cpu") == 0);
	CHECK(h5dnn_call("add", NULL, 2, (const DLTensor *[]){x[0], host}, 1, &x[1]) == H5DNN_DEVICE || strcmp(device, "cpu") == 0);
	for (int i = 0; i < 3; i++)
		OK(h5dnn_free(on[i]));
}

static void gpus(void) {
	h5dnn_array there, part, again, host;
	uint64_t stream;
	int64_t shape[] = {3, 4}, two[] = {2, 4};
	float ours[12], back[8] = {0};
	DLTensor from = cpu(ours, 2, shape, kDLFloat, 32), to = cpu(back, 2, two, kDLFloat, 32);
	DLDataType f32 = {kDLFloat, 32, 1};
	DLManagedTensorVersioned *t;
	DLManagedTensor *u;

	if (h5dnn_stream("cuda:0", &stream) != H5DNN_OK) {
		printf("skipped: what is about GPUs: %s\n", h5dnn_message());
		return;
	}
	for (int i = 0; i < 12; i++)
		ours[i] = i;
	CHECK(stream > 2);
	OK(h5dnn_make("cuda:0", f32, 2, shape, &there));
	OK(h5dnn_write(there, NULL, &from));
	OK(h5dnn_slice(there, "[1:]", &part));
	OK(h5dnn_export(part, stream, &t));
	CHECK(t->dl_tensor.device.device_type == kDLCUDA && t->dl_tensor.device.device_id == 0);
	CHECK(h5dnn_export(part, 12345, &t) != H5DNN_OK);
	OK(h5dnn_export_unversioned(there, stream, &u));
	CHECK((char *)t->dl_tensor.data == (char *)u->dl_tensor.data + 16);
	OK(h5dnn_import(t, &again));
	OK(h5dnn_free(part));
	OK(h5dnn_free(there));
	ours[0] = 70;
	OK(h5dnn_slice(again, "[0, :1]", &part));
	from = cpu(ours, 1, (int64_t[]){1}, kDLFloat, 32);
	OK(h5dnn_write(part, NULL, &from));
	OK(h5dnn_move(again, "cpu", &host));
	OK(h5dnn_free(part));
	OK(h5dnn_free(again));
	u->deleter(u);
	OK(h5dnn_read(host, NULL, &to));
	CHECK(back[0] == 70 && back[1] == 5 && back[7] == 11);
	OK(h5dnn_free(host));
	operating_on("cuda:0");
}

int main(int argc, char **argv) {
	if (argc != 2)
		return 2;
	CHECK(strcmp(h5dnn_message(), "") == 0);
	reading(argv[1]);
	describing(argv[1]);
	loading(argv[1]);
	exporting();
	importing();
	operating();
	operating_on("cpu");
	devices();
	gpus();
	return failures != 0;
}
