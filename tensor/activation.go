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

// A finish is what an operation does to z = …, its result but for that: act(z + b),
// and of a relu perhaps a dropout.
type finish struct {
	act     Activation
	dropped float64 // with which probability; 0 if it is not dropped out
}

// back is the backward half: from the result y and dy, it returns dz and, where there
// is a bias, db, which adds up dz but along axis 1.
func (f finish) back(y, dy, b *Tensor) (dz, db *Tensor) {
	asked := b != nil && b.wants
	switch {
	case f.act == NoActivation && asked:
		return dy, dy.Sum(without(1, dy.Rank())...)
	case f.act == NoActivation:
		return dy, nil
	case !asked && f.dropped == 0:
		return compute(kernels.ActSlope, kernels.ActSet{Act: f.act}, like(y), y, dy), nil
	}
	spec := Spec{y.Type, views.Of(y.Shape[1])}
	both := Compute(kernels.ActSlopeBias, kernels.ActSet{Act: f.act, Dropped: f.dropped}, []Spec{like(y), spec}, y, dy)
	return both[0], both[1]
}

// drops reports whether a dropout can be part of the finish: of what a relu gave, as
// its result tells which elements have a slope.
func (f finish) drops() bool { return f.act == ReluActivation && f.dropped == 0 }

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
