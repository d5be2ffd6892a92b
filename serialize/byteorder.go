package serialize

import (
	"encoding/binary"
	"io"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Normalize returns a Source of elements in the byte order of the machine, whose bools
// are 0 or 1, for elements of type t that data stores in the given order. It returns data
// itself if there is nothing to change.
func Normalize(data storage.Source, t dtype.Type, order binary.ByteOrder) storage.Source {
	if !isSwapped(t, order) && t != dtype.Bool {
		return data
	}
	return &normalized{data, order}
}

// NormalizeBytes converts elements of type t in place, from the given byte order to that of
// the machine, and bools to 0 or 1.
func NormalizeBytes(b []byte, t dtype.Type, order binary.ByteOrder) {
	if isSwapped(t, order) {
		storage.ReverseBytes(b, b, t.Align()) // a complex number is two
	}
	if t == dtype.Bool {
		for i, x := range b {
			b[i] = min(x, 1)
		}
	}
}

// isSwapped reports whether elements in the given order have not that of the machine.
func isSwapped(t dtype.Type, order binary.ByteOrder) bool {
	return t.Align() > 1 && order.Uint16([]byte{0, 1}) != binary.NativeEndian.Uint16([]byte{0, 1})
}

type normalized struct {
	storage.Source
	order binary.ByteOrder
}

func (s *normalized) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := s.Source.ReadView(dst, t, v); err != nil {
		return err
	}
	NormalizeBytes(dst[:v.Len()*t.Size()], t, s.order)
	return nil
}

// WriteLittleEndian writes the elements of a to w in row-major order, little-endian on any
// machine.
func WriteLittleEndian(w io.Writer, a storage.Array) error {
	if isSwapped(a.Type, binary.LittleEndian) {
		a.Data = &normalized{AsSource(a.Data), binary.LittleEndian}
	}
	_, err := a.WriteTo(w)
	return err
}

// AsSource returns data as a Source, whose elements are copied when they are read.
func AsSource(data storage.Storage) storage.Source {
	if source, ok := data.(storage.Source); ok {
		return source
	}
	return storageSource{data}
}

// A storageSource reads a storage as a Source.
type storageSource struct{ storage.Storage }

// Device is not that of the storage, which may be host memory: a Source has no bytes to use.
func (r storageSource) Device() storage.Device { return storage.File(r.Storage.Device().String()) }

func (r storageSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	from := storage.Array{Data: r.Storage, Type: t, View: v}
	return from.CopyTo(storage.Array{Data: storage.Wrap(dst), Type: t, View: views.Of(v.Shape...)})
}
