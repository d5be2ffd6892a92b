package nn

import (
	"sync"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// constants are arrays that follow from the settings of a layer, such as the sines of positions. They are made once for each
// device, because a captured step cannot upload, and are neither trained nor saved.
type constants struct{ made sync.Map }

// on returns the constant called key, made by make on the CPU, on the device of x.
func (c *constants) on(x *tensor.Tensor, key any, make func() *tensor.Tensor) *tensor.Tensor {
	type place struct{ device, key any }
	at := place{x.Device(), key}
	if a, ok := c.made.Load(at); ok {
		return tensor.FromArray(a.(storage.Array))
	}
	a := make().Array()
	var err error
	if x.IsMeta() {
		a, err = storage.Make(tensor.Meta, a.Type, a.Shape...)
	} else {
		a, err = a.To(x.Device())
	}
	if err != nil {
		tensor.Fail("constant", err, "%v", err)
	}
	c.made.Store(at, a)
	return tensor.FromArray(a)
}
