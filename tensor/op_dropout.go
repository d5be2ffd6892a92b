package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Dropout returns x with each element zeroed with probability p, decided by key,
// and the others scaled by 1/(1 − p).
func (x *Tensor) Dropout(p float64, key Key) *Tensor {
	if !(p >= 0 && p < 1) {
		fail("dropout", ErrShape, "probability %v; want 0 ≤ p < 1", p)
	}
	return Apply(dropout{p: p, key: key}, x)
}

type dropout struct {
	p      float64
	key    Key
	result *views.View // whose layout the result has; nil for that of the operand
}

func (dropout) Name() string { return "dropout" }

func (op dropout) Infer(in []Spec) []Spec {
	wantFloat("dropout", in[0])
	if op.result != nil {
		return one(in[0].Type, views.Like(*op.result))
	}
	if in[0].PreferRowMajor {
		return one(in[0].Type, views.Of(in[0].Shape...))
	}
	return one(in[0].Type, views.Like(in[0].View))
}

func (op dropout) Forward(c *Context, out, in []storage.Array) error {
	return c.Run(kernels.Dropout, op.settings(), out, slices.Concat(in, op.base())...)
}

// Backward drops the same elements again: the mask is recomputed, not saved. The gradient of an x that was written to a
// row-major result has the layout of x again.
func (op dropout) Backward(out, grads, in []*Tensor) []*Tensor {
	op.result = nil
	if in[0].rowMajor {
		x := in[0].array.View
		op.result = &x
	}
	return []*Tensor{Apply(op, grads[0])}
}

// base is the second input of the kernel, or none.
func (op dropout) base() []storage.Array {
	if op.key.Base == nil {
		return nil
	}
	return []storage.Array{*op.key.Base}
}

func (op dropout) settings() kernels.DropoutOptions {
	return kernels.DropoutOptions{P: op.p, Seed: op.key.Seed, Stream: op.key.Stream}
}

func init() {
	drop := func(x *Tensor) *Tensor { return x.Dropout(0.4, Key{Seed: 1, Stream: 2}) }
	conv := ConvOptions{Act: ReLUActivation}
	samples.Register("dropout", unary(drop), samples.In(6, 5).Rows())
	for _, bias := range [][]samples.Input{nil, {samples.In(4)}} { // fused in the backward pass: see fuse.go
		samples.Register("linear relu dropout", func(in ...*Tensor) *Tensor {
			return drop(Linear(in[0], in[1], optional(in, 2), ReLUActivation))
		}, append([]samples.Input{samples.In(5, 3).Rows(), samples.In(4, 3)}, bias...)...)
		samples.Register("conv relu dropout", func(in ...*Tensor) *Tensor {
			return drop(Conv(in[0], in[1], optional(in, 2), conv))
		}, append([]samples.Input{samples.In(2, 1, 4, 3).Rows(), samples.In(4, 1, 2, 2)}, bias...)...)
	}
}
