package storage

import (
	"fmt"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/views"
)

// To copies the elements a selects, and only those, to d, laid out row-major.
// An array already there and row-major is returned as it is.
func (a Array) To(d Device) (Array, error) {
	if a.Data.Device() == d && a.Contiguous() {
		return a, nil
	}
	bytes, err := a.pack()
	if err != nil {
		return Array{}, fmt.Errorf("%v: %w", a, err)
	}
	moved, err := Make(d, a.Type, a.Shape...)
	if err != nil {
		return Array{}, fmt.Errorf("%v: %w", a, err)
	}
	return moved, d.Upload(moved.Data, 0, bytes)
}

// pack returns a's elements in row-major order.
func (a Array) pack() ([]byte, error) {
	dst := make([]byte, a.Len()*a.Type.Size())
	switch data := a.Data.(type) {
	case Source:
		return dst, data.ReadView(dst, a.Type, a.View)
	case Host:
		Gather(dst, data.Bytes(), a.Type, a.View)
		return dst, nil
	default: // a device: fetch the stretch the view spans, then pick
		lo, hi := a.Bounds()
		size := a.Type.Size()
		span := make([]byte, (hi-lo+1)*size)
		if err := a.Data.Device().Download(span, a.Data, lo*size); err != nil {
			return nil, err
		}
		v := a.View
		v.Offset -= lo
		Gather(dst, span, a.Type, v)
		return dst, nil
	}
}

// Gather copies the elements of src that v selects to dst, in row-major order.
func Gather(dst, src []byte, t dtype.Type, v views.View) {
	size := t.Size()
	views.Walk(func(at, step []int, n int) {
		if step[0] == 1 && step[1] == 1 {
			copy(dst[at[0]*size:(at[0]+n)*size], src[at[1]*size:])
			return
		}
		for k := range n {
			to, from := (at[0]+k*step[0])*size, (at[1]+k*step[1])*size
			copy(dst[to:to+size], src[from:from+size])
		}
	}, views.Of(v.Shape...), v)
}
