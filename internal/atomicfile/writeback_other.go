//go:build !linux

package atomicfile

import "os"

// startWriteback does nothing: other systems have no call that starts writing without
// waiting for it.
func startWriteback(*os.File) {}
