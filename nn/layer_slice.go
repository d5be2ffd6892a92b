package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// SliceOptions are the settings of a Slice.
type SliceOptions struct {
	Start int  `json:"start"`          // first index, counted from the end if negative
	Stop  *int `json:"stop,omitempty"` // index behind the last, counted from the end if negative; the size of the axis if nil
	Step  int  `json:"step,omitempty"` // at least 1; 1 if 0
	Axis  int  `json:"axis,omitempty"` // 1 if 0
}

// Slice takes a range of indices of an axis, as x[:, start:stop:step] does in Python.
type Slice struct{ SliceOptions }

var sliceDefaults = SliceOptions{Step: 1, Axis: 1}

// NewSlice returns a Slice.
func NewSlice(o SliceOptions) Slice { return newSlice(withDefaults(o, sliceDefaults)) }

func newSlice(o SliceOptions) Slice {
	if o.Axis == 0 {
		tensor.Fail("slice", ErrConfig, "axis 0 has the samples; want another")
	}
	if o.Step < 1 {
		tensor.Fail("slice", ErrConfig, "step %d; want at least 1", o.Step)
	}
	return Slice{o}
}

// Forward returns the range of x.
func (s Slice) Forward(x *tensor.Tensor) *tensor.Tensor {
	o := withDefaults(s.SliceOptions, sliceDefaults)
	if o.Axis >= x.Rank() || o.Axis < -x.Rank() {
		tensor.Fail("slice", views.ErrShape, "axis %d of %v", o.Axis, x.Shape())
	}
	axis := (o.Axis + x.Rank()) % x.Rank()
	n := x.Shape()[axis]
	within := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	start, stop := within(o.Start), n
	if o.Stop != nil {
		stop = within(*o.Stop)
	}
	if axis == 0 || start >= stop {
		tensor.Fail("slice", views.ErrShape, "indices from %d to %d of axis %d of %v; want some, along an axis behind the samples", start, stop, axis, x.Shape())
	}
	return x.Slice(axis, start, stop, o.Step)
}

var _ = RegisterLayer("slice", newSlice, sliceDefaults)
