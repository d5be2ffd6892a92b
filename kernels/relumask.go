package kernels

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A ReLUMask holds a bit for each element of the result of a product and a ReLU: whether it is positive.
// Linear writes it and LinearGradX reads it where a GPU's library computes them. The order of the bits is the library's.
type ReLUMask struct {
	Bits    storage.Array // bytes, as ReLUMaskView describes
	Written bool          // by Linear; false if the library did not compute the product
}

// ReLUMaskView describes the bytes of the mask of a (N, C) result of type t, and reports whether Linear may write them on d.
func ReLUMaskView(d storage.Device, t dtype.Type, result views.View) (bytes views.View, ok bool) {
	library, ok := d.(launch.Multiplier)
	if !ok || result.Len() == 0 || !library.WritesMasks(t) {
		return views.View{}, false
	}
	return views.Of(result.Shape[0], launch.MaskBytes(result.Shape[1])), true
}

// check returns an error unless m is nil or has room for the mask of result on c's device.
func (m *ReLUMask) check(c *Call, result *storage.Array) error {
	if m == nil {
		return nil
	}
	if err := c.usable(&m.Bits); err != nil {
		return fmt.Errorf("mask: %w", err)
	}
	if want := []int{result.Shape[0], launch.MaskBytes(result.Shape[1])}; m.Bits.Type != dtype.Uint8 || !slices.Equal(m.Bits.Shape, want) || !m.Bits.Contiguous() {
		return fmt.Errorf("mask is %v; want contiguous uint8 %v: %w", m.Bits, want, views.ErrShape)
	}
	return nil
}
