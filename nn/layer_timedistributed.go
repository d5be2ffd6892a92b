package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// TimeDistributedOptions are the settings of a TimeDistributed.
type TimeDistributedOptions struct {
	Layer Submodule `json:"layer"` // required
}

// TimeDistributed applies a layer to each step of x (N, steps, …), as to samples of a batch.
type TimeDistributed struct{ TimeDistributedOptions }

// NewTimeDistributed returns a TimeDistributed. Layer is required.
func NewTimeDistributed(o TimeDistributedOptions) *TimeDistributed {
	if o.Layer.Module == nil {
		tensor.Fail("time_distributed", ErrConfig, "no layer")
	}
	return &TimeDistributed{o}
}

// Forward returns the layer's output for each step: (N, steps, …).
func (d *TimeDistributed) Forward(x *tensor.Tensor) *tensor.Tensor {
	switch {
	case d.Layer.Module == nil:
		tensor.Fail("time_distributed", storage.ErrState, "no layer; make it by NewTimeDistributed")
	case x.Rank() < 3:
		tensor.Fail("time_distributed", views.ErrShape, "input %v; want (samples, steps, …)", x.Shape())
	}
	steps := x.Shape()[:2]
	samples := x.Contiguous().Reshape(append([]int{steps[0] * steps[1]}, x.Shape()[2:]...)...)
	var y *tensor.Tensor
	if _, composite := d.Layer.Module.(MultiModule); composite {
		y = call("layer", d.Layer.Module, samples)
	} else { // a summary has one row of both
		y = d.Layer.Forward(samples)
	}
	return y.Contiguous().Reshape(slices.Concat(steps, y.Shape()[1:])...)
}

var _ = RegisterLayer("time_distributed", NewTimeDistributed, TimeDistributedOptions{})
