package kernels

import (
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// An Activation is an elementwise function that other kernels apply to their results.
type Activation int

// The activations. C and device code number them alike.
const (
	NoActivation Activation = iota
	ReLUActivation
	TanhActivation
	SigmoidActivation
	GELUActivation     // x·Φ(x) (Hendrycks and Gimpel, arXiv:1606.08415)
	GELUTanhActivation // the same, with the tanh approximation of Φ
	SiLUActivation     // x·sigmoid(x)
)

// activations are the rows of the activations: their functions of z, and the gradients
// with respect to z, from y = act(z) and dy or, if ofInput, from z and dy.
var activations = [...]struct {
	name    string
	of      func(z float64) float64
	grad    func(v, dy float64) float64
	ofInput bool
}{
	NoActivation: {"none", func(z float64) float64 { return z }, func(_, dy float64) float64 { return dy }, false},
	ReLUActivation: {"relu", func(z float64) float64 {
		if z < 0 { // NaN stays NaN
			return 0
		}
		return z
	}, func(y, dy float64) float64 {
		if y <= 0 {
			return 0
		}
		return dy
	}, false},
	TanhActivation:     {"tanh", math.Tanh, func(y, dy float64) float64 { return dy * (1 - y*y) }, false},
	SigmoidActivation:  {"sigmoid", sigmoid, func(y, dy float64) float64 { return dy * y * (1 - y) }, false},
	GELUActivation:     {"gelu", gelu, func(z, dy float64) float64 { return dy * (normalCDF(z) + z*normalPDF(z)) }, true},
	GELUTanhActivation: {"gelu tanh", func(z float64) float64 { return z * sigmoid(geluTanhArgument(z)) }, geluTanhGrad, true},
	SiLUActivation: {"silu", func(z float64) float64 { return z / (1 + math.Exp(-z)) }, func(z, dy float64) float64 {
		s := sigmoid(z)
		return dy * s * (1 + z*(1-s))
	}, true},
}

func sigmoid(z float64) float64 { return 1 / (1 + math.Exp(-z)) }

func gelu(z float64) float64 { return z * normalCDF(z) }

func normalCDF(z float64) float64 { return (1 + math.Erf(z/math.Sqrt2)) / 2 }

func normalPDF(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// geluTanhArgument is 2·√(2/π)·(z + 0.044715·z³). GELUTanh is z·sigmoid of it, because
// (1 + tanh u)/2 is sigmoid(2u).
func geluTanhArgument(z float64) float64 {
	return 2 * math.Sqrt(2/math.Pi) * z * (1 + 0.044715*z*z)
}

// geluTanhGrad is dy·(s + z·s·(1 − s)·v'), where s is the sigmoid of v = geluTanhArgument(z).
// 1 − s is computed as sigmoid(−v), without the cancellation of 1 − tanh².
func geluTanhGrad(z, dy float64) float64 {
	v := geluTanhArgument(z)
	s, rest := sigmoid(v), sigmoid(-v)
	return dy * (s + z*s*rest*2*math.Sqrt(2/math.Pi)*(1+3*0.044715*min(z*z, 1024)))
}

func (a Activation) String() string {
	if a.check() != nil {
		return "unknown"
	}
	return activations[a].name
}

// OfInput reports whether the gradient of a follows from its input z. That of the other
// activations follows from their result y. ActGrad and ActGradBias take whichever it is.
func (a Activation) OfInput() bool { return a.check() == nil && activations[a].ofInput }

// Kernel returns the kernel that applies a; nil for NoActivation.
func (a Activation) Kernel() *Kernel { return activationKernels[a] }

var activationKernels = [...]*Kernel{
	ReLUActivation: ReLU, TanhActivation: Tanh, SigmoidActivation: Sigmoid,
	GELUActivation: GELU, GELUTanhActivation: GELUTanh, SiLUActivation: SiLU,
}

// of returns act(z).
func (a Activation) of(z float64) float64 { return activations[a].of(z) }

// grad returns dz from dy and y = act(z), or z if OfInput.
func (a Activation) grad(v, dy float64) float64 { return activations[a].grad(v, dy) }

// activationOps are the activations as lines of ops.h.
var activationOps = [...]native.Op{
	NoActivation: native.NoOp, ReLUActivation: opOf("relu"), TanhActivation: opOf("tanh"), SigmoidActivation: opOf("sigmoid"),
	GELUActivation: opOf("gelu"), GELUTanhActivation: opOf("gelu tanh"), SiLUActivation: opOf("silu"),
}

// apply sets y = act(z) on the CPU; y may be z.
func (a Activation) apply(y, z *storage.Array) error {
	k, c := a.Kernel(), &Call{Out: []storage.Array{*y}, In: []storage.Array{*z}}
	if k == nil {
		if y == z {
			return nil
		}
		k = Copy
	}
	return CPU.Run(k, c)
}

// check returns an error unless a is one of the activations.
func (a Activation) check() error {
	if a < 0 || int(a) >= len(activations) {
		return fmt.Errorf("no activation %d: %w", int(a), storage.ErrState)
	}
	return nil
}

// ActOptions are the options of kernels with an activation.
type ActOptions struct {
	Act Activation
	// Dropped is the probability of a dropout after a relu, for ActGradBias: an element of
	// its result is 0 if it was dropped, or if the gradient of the relu was 0.
	Dropped float64
}

func (s ActOptions) checkDropped() error {
	if s.Dropped != 0 && (s.Act != ReLUActivation || !(s.Dropped > 0 && s.Dropped < 1)) {
		return fmt.Errorf("%v dropped with probability %v; only a relu can be dropped, with less than 1: %w", s.Act, s.Dropped, storage.ErrState)
	}
	return nil
}
