package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Key names a stream of random numbers. Equal keys give equal numbers, on
// every device and however the work is divided.
type Key struct {
	Seed, Stream uint64
	// Base, where it is not nil, is a single uint64 that is added to Stream when
	// numbers are drawn: a step that is recorded draws others each time it runs.
	Base *storage.Array
}

// Dropout returns x with each element zeroed with probability p, decided by key,
// and the others scaled by 1/(1 − p).
func (x *Tensor) Dropout(p float64, key Key) *Tensor {
	if !(p >= 0 && p < 1) {
		fail("dropout", ErrShape, "probability %v; want 0 ≤ p < 1", p)
	}
	y := Apply(dropout{p, key}, x)
	if p > 0 && y.node != nil && x.node != nil {
		y.fuseDropout(x, p)
	}
	return y
}

// fuseDropout records y, the dropout of x, and what x is the result of as one operation, if
// that works out the slope of both at once.
func (y *Tensor) fuseDropout(x *Tensor, p float64) {
	op, ok := x.node.op.(interface {
		canDropout() bool
		withDropout(p float64) Op
	})
	if in := x.node.in; ok && op.canDropout() && version(x, in) == x.node.version {
		y.node.op, y.node.in, y.node.version = op.withDropout(p), in, version(y, in)
	}
}

type dropout struct {
	p   float64
	key Key
}

func (dropout) Name() string { return "dropout" }

func (dropout) Infer(in ...*Tensor) (dtype.Type, views.View) {
	wantFloat("dropout", in[0])
	if in[0].rowMajor {
		return in[0].Type, views.Of(in[0].Shape...)
	}
	return in[0].Type, views.Like(in[0].View)
}

func (op dropout) Forward(w *Context, y storage.Array, in ...storage.Array) error {
	return w.Run(kernels.Dropout, op.settings(), []storage.Array{y}, append(in, op.base()...)...)
}

// Backward drops the same elements again: the mask is recomputed, not kept.
func (op dropout) Backward(_, dy *Tensor, _ ...*Tensor) []*Tensor {
	in := []*Tensor{dy}
	for _, base := range op.base() {
		in = append(in, dy.sameStep(base))
	}
	return []*Tensor{runKernel(kernels.Dropout, op.settings(), like(dy), in...)}
}

// base is the second input of the kernel, or none.
func (op dropout) base() []storage.Array {
	if op.key.Base == nil {
		return nil
	}
	return []storage.Array{*op.key.Base}
}

func (op dropout) settings() kernels.DropoutSet {
	return kernels.DropoutSet{P: op.p, Seed: op.key.Seed, Stream: op.key.Stream}
}

func init() {
	drop := func(x *Tensor) *Tensor { return x.Dropout(0.4, Key{Seed: 1, Stream: 2}) }
	conv := Conv2dOptions{Stride: [2]int{1, 1}, Act: ReLUActivation}
	Register("dropout", unary(drop), In(6, 5).Rows())
	for _, bias := range [][]SampleInput{nil, {In(4)}} { // fused in backward: see fuseDropout
		Register("linear relu dropout", func(in ...*Tensor) *Tensor {
			return drop(Linear(in[0], in[1], optional(in, 2), ReLUActivation))
		}, append([]SampleInput{In(5, 3).Rows(), In(4, 3)}, bias...)...)
		Register("conv2d relu dropout", func(in ...*Tensor) *Tensor {
			return drop(Conv2d(in[0], in[1], optional(in, 2), conv))
		}, append([]SampleInput{In(2, 1, 4, 3).Rows(), In(4, 1, 2, 2)}, bias...)...)
	}
}

// Seed makes the step's random numbers a function of seed and step alone: the
// n-th operation that draws gets the n-th stream.
func (t *Tape) Seed(seed, step uint64) { t.random = &Key{Seed: seed, Stream: RandomStream(step)} }

// SeedAt is Seed of the step whose Stream base holds when the step runs: a
// single uint64, where the step is computed.
func (t *Tape) SeedAt(seed uint64, base storage.Array) { t.random = &Key{Seed: seed, Base: &base} }

// RandomStream returns the first stream of a step.
func RandomStream(step uint64) uint64 { return step << 16 }

// NextKey returns the next random key of the step that x belongs to, and false
// if it belongs to none or the step was not seeded.
func (x *Tensor) NextKey() (Key, bool) {
	if x.tape == nil || x.tape.random == nil {
		return Key{}, false
	}
	key := *x.tape.random
	x.tape.random.Stream++
	return key, true
}

// FillUniform sets a's elements to numbers of key's stream, uniform in [low, high).
func FillUniform(a storage.Array, low, high float64, key Key) {
	run("uniform", kernels.Uniform, kernels.RandomSet{Seed: key.Seed, Stream: key.Stream, A: low, B: high}, []storage.Array{a})
}

// FillNormal sets a's elements to normal numbers of key's stream.
func FillNormal(a storage.Array, mean, std float64, key Key) {
	run("normal", kernels.Normal, kernels.RandomSet{Seed: key.Seed, Stream: key.Stream, A: mean, B: std}, []storage.Array{a})
}
