package nn

import (
	"iter"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// A composite is an optimizer of tensor operations, for rules with norms of whole parameters, or with buffers of other
// shapes than the parameters'. Optimizers embed it.
type composite struct {
	OptimizerState
	rate, decay *float64 // of the settings
	// hyper returns the numbers that change from step to step, the learning rate first. Steps count from 1.
	hyper func(step int, rate float64) []float64
	// update updates a parameter.
	update func(u tensor.Update, s *stepNumbers)
}

// stepNumbers are the numbers of a step for the parameters of a group. Tensors are on the parameters' device, so that a
// captured step reads them when it runs.
type stepNumbers struct {
	hyper    []*tensor.Tensor // float64, without axes
	decay    float64
	unscale  *tensor.Tensor // factor of the gradients; nil without a loss scaler, like foundInf and skipped
	foundInf *tensor.Tensor // bool: the step is skipped
	skipped  *tensor.Tensor // float64: number of steps skipped before
}

// Step updates every parameter that has a gradient in grads.
func (o *composite) Step(params iter.Seq2[string, *Parameter], grads tensor.Grads) error {
	return o.Update(params, grads, func(g UpdateGroup) {
		s := o.numbers(g)
		for _, u := range g.Updates {
			o.update(u, s)
		}
	})
}

// numbers returns the numbers of a step for the parameters of g.
func (o *composite) numbers(g UpdateGroup) *stepNumbers {
	s := &stepNumbers{decay: *o.decay}
	if g.WeightDecay != nil {
		s.decay = *g.WeightDecay
	}
	var all *tensor.Tensor
	if len(g.Args) > 0 {
		all = tensor.FromArray(g.Args[0])
	} else {
		hyper := o.hyper(max(1, o.steps), *o.rate*g.RateFactor)
		all = tensor.FromSlice(hyper, len(hyper)).To(g.Updates[0].Leaf.Device())
	}
	for i := range all.Len() {
		s.hyper = append(s.hyper, all.Select(0, i))
	}
	if len(g.Args) > 1 {
		scaler := tensor.FromArray(g.Args[1]).Cast(dtype.Float64)
		s.unscale, s.foundInf, s.skipped = scaler.Select(0, 0).Reciprocal(), scaler.Select(0, 2).NeScalar(0), scaler.Select(0, 3)
	}
	return s
}

// grad returns the gradient of a parameter.
func (s *stepNumbers) grad(u tensor.Update) *tensor.Tensor {
	g := u.Grad.Detach()
	if s.unscale != nil {
		g = g.Mul(s.unscale.Cast(g.DType()))
	}
	return g
}

// correction returns 1 − βᵗ, where βᵗ is hyperparameter i. Skipped steps do not count.
func (s *stepNumbers) correction(i int, beta float64) *tensor.Tensor {
	power := s.hyper[i]
	if s.skipped != nil && beta > 0 {
		power = power.Div(tensor.FullLike(power, beta).Pow(s.skipped))
	}
	return power.RSubScalar(1)
}

// count returns hyperparameter i, the number of the step, without the skipped ones.
func (s *stepNumbers) count(i int) *tensor.Tensor {
	if s.skipped == nil {
		return s.hyper[i]
	}
	return s.hyper[i].Sub(s.skipped)
}

// set writes value to a parameter or its buffer, unless the step is skipped.
func (s *stepNumbers) set(x, value *tensor.Tensor) {
	x = x.Detach()
	if s.foundInf != nil {
		value = tensor.Where(s.foundInf, x, value)
	}
	x.Assign(value)
}

// decayed returns p, reduced by the weight decay and the learning rate.
func (s *stepNumbers) decayed(p *tensor.Tensor) *tensor.Tensor {
	if s.decay == 0 {
		return p
	}
	return p.Mul(s.hyper[0].MulScalar(-s.decay).AddScalar(1).Cast(p.DType()))
}

// trustRatio returns a/b as float64, or 1 where one of them is 0.
func trustRatio(a, b, denominator *tensor.Tensor) *tensor.Tensor {
	return tensor.Where(a.GtScalar(0).BitAnd(b.GtScalar(0)), a.Div(denominator), tensor.FullLike(a, 1))
}

// norm returns the Euclidean norm of all elements, as float64.
func norm(x *tensor.Tensor) *tensor.Tensor { return x.Cast(dtype.Float64).Square().Sum().Sqrt() }

// StepArgs appends the hyperparameters of the next step to dst.
func (o *composite) StepArgs(dst []float64) []float64 {
	for _, factor := range o.RateFactors() {
		dst = append(dst, o.hyper(o.steps+1, *o.rate*factor)...)
	}
	return dst
}

// Rate returns the learning rate.
func (o *composite) Rate() float64 { return *o.rate }

// SetRate sets the learning rate.
func (o *composite) SetRate(rate float64) { *o.rate = rate }

// Divide makes steps update some of the parameters.
func (o *composite) Divide(ranges map[string][2]int) { o.divide(ranges) }

// Elementwise returns false.
func (o *composite) Elementwise() bool { return false }

// setup prepares the state of the named optimizer, as firstOrder does.
func (o *composite) setup(name string, rate, decay *float64, groups []ParamGroup, noDecay Names, buffers ...string) {
	checkRange(name, "lr", *rate, 0, infinity)
	checkRange(name, "weight_decay", *decay, 0, infinity)
	o.rate, o.decay = rate, decay
	o.Setup(name, *rate, groups, buffers...)
	o.ExcludeDecay(name, noDecay)
}
