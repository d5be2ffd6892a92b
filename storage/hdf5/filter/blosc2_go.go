//go:build !cgo

package filter

// Blosc2Library reports whether c-blosc2 decodes Blosc2: never in programs without cgo.
func Blosc2Library() bool { return false }

func libraryChunks([]byte) (decode func(k int, dst []byte) (int, error), close func(), err error) {
	return nil, nil, nil
}
