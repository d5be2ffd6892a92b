package nn

import "github.com/h5dnn/h5dnn/tensor"

// PadOptions are the settings of a Pad.
type PadOptions struct {
	Before Sizes   `json:"before"`          // at the beginning of each spatial axis; required
	After  Sizes   `json:"after"`           // at the end; Before if nil
	Mode   string  `json:"mode"`            // constant, reflect, replicate or circular, as PyTorch's pad; constant if empty
	Value  float64 `json:"value,omitempty"` // of the added elements, in mode constant
}

// Pad adds elements at the ends of the spatial axes of x (N, C, …): a constant, x mirrored at its outermost elements,
// those repeated, or x as if it had no end.
type Pad struct{ PadOptions }

// padModes are the modes of Pad but constant.
var padModes = map[string]func(x *tensor.Tensor, sizes ...int) *tensor.Tensor{
	"reflect": (*tensor.Tensor).PadReflect, "replicate": (*tensor.Tensor).PadEdge, "circular": (*tensor.Tensor).PadWrap,
}

var padDefaults = PadOptions{Mode: "constant"}

// NewPad returns a Pad. Before is required.
func NewPad(o PadOptions) Pad {
	o = withDefaults(o, padDefaults)
	o.After = EdgeOptions{o.Before, o.After}.checked("pad").After
	switch _, known := padModes[o.Mode]; {
	case !known && o.Mode != "constant":
		tensor.Fail("pad", ErrConfig, "mode %q; want constant, reflect, replicate or circular", o.Mode)
	case known && o.Value != 0:
		tensor.Fail("pad", ErrConfig, "value %v; mode %s has none", o.Value, o.Mode)
	}
	return Pad{o}
}

// Forward returns x with elements around it.
func (p Pad) Forward(x *tensor.Tensor) *tensor.Tensor {
	p = NewPad(p.PadOptions)
	checkSizes("pad", "before", x, p.Before)
	sizes := EdgeOptions{p.Before, p.After}.sizes()
	if pad := padModes[p.Mode]; pad != nil {
		return pad(x, sizes...)
	}
	return x.PadConstant(p.Value, sizes...)
}

// InputSpec returns the number of spatial axes.
func (o PadOptions) InputSpec() InputSpec { return InputSpec{Spatial: len(o.Before)} }

var _ = RegisterLayer("pad", NewPad, padDefaults)
