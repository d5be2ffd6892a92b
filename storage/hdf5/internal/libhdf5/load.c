/* Loads libhdf5 when it is first needed, and not when the program starts: with the
 * libraries that it needs in turn it takes most of the start-up time.
 *
 * The functions of libhdf5 are defined here as jumps through pointers, and its variables
 * as copies, hidden from other libraries, so that the linker needs no libhdf5
 * (--as-needed). shim_load sets the pointers and the copies. Until then the functions
 * that gonum.org/v1/hdf5 calls in its init do nothing, and all others end the process.
 * gonum's variables with element types, which that init sets, are of no use: shim.c has its own. */
#define _GNU_SOURCE
#include "shim.h"
#include "symbols.h"

#include "hdf5_header.h"
#include <stdio.h>
#include <stdlib.h>

int h5dnn_has_file_locking = 1;

#if defined(__ELF__) && (defined(__x86_64__) || defined(__aarch64__))
#include <dlfcn.h>

static int64_t nothing(void) { return 0; }

static void not_loaded(void)
{
	fprintf(stderr, "h5dnn: a function of libhdf5 was called that is not loaded\n");
	abort();
}

/* A jump through a pointer leaves all arguments where they are. */
#if defined(__x86_64__)
#define JUMP(name) "jmp *h5dnn_" #name "(%rip)\n"
#else
#define JUMP(name) "adrp x16, h5dnn_" #name "\n ldr x16, [x16, :lo12:h5dnn_" #name "]\n br x16\n"
#endif

#define POINTER(name, first) \
	__attribute__((used, visibility("hidden"))) void *h5dnn_##name = (void *)first; \
	__asm__(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", %function\n" #name ":\n" JUMP(name) ".previous\n");

#define VARIABLE(name)               \
	__asm__(".hidden " #name); \
	hid_t name;

#define INIT_FUNCTION(name) POINTER(name, nothing)
#define FUNCTION(name) POINTER(name, not_loaded)

H5DNN_INIT_FUNCTIONS(INIT_FUNCTION)
H5DNN_FUNCTIONS(FUNCTION)
H5DNN_VARIABLES(VARIABLE)

/* The names of libhdf5 1.10, 1.12, 1.14 and 2.0, on Debian and elsewhere. */
static const char *const names[] = {
	"libhdf5_serial.so.103", "libhdf5_serial.so.200", "libhdf5_serial.so.310", "libhdf5_serial.so.320",
	"libhdf5.so.103", "libhdf5.so.200", "libhdf5.so.310", "libhdf5.so.320", "libhdf5_serial.so", "libhdf5.so",
};

/* Opens a library, and keeps it from ending with the process: files are closed by then,
 * and after a write that failed its exit handler crashes. It must be told before any other
 * call. */
static void *open_one(const char *name)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	herr_t (*dont_atexit)(void) = library ? (herr_t(*)(void))dlsym(library, "H5dont_atexit") : NULL;
	if (dont_atexit)
		dont_atexit();
	return library;
}

/* Opens the library of the version of the headers, or NULL. */
static void *open_library(void)
{
	const char *given = getenv("H5DNN_LIBHDF5");
	if (given && *given)
		return open_one(given);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *library = open_one(names[i]);
		if (!library)
			continue;
		herr_t (*version)(unsigned *, unsigned *, unsigned *) = (herr_t(*)(unsigned *, unsigned *, unsigned *))dlsym(library, "H5get_libversion");
		unsigned major, minor, release;
		if (version && version(&major, &minor, &release) >= 0 && major == H5_VERS_MAJOR && minor == H5_VERS_MINOR)
			return library;
		dlclose(library);
	}
	return NULL;
}

int64_t shim_load(H5DNN_MESSAGE)
{
	void *library = open_library();
	if (!library) {
		snprintf(text, size, "no libhdf5 of version %d.%d is installed (Debian: libhdf5-103, Fedora: hdf5), or H5DNN_LIBHDF5 does not name one",
		         H5_VERS_MAJOR, H5_VERS_MINOR);
		return -1;
	}
#define SET_FUNCTION(name)                       \
	if (dlsym(library, #name))               \
		h5dnn_##name = dlsym(library, #name);
	H5DNN_INIT_FUNCTIONS(SET_FUNCTION)
	H5DNN_FUNCTIONS(SET_FUNCTION)
	h5dnn_has_file_locking = dlsym(library, "H5Pset_file_locking") != NULL;
	if (H5open() < 0) {
		snprintf(text, size, "does not start");
		return -1;
	}
#define SET_VARIABLE(name)                    \
	if (dlsym(library, #name))            \
		name = *(hid_t *)dlsym(library, #name);
	H5DNN_VARIABLES(SET_VARIABLE)
	return 0;
}
#else
int64_t shim_load(H5DNN_MESSAGE) /* the program links libhdf5 */
{
	(void)text;
	(void)size;
	return 0;
}
#endif
