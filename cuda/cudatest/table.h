/* The functions of exports*.go, by the names of the driver's. */
#ifndef H5_TABLE_H
#define H5_TABLE_H

#include "../driver.h"

typedef struct {
	const char *name;
	void *function;
} h5_entry;

int h5_fakes(void);
h5_entry h5_fake(int i);

/* The context that is current on this thread. */
h5_handle h5_current(void);
void h5_set_current(h5_handle context);

/* Room for so many handles, until the next call. */
h5_handle *h5_handles(size_t n);

/* A function that does nothing but return a code, of which there may be eight. Not thread-safe. */
void *h5_refusal(int code);

#endif
