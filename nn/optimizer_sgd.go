package nn

import "github.com/h5dnn/h5dnn/tensor"

// SGDOptions are the settings of an SGD.
type SGDOptions struct {
	LearningRate float64 `json:"lr"`           // 0.01 if 0
	Momentum     float64 `json:"momentum"`     // share of the last update that is added to the next
	Nesterov     bool    `json:"nesterov"`     // look ahead by the momentum
	WeightDecay  float64 `json:"weight_decay"` // added to the gradient, times the parameter

	Groups  []ParamGroup `json:"groups,omitempty"`   // parameters with settings of their own
	NoDecay Names        `json:"no_decay,omitempty"` // parameters without weight decay: names or patterns such as *.bias
}

// SGD is stochastic gradient descent. With momentum it computes, as PyTorch does,
//
//	v = momentum·v + g, p -= lr·v
//
// and p -= lr·(g + momentum·v) with Nesterov.
type SGD struct {
	SGDOptions
	firstOrder
}

var sgdDefaults = SGDOptions{LearningRate: 0.01}

// NewSGD returns an SGD. Zero options stand for their defaults.
func NewSGD(o SGDOptions) *SGD { return newSGD(withDefaults(o, sgdDefaults)) }

func newSGD(options SGDOptions) *SGD {
	checkRange("sgd", "momentum", options.Momentum, 0, infinity)
	if options.Nesterov && options.Momentum == 0 {
		tensor.Fail("sgd", ErrConfig, "nesterov without momentum; set momentum too")
	}
	o := &SGD{SGDOptions: options}
	var buffers []string
	if o.Momentum != 0 {
		buffers = []string{"momentum"}
	}
	o.setup("sgd", &o.LearningRate, &o.WeightDecay, o.Groups, o.NoDecay, buffers...)
	o.update = func(_ int, rate, decay float64) tensor.UpdateOptions {
		return tensor.SGDOptions{Rate: rate, Momentum: o.Momentum, Nesterov: o.Nesterov, Decay: decay}
	}
	return o
}

// Config returns the settings of o.
func (o *SGD) Config() any { return o.withGroups(o.SGDOptions, o.LearningRate) }

var _ = RegisterOptimizer("sgd", newSGD, sgdDefaults)
