#include "table.h"

#include <stdlib.h>

#define EXPORTED(name, params) extern h5_result fake_##name params;
H5_DRIVER(EXPORTED)
#undef EXPORTED

#define ENTRY(name, params) {#name, (void *)fake_##name},
static const h5_entry entries[] = {H5_DRIVER(ENTRY)};
#undef ENTRY

int h5_fakes(void) { return sizeof entries / sizeof *entries; }
h5_entry h5_fake(int i) { return entries[i]; }

static _Thread_local h5_handle current;

h5_handle h5_current(void) { return current; }
void h5_set_current(h5_handle context) { current = context; }

h5_handle *h5_handles(size_t n) {
	static h5_handle *all;
	static size_t room;
	if (n > room)
		all = realloc(all, (room = 2 * n) * sizeof *all);
	return all;
}
