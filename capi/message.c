#include "exports.h"

#include <stdlib.h>
#include <string.h>
#include <threads.h>

/* The last message of each thread. This is not a thread-local variable, because a library loaded
 * at run time, as by Python, has little space for those ("cannot allocate memory in static TLS
 * block"). */
static tss_t last;
static once_flag begun = ONCE_FLAG_INIT;

static void begin(void) { tss_create(&last, free); }

const char *h5dnn_message(void) {
	call_once(&begun, begin);
	const char *line = tss_get(last);
	return line ? line : "";
}

void capi_say(const char *line) {
	call_once(&begun, begin);
	free(tss_get(last));
	tss_set(last, strdup(line));
}
