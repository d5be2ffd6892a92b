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
	if unknownToNumPy(a.Type) {
		a.Data, a.Type = widened{a}, dtype.Float32
	}
	return a
}

// A widened is a Source of elements converted to float32.
type widened struct{ from storage.Array }

func (w widened) Len() int               { return w.from.Data.Len() / w.from.Type.Size() * dtype.Float32.Size() }
func (w widened) Device() storage.Device { return w.from.Data.Device() }

func (w widened) ReadView(dst []byte, _ dtype.Type, v views.View) error {
	elems, err := blocks.Read(w.from.With(v))
	if err != nil {
		return err
	}
	return dtype.Convert(dst[:v.Len()*dtype.Float32.Size()], dtype.Float32, elems, w.from.Type)
}
