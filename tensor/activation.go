package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/views"
)

// An Activation is an elementwise function that Linear, the convolutions and BatchNorm
// apply to their results in the same kernel.
type Activation = kernels.Activation

// The activations.
const (
	NoActivation       = kernels.NoActivation
	ReLUActivation     = kernels.ReLUActivation
	TanhActivation     = kernels.TanhActivation
	SigmoidActivation  = kernels.SigmoidActivation
	GELUActivation     = kernels.GELUActivation
	GELUTanhActivation = kernels.GELUTanhActivation
	SiLUActivation     = kernels.SiLUActivation
)

// activations are the functions that apply them.
var activations = map[Activation]func(x *Tensor) *Tensor{
	ReLUActivation: (*Tensor).ReLU, TanhActivation: (*Tensor).Tanh, SigmoidActivation: (*Tensor).Sigmoid,
	GELUActivation: (*Tensor).GELU, GELUTanhActivation: (*Tensor).GELUTanh, SiLUActivation: (*Tensor).SiLU,
}

// withActivation computes op(act) on in. If the gradient of the activation follows from
// its operand, and may be asked for, the operand is kept: the activation is a recorded
// operation of its own, whose gradient the backward pass fuses with that of op.
func withActivation(op func(act Activation) Op, act Activation, in []*Tensor) *Tensor {
	if act != NoActivation && activations[act] == nil {
		fail(op(act).Name(), ErrState, "there is no activation %d", int(act))
	}
	if act.OfInput() && modeOf(act.String(), nil, nil, in).records() {
		return activations[act](Apply(op(NoActivation), in...))
	}
	return Apply(op(act), in...)
}

// grad returns dz for y = e(z), from e.operand if the activation needs that, and, where there is a bias, its gradient db: dz summed
// over all axes but axis 1.
func (e epilogue) grad(y, dy, bias *Tensor) (dz, db *Tensor) {
	if e.operand != nil {
		y = e.operand
	}
	needsBias := bias != nil && bias.requiresGrad
	if e.drop == 0 && (e.act == NoActivation || !dy.noGrad) {
		dz = e.gradOfValue(y, dy)
		if needsBias {
			db = dz.Sum(without(1, dz.Rank())...)
		}
		return dz, db
	}
	if !needsBias && e.drop == 0 {
		return runKernel(kernels.ActGrad, kernels.ActOptions{Act: e.act}, like(y), y, dy), nil
	}
	spec := Spec{Type: y.Type, View: views.Of(y.Shape[1])}
	both := RunKernel(kernels.ActGradBias, kernels.ActOptions{Act: e.act, Dropped: e.drop}, []Spec{like(y), spec}, y, dy)
	return both[0], both[1]
}

// gradOfValue returns dy·act'(z), which follows from y = act(z), by operations that
// can be recorded.
func (e epilogue) gradOfValue(y, dy *Tensor) *Tensor {
	switch e.act {
	case ReLUActivation:
		zero := y.constant(0)
		return Where(y.Greater(zero), dy, dy.constant(0))
	case TanhActivation:
		return dy.Mul(y.Mul(y).Neg().AddScalar(1))
	case SigmoidActivation:
		return dy.Mul(y).Mul(y.Neg().AddScalar(1))
	}
	return dy
}

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
