package nn

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// MaskingOptions are the settings of a Masking.
type MaskingOptions struct {
	MaskValue float64 `json:"mask_value"` // of all features of a step that does not count
}

// Masking has two outputs: x (N, steps, features) with zeros in the steps that do not count, and a mask (N, steps) that is 1 in the others,
// for a recurrent layer with masked: true. Of integers (N, steps), the steps that do not count are equal to MaskValue.
type Masking struct{ MaskingOptions }

// NewMasking returns a Masking.
func NewMasking(o MaskingOptions) Masking { return Masking{o} }

// Forward fails: there are two outputs.
func (m Masking) Forward(x *tensor.Tensor) *tensor.Tensor { return ForwardOne(m, x) }

// ForwardAll returns x without the steps that do not count, and the mask.
func (m Masking) ForwardAll(inputs []*tensor.Tensor) []*tensor.Tensor {
	x := single("masking", inputs)
	if x.Rank() < 2 {
		tensor.Fail("masking", views.ErrShape, "input %v; want (samples, steps, features)", x.Shape())
	}
	given, t := x.Detach(), x.DType()
	if !t.IsFloat() {
		given, t = given.Cast(dtype.Float64), dtype.Float32
	}
	differs := given.NeScalar(m.MaskValue) // rounded to the type of floats
	if x.Rank() == 2 {
		mask := differs.Cast(t)
		return []*tensor.Tensor{x, mask}
	}
	counts := differs.Cast(t).Max(-1, tensor.KeepDims)
	return []*tensor.Tensor{tensor.Where(counts.NeScalar(0), x, tensor.ZerosLike(x)), counts.Reshape(counts.Shape()[:x.Rank()-1]...)}
}

var _ = RegisterLayer("masking", NewMasking, MaskingOptions{})
