package hdf5

import (
	"sync"

	"github.com/h5dnn/h5dnn/storage"
)

// A vector reads parts of a file into memory. Parts that follow each other in the file
// are read with one system call, wherever in memory they go.
type vector struct {
	file  *File
	fd    uintptr
	parts [][]byte
	at, n int64 // of parts: where they begin in the file, and their size

	ranges []storage.Range // of parts, anywhere in a remote file
}

// The most that one call reads. Longer calls would delay garbage collections, see
// readParts; Linux takes 1024 parts.
const (
	vectorBytes = 1 << 20
	vectorParts = 1024
)

var vectors = sync.Pool{New: func() any { return new(vector) }}

// newVector returns a vector that reads f. It is to be released.
func newVector(f *File, fd uintptr) *vector {
	v := vectors.Get().(*vector)
	v.file, v.fd = f, fd
	return v
}

func (v *vector) release() {
	v.clear()
	v.file = nil
	vectors.Put(v)
}

func (v *vector) clear() {
	clear(v.parts)
	v.parts, v.ranges, v.n = v.parts[:0], v.ranges[:0], 0
}

// add has b filled with the bytes at an address, now or by read.
func (v *vector) add(b []byte, address uint64) error {
	at, err := v.file.span(address, len(b))
	if err != nil {
		return err
	}
	if v.file.remote != nil {
		return v.addRange(b, at)
	}
	if len(v.parts) > 0 && (at != v.at+v.n || len(v.parts) == vectorParts || v.n+int64(len(b)) > vectorBytes) {
		if err := v.read(); err != nil {
			return err
		}
	}
	if len(v.parts) == 0 {
		v.at = at
	}
	v.parts = append(v.parts, b)
	v.n += int64(len(b))
	return nil
}

// read fills what was added: what is in the page cache without waiting, the rest from the
// disk, or from wherever the file is.
func (v *vector) read() error {
	defer v.clear()
	if v.file.remote != nil {
		return v.readRemote()
	}
	rest := v.parts
	if v.fd != noDescriptor && v.n > 0 && v.n <= vectorBytes {
		for _, wait := range []bool{false, true} {
			n := readParts(v.fd, rest, v.at, wait)
			rest = v.skip(rest, n)
		}
	}
	for _, b := range rest {
		if err := v.file.pread(b, v.at); err != nil {
			return err
		}
		v.at += int64(len(b))
	}
	return nil
}

// skip returns what is left of parts after n bytes of them were read.
func (v *vector) skip(parts [][]byte, n int) [][]byte {
	v.at += int64(n)
	for len(parts) > 0 && n >= len(parts[0]) {
		n -= len(parts[0])
		parts = parts[1:]
	}
	if n > 0 {
		parts[0] = parts[0][n:]
	}
	return parts
}

// addRange is add for a remote file, where all parts are requested at the same time.
func (v *vector) addRange(b []byte, at int64) error {
	v.parts, v.ranges = append(v.parts, b), append(v.ranges, storage.Range{At: at, Len: int64(len(b))})
	if v.n += int64(len(b)); v.n >= prefetchedBytes {
		return v.read()
	}
	return nil
}

func (v *vector) readRemote() error {
	v.file.remote.Prefetch(v.ranges)
	for k, b := range v.parts {
		if err := v.file.pread(b, v.ranges[k].At); err != nil {
			return err
		}
	}
	return nil
}
