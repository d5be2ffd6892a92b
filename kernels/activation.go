package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/storage"
)

// An Activation is an elementwise function that other kernels apply to what
// they compute while it is in cache.
type Activation int

const (
	NoActivation Activation = iota
	ReLUActivation
	TanhActivation
	SigmoidActivation
)

var activations = [...]string{"none", "relu", "tanh", "sigmoid"}

func (a Activation) String() string {
	if a < 0 || int(a) >= len(activations) {
		return "unknown"
	}
	return activations[a]
}

// of returns the activation of z. ReLU of a NaN is a NaN, as everywhere.
func (a Activation) of(z float64) float64 {
	switch a {
	case ReLUActivation:
		if z < 0 {
			return 0
		}
		return z
	case TanhActivation:
		return math.Tanh(z)
	case SigmoidActivation:
		return 1 / (1 + math.Exp(-z))
	}
	return z
}

// gradient returns dz from y = act(z) and dy.
func (a Activation) grad(y, dy float64) float64 {
	switch a {
	case ReLUActivation:
		if y <= 0 {
			return 0
		}
	case TanhActivation:
		return dy * (1 - y*y)
	case SigmoidActivation:
		return dy * y * (1 - y)
	}
	return dy
}

// ActOptions are the options of kernels that are about one activation.
type ActOptions struct {
	Act Activation
	// Dropped is the probability by which what a relu gives was dropped out, for
	// ActGradBias: what is 0 after that, was dropped or had a gradient of 0 before.
	Dropped float64
}

func (s ActOptions) checkDropped() error {
	if s.Dropped != 0 && (s.Act != ReLUActivation || !(s.Dropped > 0 && s.Dropped < 1)) {
		return fmt.Errorf("%v dropped with probability %v; only relus can have been, with less than 1: %w", s.Act, s.Dropped, storage.ErrState)
	}
	return nil
}
