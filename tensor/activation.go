package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
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

// withActivation computes op on in, with act applied to its result. If the gradient of the
// activation follows from its operand, and may be asked for, the operand is the second
// result of the operation.
func withActivation(op func(e epilogue) Op, act Activation, in []*Tensor) *Tensor {
	e := epilogue{act: act}
	if act != NoActivation && activations[act] == nil {
		fail(op(e).Name(), ErrState, "there is no activation %d", int(act))
	}
	e.stores = act.OfInput() && modeOf(act.String(), nil, nil, in).records()
	return ApplyAll(op(e), in...)[0]
}

// results returns the specifications of the results of an operation with the epilogue e: its
// own, and if e stores z, that of z.
func (e epilogue) results(t dtype.Type, v views.View) []Spec {
	specs := one(t, v)
	if e.stores {
		specs = append(specs, Spec{Type: t, View: views.Like(v)})
	}
	return specs
}

// grad returns dz for results out = e(z), z, of which the second may be missing, and their gradients; and,
// where there is a bias, its gradient db: dz summed over all axes but axis 1.
func (e epilogue) grad(out, grads []*Tensor, bias *Tensor) (dz, db *Tensor) {
	if y, dy := out[0], grads[0]; dy != nil {
		dz, db = e.gradOfAct(e.operandOf(y, out), dy, bias)
	}
	more := optional(grads, 1)
	if more == nil {
		return dz, db
	}
	if dz == nil {
		dz = more
	} else {
		dz = dz.Add(more)
	}
	if bias != nil && bias.requiresGrad {
		db = dz.Sum(without(1, dz.Rank())...)
	}
	return dz, db
}

// operandOf returns the value from which the gradient of the activation follows: z, or y.
func (e epilogue) operandOf(y *Tensor, out []*Tensor) *Tensor {
	if e.operand != nil {
		return e.operand
	}
	if e.stores {
		return out[1]
	}
	return y
}

// gradOfAct is grad of the first result, from y, or z if the activation is OfInput.
func (e epilogue) gradOfAct(y, dy, bias *Tensor) (dz, db *Tensor) {
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
	spec := Spec{Type: y.DType(), View: views.Of(y.Shape()[1])}
	both := RunKernel(kernels.ActGradBias, kernels.ActOptions{Act: e.act, Dropped: e.drop}, []Spec{like(y), spec}, y, dy)
	return both[0], both[1]
}

// gradOfValue returns dy·act'(z), from y = act(z), or z if the activation is OfInput, by
// operations that can be recorded.
func (e epilogue) gradOfValue(y, dy *Tensor) *Tensor {
	switch e.act {
	case ReLUActivation:
		zero := y.constant(0)
		return Where(y.Gt(zero), dy, dy.constant(0))
	case TanhActivation:
		return dy.Mul(y.Mul(y).Neg().AddScalar(1))
	case SigmoidActivation:
		return dy.Mul(y).Mul(y.Neg().AddScalar(1))
	case GELUActivation:
		return geluGrad(y, nil, dy)
	case GELUTanhActivation:
		return geluTanhGrad(y, nil, dy)
	case SiLUActivation:
		return siluGrad(y, nil, dy)
	}
	return dy
}

// without returns the axes of a tensor of the given rank but one.
func without(axis, rank int) []int {
	axes := make([]int, 0, rank)
	for i := range rank {
		if i != axis {
			axes = append(axes, i)
		}
	}
	return axes
}
