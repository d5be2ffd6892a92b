package nn

import (
	"iter"

	"github.com/h5dnn/h5dnn/tensor"
)

// SGDOptions are the settings of an SGD.
type SGDOptions struct {
	LearningRate float64 `json:"lr"`           // 0.01 if 0
	Momentum     float64 `json:"momentum"`     // share of the last update that is added to the next
	Nesterov     bool    `json:"nesterov"`     // look ahead by the momentum
	WeightDecay  float64 `json:"weight_decay"` // added to the gradient, times the parameter

	Groups []ParamGroup `json:"groups,omitempty"` // parameters with settings of their own
}

// SGD is stochastic gradient descent. With momentum it computes, as PyTorch does,
//
//	v = momentum·v + g, p -= lr·v
//
// and p -= lr·(g + momentum·v) with Nesterov.
type SGD struct {
	SGDOptions
	OptimizerState
}

var sgdDefaults = SGDOptions{LearningRate: 0.01}

// NewSGD returns an SGD. Zero options stand for their defaults.
func NewSGD(o SGDOptions) *SGD { return newSGD(withDefaults(o, sgdDefaults)) }

func newSGD(o SGDOptions) *SGD {
	checkRange("sgd", "lr", o.LearningRate, 0, infinity)
	checkRange("sgd", "momentum", o.Momentum, 0, infinity)
	checkRange("sgd", "weight_decay", o.WeightDecay, 0, infinity)
	if o.Nesterov && o.Momentum == 0 {
		tensor.Fail("sgd", ErrConfig, "nesterov without momentum; set momentum too")
	}
	s := &SGD{SGDOptions: o}
	var buffers []string
	if o.Momentum != 0 {
		buffers = []string{"momentum"}
	}
	s.Setup("sgd", o.LearningRate, o.Groups, buffers...)
	return s
}

// Step updates every parameter that has a gradient in grads.
func (o *SGD) Step(params iter.Seq2[string, *Parameter], grads tensor.Grads) error {
	return o.Update(params, grads, func(g UpdateGroup) {
		h := o.hyperparameters()
		h.Rate *= g.RateFactor
		if g.WeightDecay != nil {
			h.Decay = *g.WeightDecay
		}
		tensor.UpdateSGD(g.Updates, h, g.Args)
	})
}

func (o *SGD) hyperparameters() tensor.SGDOptions {
	return tensor.SGDOptions{Rate: o.LearningRate, Momentum: o.Momentum, Nesterov: o.Nesterov, Decay: o.WeightDecay}
}

// StepArgs appends the hyperparameters of the next step to dst.
func (o *SGD) StepArgs(dst []float64) []float64 {
	for _, factor := range o.RateFactors() {
		h := o.hyperparameters()
		h.Rate *= factor
		dst = append(dst, h.Hyperparameters()...)
	}
	return dst
}

// Rate returns the learning rate.
func (o *SGD) Rate() float64 { return o.LearningRate }

// SetRate sets the learning rate.
func (o *SGD) SetRate(rate float64) { o.LearningRate = rate }

// Config returns the settings of o.
func (o *SGD) Config() any {
	options := o.SGDOptions
	options.Groups = o.groups.current(o.LearningRate)
	return options
}

var _ = RegisterOptimizer("sgd", newSGD, sgdDefaults)
