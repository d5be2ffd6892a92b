package tensor

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Key names a stream of random numbers. Equal keys give equal numbers, on
// every device and however the work is divided.
type Key struct{ Seed, Stream uint64 }

// Dropout returns x with each element zeroed with probability p, decided by key,
// and the others scaled by 1/(1 − p).
func (x *Tensor) Dropout(p float64, key Key) *Tensor {
	if !(p >= 0 && p < 1) {
		fail("dropout", ErrShape, "probability %v; want 0 ≤ p < 1", p)
	}
	return Apply(dropout{p, key}, x)
}

type dropout struct {
	p   float64
	key Key
}

func (dropout) Name() string { return "dropout" }

func (dropout) Infer(in ...*Tensor) (dtype.Type, views.View) {
	wantFloat("dropout", in[0])
	return in[0].Type, views.Like(in[0].View)
}

func (op dropout) Forward(w *Work, y storage.Array, in ...storage.Array) error {
	return w.Run(kernels.Dropout, op.settings(), []storage.Array{y}, in...)
}

// Backward drops the same elements again: the mask is recomputed, not kept.
func (op dropout) Backward(_, dy *Tensor, _ ...*Tensor) []*Tensor {
	return []*Tensor{compute(kernels.Dropout, op.settings(), like(dy), dy)}
}

func (op dropout) settings() kernels.DropoutSet {
	return kernels.DropoutSet{P: op.p, Seed: op.key.Seed, Stream: op.key.Stream}
}

var _ = Register("dropout", unary(func(x *Tensor) *Tensor { return x.Dropout(0.4, Key{1, 2}) }), In(6, 5).Rows())

// Seed makes the step's random numbers a function of seed and step alone: the
// n-th operation that draws gets the n-th stream.
func (t *Tape) Seed(seed, step uint64) { t.random = &Key{seed, step << 16} }

// DrawKey returns the next random key of the step that x belongs to, and false
// if it belongs to none or the step was not seeded.
func (x *Tensor) DrawKey() (Key, bool) {
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
func FillNormal(a storage.Array, mean, deviation float64, key Key) {
	run("normal", kernels.Normal, kernels.RandomSet{Seed: key.Seed, Stream: key.Stream, A: mean, B: deviation}, []storage.Array{a})
}
