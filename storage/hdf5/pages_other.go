//go:build !linux

package hdf5

// isCached reports false where the page cache cannot be asked.
func (f *File) isCached(uint64, int) bool { return false }

func readCached(uintptr, []byte, int64) bool { return false }

func dontNeed(parts [][]byte) error { return dontNeedEach(parts) }
