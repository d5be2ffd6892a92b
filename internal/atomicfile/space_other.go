//go:build !linux && !darwin

package atomicfile

// freeSpace does not know.
func freeSpace(string) (n int64, known bool) { return 0, false }
