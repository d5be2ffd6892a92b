package main

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// unknownToNumPy reports whether NumPy has no name for a type: bfloat16 and
// the floats of 8 bits.
func unknownToNumPy(t dtype.Type) bool { return t == dtype.BFloat16 || t.StorageOnly() }

// forNumPy returns a with elements of a type that NumPy has: float32, which
// holds those of the others exactly, and is what h5py reads them as.
func forNumPy(a storage.Array) storage.Array {
	if unknownToNumPy(a.Type) {
		a.Data, a.Type = widened{a}, dtype.Float32
	}
	return a
}

// A widened reads elements as float32s.
type widened struct{ from storage.Array }

func (w widened) Len() int               { return w.from.Data.Len() / w.from.Type.Size() * dtype.Float32.Size() }
func (w widened) Device() storage.Device { return w.from.Data.Device() }

func (w widened) ReadView(dst []byte, _ dtype.Type, v views.View) error {
	elems, err := packed(w.from.With(v))
	if err != nil {
		return err
	}
	return dtype.Convert(dst[:v.Len()*dtype.Float32.Size()], dtype.Float32, elems, w.from.Type)
}
