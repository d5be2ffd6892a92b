package main

import "runtime/debug"

// garbagePercent is GOGC while arrays are written: blocks of many MiB that were read and
// computed are garbage soon, of which the default allows as much as there is in use.
const garbagePercent = 5

// withLittleGarbage calls write while the garbage collector keeps memory small.
func withLittleGarbage(write func() error) error {
	defer debug.SetGCPercent(debug.SetGCPercent(garbagePercent))
	return write()
}
