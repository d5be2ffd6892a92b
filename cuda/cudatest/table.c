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

/* Functions that return the code of a slot, whatever they are called with. */
enum { SLOTS = 8 };
static int codes[SLOTS];
#define REFUSAL(i) \
	static int refusal##i(void) { return codes[i]; }
REFUSAL(0) REFUSAL(1) REFUSAL(2) REFUSAL(3) REFUSAL(4) REFUSAL(5) REFUSAL(6) REFUSAL(7)
#undef REFUSAL

void *h5_refusal(int code) {
	static int (*const refusals[SLOTS])(void) = {refusal0, refusal1, refusal2, refusal3, refusal4, refusal5, refusal6, refusal7};
	int slot = 0;
	while (slot < SLOTS - 1 && codes[slot] && codes[slot] != code)
		slot++;
	codes[slot] = code;
	return (void *)refusals[slot];
}
