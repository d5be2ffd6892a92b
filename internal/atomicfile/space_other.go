//go:build !linux && !darwin

package atomicfile

// FreeSpace does not know.
func FreeSpace(string) (n int64, known bool) { return 0, false }
