package native

// #include "loops.h"
import "C"

import (
	"fmt"
	"os"
)

func init() { SetCache(largestCache()) }

// SetCache sets the size of the cache in bytes, by default the processor's: elementwise operations on larger
// operands write their results around it. Results do not depend on it.
func SetCache(bytes int) { C.h5k_set_cache(C.int64_t(bytes)) }

// ResetCache sets the size of the cache to the processor's.
func ResetCache() { SetCache(largestCache()) }

// largestCache returns the size of the processor's last level of cache, as Linux
// tells it; sysconf(3) gives the sum of all sockets on some machines.
func largestCache() int {
	const unknown = 32 << 20
	for level := 3; level > 1; level-- {
		text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu0/cache/index%d/size", level))
		if err != nil {
			continue
		}
		var kib int
		if n, _ := fmt.Sscanf(string(text), "%dK", &kib); n == 1 && kib > 0 {
			return kib << 10
		}
	}
	return unknown
}
