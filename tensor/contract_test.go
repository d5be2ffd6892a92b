package tensor_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// odd is an operation on one operand that returns given results.
type odd struct {
	specs []tensor.Spec
	grads []*tensor.Tensor
}

func (odd) Name() string                        { return "odd" }
func (o odd) Infer([]tensor.Spec) []tensor.Spec { return o.specs }
func (odd) Forward(*tensor.Context, []storage.Array, []storage.Array) error {
	return nil
}
func (o odd) Backward(_, _, _ []*tensor.Tensor) []*tensor.Tensor { return o.grads }

// TestBrokenContractsAreErrors that name the operation: of operations and calls from outside.
func TestBrokenContractsAreErrors(t *testing.T) {
	x := tensor.Leaf(storage.From([]float32{1, 2, 3}, 3))
	spec := x.Spec()
	backward := func(grads ...*tensor.Tensor) func() {
		return func() { tensor.Apply(odd{[]tensor.Spec{spec}, grads}, x).Sum().Backward() }
	}
	for want, c := range map[string]struct {
		kind error
		call func()
	}{
		"odd: Backward returns a gradient of shape [1] for operand 0 of [3]":   {tensor.ErrShape, backward(tensor.Ones(dtype.Float32, 1))},
		"odd: Backward returns a gradient of shape [2 3] for operand 0 of [3]": {tensor.ErrShape, backward(tensor.Ones(dtype.Float32, 2, 3))},
		"odd: Backward returns a gradient of float64 for operand 0 of float32": {tensor.ErrType, backward(tensor.Ones(dtype.Float64, 3))},
		"odd: Backward returns 2 gradients for 1 operands":                     {tensor.ErrState, backward(x, x)},
		"odd: Backward returns 0 gradients for 1 operands":                     {tensor.ErrState, backward()},
		"odd: Infer describes 0 results":                                       {tensor.ErrState, func() { tensor.Apply(odd{}, x) }},
		"odd: Infer describes 2 results; want 1, or ApplyAll":                  {tensor.ErrState, func() { tensor.Apply(odd{specs: []tensor.Spec{spec, spec}}, x) }},
		"odd: no operands":                       {tensor.ErrState, func() { tensor.Apply(odd{specs: []tensor.Spec{spec}}) }},
		"odd: operand 1 is nil":                  {tensor.ErrState, func() { tensor.Apply(odd{specs: []tensor.Spec{spec}}, x, nil) }},
		"add: operand 1 is nil":                  {tensor.ErrState, func() { x.Add(nil) }},
		"matmul: operand 1 is nil":               {tensor.ErrState, func() { x.MatMul(nil) }},
		"cat: operand 0 is nil":                  {tensor.ErrState, func() { tensor.Cat(0, nil, x) }},
		"pad: 4 sizes [1 2 3 4]; want at most 3": {tensor.ErrShape, func() { tensor.Pad(1, 2, 3, 4) }},
	} {
		if err := tensor.Try(c.call); !errors.Is(err, c.kind) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	if _, err := x.Array().To(nil); !errors.Is(err, storage.ErrDevice) {
		t.Errorf("to no device: %v", err)
	}
}
