package nn

import (
	"iter"

	"github.com/h5dnn/h5dnn/tensor"
)

// An SGDSet is the settings of an SGD.
type SGDSet struct {
	LearningRate float64 `json:"lr"`
	Momentum     float64 `json:"momentum"`
	Nesterov     bool    `json:"nesterov"`
	WeightDecay  float64 `json:"weight_decay"` // times the parameter is added to its gradient
}

// SGD is gradient descent, with momentum v where it is not zero:
//
//	v = momentum·v + g, p -= lr·v
//
// and p -= lr·(g + momentum·v) with Nesterov, as PyTorch has it.
type SGD struct {
	SGDSet
	Memory
}

// NewSGD returns plain gradient descent.
func NewSGD(lr float64) *SGD { return NewSGDOf(SGDSet{LearningRate: lr}) }

// NewSGDOf returns gradient descent as set says.
func NewSGDOf(set SGDSet) *SGD {
	within("sgd", "lr", set.LearningRate, 0, infinity)
	within("sgd", "momentum", set.Momentum, 0, infinity)
	within("sgd", "weight_decay", set.WeightDecay, 0, infinity)
	if set.Nesterov && set.Momentum == 0 {
		tensor.Fail("sgd", ErrConfig, "nesterov without momentum; set momentum too")
	}
	o := &SGD{SGDSet: set}
	if set.Momentum != 0 {
		o.kinds = []string{"momentum"}
	}
	return o
}

// Step updates every parameter that grads has a gradient for.
func (o *SGD) Step(params iter.Seq2[string, *Param], grads tensor.Grads) error {
	set := o.settings()
	return o.step(params, grads, func(of []tensor.Update) { tensor.UpdateSGD(of, set, o.by) })
}

func (o *SGD) settings() tensor.SGDOptions {
	return tensor.SGDOptions{Rate: o.LearningRate, Momentum: o.Momentum, Nesterov: o.Nesterov, Decay: o.WeightDecay}
}

// Advance counts a step and returns its dials.
func (o *SGD) Advance() [3]float64 {
	o.count++
	return o.settings().Dials()
}

// Rate returns the learning rate.
func (o *SGD) Rate() float64 { return o.LearningRate }

// SetRate sets the learning rate.
func (o *SGD) SetRate(rate float64) { o.LearningRate = rate }

// Config returns o's settings.
func (o *SGD) Config() any { return o.SGDSet }

var _ = RegisterOptimizer("sgd", NewSGDOf, SGDSet{LearningRate: 0.01})
