package blocks

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Derive returns an array of the shape of a and of type t whose elements are computed from
// those of a when they are read: read writes the elements for a.With(v) to dst, which has
// the size of them. Chunks are those of a.
func Derive(a storage.Array, t dtype.Type, read func(dst []byte, v views.View) error) storage.Array {
	d := derived{a, t, read}
	if chunks, ok := a.Data.(storage.Chunked); ok {
		return storage.Array{Data: &derivedChunks{d, chunks}, Type: t, View: a.View}
	}
	return storage.Array{Data: &d, Type: t, View: a.View}
}

type derived struct {
	from storage.Array
	typ  dtype.Type
	read func(dst []byte, v views.View) error
}

func (d *derived) Len() int               { return d.from.Data.Len() / d.from.Type.Size() * d.typ.Size() }
func (d *derived) Device() storage.Device { return d.from.Data.Device() }

func (d *derived) ReadView(dst []byte, t dtype.Type, v views.View) error {
	n := v.Len() * d.typ.Size()
	switch {
	case t != d.typ:
		return fmt.Errorf("read as %v, is %v: %w", t, d.typ, dtype.ErrType)
	case !v.Within(d.Len()/d.typ.Size()) || len(dst) < n:
		return fmt.Errorf("view of %v of %v: %w", v.Shape, d.from.Shape, views.ErrShape)
	}
	return d.read(dst[:n], v)
}

// derivedChunks is derived from elements in chunks.
type derivedChunks struct {
	derived
	chunks storage.Chunked
}

func (d *derivedChunks) Shape() []int      { return d.chunks.Shape() }
func (d *derivedChunks) ChunkShape() []int { return d.chunks.ChunkShape() }
