/* The functions of c-blosc2 that decode frames, loaded from a library that is installed.
 * Their types are those of blosc2.h since version 2.0, with opaque pointers. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static struct {
	void *(*open)(uint8_t *frame, int64_t size, bool copy);
	int (*decode)(void *frame, int64_t chunk, void *dst, int32_t size);
	int (*close)(void *frame);
} blosc2;

/* Loads the library that H5DNN_LIBBLOSC2 names, or one of the usual names; returns whether
 * there is one. */
static int blosc2_load(void)
{
	static const char *const names[] = {
		"libblosc2.so.9", "libblosc2.so.8", "libblosc2.so.7", "libblosc2.so.6", "libblosc2.so.5", "libblosc2.so.4",
		"libblosc2.so.3", "libblosc2.so.2", "libblosc2.so", "libblosc2.dylib",
	};
	const char *given = getenv("H5DNN_LIBBLOSC2");
	void *library = NULL;
	if (given && *given)
		library = strcmp(given, "off") ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
	else
		for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
			library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return 0;
	void (*start)(void) = (void (*)(void))dlsym(library, "blosc2_init");
	blosc2.open = (void *(*)(uint8_t *, int64_t, bool))dlsym(library, "blosc2_schunk_from_buffer");
	blosc2.decode = (int (*)(void *, int64_t, void *, int32_t))dlsym(library, "blosc2_schunk_decompress_chunk");
	blosc2.close = (int (*)(void *))dlsym(library, "blosc2_schunk_free");
	if (!start || !blosc2.open || !blosc2.decode || !blosc2.close)
		return 0;
	start();
	return 1;
}

static void *blosc2_open(void *frame, int64_t size) { return blosc2.open(frame, size, false); }
static int blosc2_decode(void *frame, int64_t chunk, void *dst, int32_t size) { return blosc2.decode(frame, chunk, dst, size); }
static void blosc2_close(void *frame) { blosc2.close(frame); }
