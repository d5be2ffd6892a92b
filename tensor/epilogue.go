package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/views"
)

// An Activation is an elementwise function whose derivative is known from its
// value, so that Linear and Conv2d can apply it to their result in place.
type Activation = kernels.Activation

// The activations.
const (
	NoActivation      = kernels.NoActivation
	ReLUActivation    = kernels.ReluActivation
	TanhActivation    = kernels.TanhActivation
	SigmoidActivation = kernels.SigmoidActivation
)

// Activate applies act to x.
func (x *Tensor) Activate(act Activation) *Tensor {
	switch act {
	case ReLUActivation:
		return x.ReLU()
	case TanhActivation:
		return x.Tanh()
	case SigmoidActivation:
		return x.Sigmoid()
	}
	return x
}

// An epilogue is applied to the result z of an operation: act(z + b),
// and of a relu perhaps a dropout.
type epilogue struct {
	act             Activation
	dropProbability float64 // with which probability; 0 if it is not dropped out
}

// back is the backward half: from the result y and dy, it returns dz and, where there
// is a bias, db, which adds up dz but along axis 1.
func (f epilogue) grad(y, dy, b *Tensor) (dz, db *Tensor) {
	asked := b != nil && b.requiresGrad
	switch {
	case f.act == NoActivation && asked:
		return dy, dy.Sum(without(1, dy.Rank())...)
	case f.act == NoActivation:
		return dy, nil
	case !asked && f.dropProbability == 0:
		return runKernel(kernels.ActSlope, kernels.ActSet{Act: f.act}, like(y), y, dy), nil
	}
	spec := Spec{y.Type, views.Of(y.Shape[1])}
	both := RunKernel(kernels.ActSlopeBias, kernels.ActSet{Act: f.act, Dropped: f.dropProbability}, []Spec{like(y), spec}, y, dy)
	return both[0], both[1]
}

// canDropout reports whether a dropout can be part of the epilogue: after a relu, as
// its result tells which elements have a gradient.
func (f epilogue) canDropout() bool { return f.act == ReLUActivation && f.dropProbability == 0 }

// without returns all of so many axes but one.
func without(axis, rank int) []int {
	axes := make([]int, 0, rank)
	for i := range rank {
		if i != axis {
			axes = append(axes, i)
		}
	}
	return axes
}
