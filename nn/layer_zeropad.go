package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// EdgeOptions are the settings of ZeroPad and Crop.
type EdgeOptions struct {
	Before Sizes `json:"before"` // at the beginning of each spatial axis; required
	After  Sizes `json:"after"`  // at the end; Before if nil
}

// ZeroPad adds zeros at the ends of the spatial axes of x (N, C, …).
type ZeroPad struct{ EdgeOptions }

// Crop removes elements at the ends of the spatial axes of x (N, C, …).
type Crop struct{ EdgeOptions }

// NewZeroPad returns a ZeroPad. Before is required.
func NewZeroPad(o EdgeOptions) ZeroPad { return ZeroPad{o.checked("zeropad")} }

// NewCrop returns a Crop. Before is required.
func NewCrop(o EdgeOptions) Crop { return Crop{o.checked("crop")} }

func (o EdgeOptions) checked(layer string) EdgeOptions {
	if o.After == nil {
		o.After = o.Before
	}
	if len(o.Before) == 0 || len(o.Before) > 3 || len(o.After) != len(o.Before) {
		tensor.Fail(layer, views.ErrShape, "before %v and after %v; want a number for each spatial axis in both", o.Before, o.After)
	}
	for i := range o.Before {
		if o.Before[i] < 0 || o.After[i] < 0 {
			tensor.Fail(layer, views.ErrShape, "before %v and after %v; want at least 0", o.Before, o.After)
		}
	}
	return o
}

// Forward returns x with zeros around it.
func (z ZeroPad) Forward(x *tensor.Tensor) *tensor.Tensor {
	z = NewZeroPad(z.EdgeOptions)
	checkSizes("zeropad", "before", x, z.Before)
	return x.PadConstant(0, z.sizes()...)
}

// sizes returns the sizes as package tensor takes them, from the last axis on.
func (o EdgeOptions) sizes() (sizes []int) {
	for i := len(o.Before) - 1; i >= 0; i-- {
		sizes = append(sizes, o.Before[i], o.After[i])
	}
	return sizes
}

// Forward returns x without its edges.
func (c Crop) Forward(x *tensor.Tensor) *tensor.Tensor {
	c = NewCrop(c.EdgeOptions)
	checkSizes("crop", "before", x, c.Before)
	for i := range c.Before {
		axis := i + 2
		if c.Before[i]+c.After[i] >= x.Shape()[axis] {
			tensor.Fail("crop", views.ErrShape, "input %v without %v and %v elements; nothing is left of axis %d", x.Shape(), c.Before, c.After, axis)
		}
		x = x.Slice(axis, c.Before[i], x.Shape()[axis]-c.After[i], 1)
	}
	return x
}

// InputSpec returns the number of spatial axes.
func (o EdgeOptions) InputSpec() InputSpec { return InputSpec{Spatial: len(o.Before)} }

var (
	_ = RegisterLayer("zeropad", NewZeroPad, EdgeOptions{})
	_ = RegisterLayer("crop", NewCrop, EdgeOptions{})
)
