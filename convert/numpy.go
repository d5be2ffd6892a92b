package convert

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// unknownToNumPy reports whether NumPy lacks a type: bfloat16 and 8-bit floats.
func unknownToNumPy(t dtype.Type) bool { return t == dtype.BFloat16 || t.StorageOnly() }

// ForNumPy returns a, converted to float32 if NumPy lacks its type. The conversion is
// exact.
func ForNumPy(a storage.Array) storage.Array {
	if !unknownToNumPy(a.Type) {
		return a
	}
	return blocks.Derive(a, dtype.Float32, func(dst []byte, v views.View) error {
		elems, err := blocks.Read(a.With(v))
		if err != nil {
			return err
		}
		return dtype.Convert(dst, dtype.Float32, elems, a.Type)
	})
}
