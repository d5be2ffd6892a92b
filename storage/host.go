package storage

import (
	"unsafe"

	"github.com/h5dnn/h5dnn/dtype"
)

// CPU is the host's own memory.
var CPU Device = cpu{}

type cpu struct{}

func (cpu) String() string { return "cpu" }

func (cpu) Alloc(size int) (Storage, error) {
	// uint64s, so that elements of every type are aligned.
	words := make([]uint64, (size+7)/8)
	return heap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)), nil
}

func (cpu) Upload(dst Storage, offset int, src []byte) error {
	copy(dst.(heap)[offset:], src)
	return nil
}

func (cpu) Download(dst []byte, src Storage, offset int) error {
	copy(dst, src.(heap)[offset:])
	return nil
}

func (cpu) Sync() error { return nil }

// A heap is a Storage in Go's own memory.
type heap []byte

func (h heap) Len() int       { return len(h) }
func (h heap) Device() Device { return CPU }
func (h heap) Bytes() []byte  { return h }

func hostOf[T dtype.Go](elems []T) Storage {
	var zero T
	return heap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(elems))), len(elems)*int(unsafe.Sizeof(zero))))
}
