package nn

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

// AdafactorOptions are the settings of an Adafactor.
type AdafactorOptions struct {
	LearningRate float64 `json:"lr"`           // the largest relative step; 0.01 if 0
	Beta2Decay   float64 `json:"beta2_decay"`  // β₂ is 1 − t^beta2_decay at step t; -0.8 if 0
	Eps1         float64 `json:"eps1"`         // least root of a mean of squares; the epsilon of the parameter's type if 0
	Eps2         float64 `json:"eps2"`         // least root mean square of a parameter; 1e-3 if 0
	D            float64 `json:"d"`            // updates with a larger root mean square are scaled down; 1 if 0
	WeightDecay  float64 `json:"weight_decay"` // subtracted from the parameter, times the learning rate and the parameter

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// Adafactor is Adam without momentum whose mean of squares is stored by rows and columns for parameters of two axes and more,
// and whose steps are relative to the parameters (Shazeer and Stern, arXiv:1804.04235; with PyTorch's meaning of lr and eps1).
type Adafactor struct {
	AdafactorOptions
	composite
}

var adafactorDefaults = AdafactorOptions{LearningRate: 0.01, Beta2Decay: -0.8, Eps2: 1e-3, D: 1}

// NewAdafactor returns an Adafactor. Zero options stand for their defaults.
func NewAdafactor(o AdafactorOptions) *Adafactor {
	return newAdafactor(withDefaults(o, adafactorDefaults))
}

func newAdafactor(options AdafactorOptions) *Adafactor {
	checkRange("adafactor", "beta2_decay", -options.Beta2Decay, 0, infinity)
	checkRange("adafactor", "eps1", options.Eps1, 0, infinity)
	checkRange("adafactor", "eps2", options.Eps2, 0, infinity)
	checkRange("adafactor", "d", options.D, 1, infinity)
	o := &Adafactor{AdafactorOptions: options}
	o.setup("adafactor", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, "row_var", "col_var", "variance")
	o.layout = func(_ string, shape []int) []bufferSpec {
		n := len(shape)
		if n < 2 {
			return []bufferSpec{{"variance", shape}}
		}
		rows, columns := slices.Clone(shape), slices.Clone(shape)
		rows[n-1], columns[n-2] = 1, 1
		return []bufferSpec{{"row_var", rows}, {"col_var", columns}}
	}
	o.hyper = func(step int, rate float64) []float64 { return []float64{rate, float64(step)} }
	o.update = o.updateOne
	return o
}

func (o *Adafactor) updateOne(u tensor.Update, s *stepNumbers) {
	p, g, t := u.Leaf.Detach(), s.grad(u), u.Leaf.DType()
	step, eps1 := s.count(1), o.Eps1
	if eps1 == 0 {
		eps1 = epsilon(t)
	}
	rest := step.Pow(tensor.FullLike(step, o.Beta2Decay)).Cast(t)
	relative := s.hyper[0].Minimum(step.Sqrt().Reciprocal())
	alpha := rootMeanSquare(p).Clamp(o.Eps2, nil).Mul(relative)
	square := g.Square()
	var variance *tensor.Tensor
	if len(u.State) == 2 {
		rows, columns := p.Rank()-2, p.Rank()-1
		r := u.State[0].Lerp(square.Mean(columns, tensor.KeepDims), rest)
		c := u.State[1].Lerp(square.Mean(rows, tensor.KeepDims), rest)
		s.set(u.State[0], r)
		s.set(u.State[1], c)
		variance = r.Mul(c).Div(r.Mean(rows, tensor.KeepDims).Clamp(eps1, nil))
	} else {
		variance = u.State[0].Lerp(square, rest)
		s.set(u.State[0], variance)
	}
	d := g.Div(variance.Clamp(eps1*eps1, nil).Sqrt())
	scale := alpha.Div(rootMeanSquare(d).DivScalar(o.D).Clamp(1, nil))
	s.set(u.Leaf, s.decayed(p).Sub(d.Mul(scale.Cast(t))))
}

// rootMeanSquare returns the root of the mean of the squares of all elements, as float64.
func rootMeanSquare(x *tensor.Tensor) *tensor.Tensor {
	return norm(x).DivScalar(math.Sqrt(float64(x.Len())))
}

// epsilon returns the distance from 1 to the next number of a type.
func epsilon(t dtype.Type) float64 {
	switch t {
	case dtype.Float64:
		return 0x1p-52
	case dtype.Float16:
		return 0x1p-10
	case dtype.BFloat16:
		return 0x1p-7
	}
	return 0x1p-23
}

// Config returns the settings of o.
func (o *Adafactor) Config() any { return o.withGroups(o.AdafactorOptions, o.LearningRate) }

var _ = RegisterOptimizer("adafactor", newAdafactor, adafactorDefaults)
