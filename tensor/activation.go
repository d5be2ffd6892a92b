package tensor

import "github.com/h5dnn/h5dnn/kernels"

// An Activation is an elementwise function whose derivative is known from its
// value, so that Linear and Conv2d can apply it to their result in place.
type Activation = kernels.Activation

// The activations.
const (
	NoActivation      = kernels.NoActivation
	ReluActivation    = kernels.ReluActivation
	TanhActivation    = kernels.TanhActivation
	SigmoidActivation = kernels.SigmoidActivation
)

// Activate applies act to x.
func (x *Tensor) Activate(act Activation) *Tensor {
	switch act {
	case ReluActivation:
		return x.Relu()
	case TanhActivation:
		return x.Tanh()
	case SigmoidActivation:
		return x.Sigmoid()
	}
	return x
}

// activated is the backward half of act(z + b): from y = act(z + b) and dy, it
// returns dz and, where there is a bias, db, which adds up dz but along axis 1.
func activated(act Activation, y, dy, b *Tensor) (dz, db *Tensor) {
	if b == nil || !b.wants {
		if act == NoActivation {
			return dy, nil
		}
		return compute(kernels.ActSlope, kernels.ActSet{Act: act}, like(y), y, dy), nil
	}
	both := Compute(kernels.ActSlopeBias, kernels.ActSet{Act: act}, []Spec{like(y), like(b)}, y, dy)
	return both[0], both[1]
}
