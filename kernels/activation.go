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
	ReluActivation
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

// of returns the activation of z. Relu of a NaN is a NaN, as everywhere.
func (a Activation) of(z float64) float64 {
	switch a {
	case ReluActivation:
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

// slope returns dz from y = act(z) and dy.
func (a Activation) slope(y, dy float64) float64 {
	switch a {
	case ReluActivation:
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

// ActSet is the settings of kernels that are about one activation.
type ActSet struct {
	Act Activation
	// Dropped is the probability by which what a relu gives was dropped out, for
	// ActSlopeBias: what is 0 after that, was dropped or had a slope of 0 before.
	Dropped float64
}

func (s ActSet) checkDropped() error {
	if s.Dropped != 0 && (s.Act != ReluActivation || !(s.Dropped > 0 && s.Dropped < 1)) {
		return fmt.Errorf("%v dropped with probability %v; only relus can have been, with less than 1: %w", s.Act, s.Dropped, storage.ErrState)
	}
	return nil
}
