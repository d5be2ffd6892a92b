package tensor

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
)

// Meta is a device whose tensors have a type, a shape and a layout, but no elements.
// Operations on them check their operands and describe their results, and compute
// nothing: a model can be built, summarised and refused before any data is read.
// Operands on other devices may be mixed with meta tensors; results are meta.
var Meta kernels.Runner = meta{}

// NewMeta returns a meta tensor.
func NewMeta(t dtype.Type, shape ...int) *Tensor {
	a, err := storage.Make(Meta, t, shape...)
	check("meta", err)
	return FromArray(a)
}

// IsMeta reports whether x has no elements to compute with.
func (x *Tensor) IsMeta() bool { return x.Device() == Meta }

type meta struct{}

func (meta) String() string                           { return "meta" }
func (meta) Alloc(size int) (storage.Storage, error)  { return &metaStorage{size}, nil }
func (meta) Run(*kernels.Kernel, *kernels.Call) error { return nil }
func (meta) Sync() error                              { return nil }

func (meta) Upload(storage.Storage, int, []byte) error { return errMeta("write to") }

func (meta) Download([]byte, storage.Storage, int) error { return errMeta("read") }

func errMeta(act string) error {
	return fmt.Errorf("%s meta: its tensors have no elements: %w", act, storage.ErrDevice)
}

// metaStorage is the storage of a meta tensor.
type metaStorage struct{ size int }

func (s *metaStorage) Len() int               { return s.size }
func (s *metaStorage) Device() storage.Device { return Meta }
