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
		a.Data, a.Type = asFloat32{a}, dtype.Float32
	}
	return a
}

// asFloat32 is a Source of elements converted to float32.
type asFloat32 struct{ from storage.Array }

func (w asFloat32) Len() int               { return w.from.Data.Len() / w.from.Type.Size() * dtype.Float32.Size() }
func (w asFloat32) Device() storage.Device { return w.from.Data.Device() }

func (w asFloat32) ReadView(dst []byte, _ dtype.Type, v views.View) error {
	elems, err := blocks.Read(w.from.With(v))
	if err != nil {
		return err
	}
	return dtype.Convert(dst[:v.Len()*dtype.Float32.Size()], dtype.Float32, elems, w.from.Type)
}
