package npy

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// array returns the array that h describes over data, which starts where the
// header ends.
func (h header) array(data storage.Source) (storage.Array, error) {
	if need := h.view.Len() * h.typ.Size(); need > data.Len() {
		return storage.Array{}, fmt.Errorf("%v%v takes %d bytes, but there are %d: %w", h.typ, h.view.Shape, need, data.Len(), storage.ErrState)
	}
	if h.swapped && h.typ.Size() > 1 || h.typ == dtype.Bool {
		data = &foreignSource{data, h.swapped}
	}
	return storage.Array{Data: data, Type: h.typ, View: h.view}, nil
}

// A foreignSource makes what another holds fit for this machine: its byte
// order, and bools that are 0 or 1.
type foreignSource struct {
	storage.Source
	swapped bool
}

func (s *foreignSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := s.Source.ReadView(dst, t, v); err != nil {
		return err
	}
	dst = dst[:v.Len()*t.Size()]
	if s.swapped {
		swap(dst, t)
	}
	if t == dtype.Bool {
		for i, x := range dst {
			dst[i] = min(x, 1)
		}
	}
	return nil
}

// swap reverses the bytes of every number; a complex one is two.
func swap(b []byte, t dtype.Type) {
	switch t.Align() {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.BigEndian.PutUint16(b, binary.LittleEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.BigEndian.PutUint32(b, binary.LittleEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.BigEndian.PutUint64(b, binary.LittleEndian.Uint64(b))
		}
	}
}
