package tensor

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Checkpoint returns f(xs...) without keeping intermediate results or saved values: the
// backward pass computes f again, and then its gradients. This trades a
// second forward computation for memory (Chen et al., arXiv:1604.06174). Gradients reach
// xs and all leaves that f uses.
//
// f must compute the same each time. Random numbers from [Tensor.NextKey] are the same,
// running statistics are updated once. What f computes must not be used outside of
// it, except for its result. Outside of a step, and where no gradient is recorded,
// Checkpoint just calls f.
func Checkpoint(f func(xs ...*Tensor) *Tensor, xs ...*Tensor) *Tensor {
	const act = "checkpoint"
	mode := modeOf(act, nil, nil, xs)
	t := mode.tape
	if t == nil || mode.noGrad || mode.quiet {
		return f(xs...)
	}
	if t.random == nil {
		t.random = nextKeys()
	}
	op := &checkpoint{f: f, random: *t.random}
	first := t.allocated()
	y, locals := op.run(t, xs)
	if y.node == nil {
		return y
	}
	out := &Tensor{array: y.array, format: y.format, tape: t, block: y.block}
	for x := range leafUses(y) {
		if !slices.Contains(locals, x) && !slices.Contains(op.leaves, x) {
			op.leaves = append(op.leaves, x)
		}
	}
	for _, b := range t.used[first:] {
		if b != y.block {
			t.release(b)
		} else {
			b.uses = 0
		}
	}
	mode.requiresGrad = true
	mode.record(op, slices.Concat(xs, op.leaves), []*Tensor{out}, t.allocated())
	return out
}

// checkpoint is the operation that a call of Checkpoint is recorded as.
type checkpoint struct {
	f      func(xs ...*Tensor) *Tensor
	random Key       // the first key that f draws
	leaves []*Tensor // what f uses besides its operands, and requires a gradient
}

func (*checkpoint) Name() string                                             { return "checkpoint" }
func (*checkpoint) Infer(in []Spec) []Spec                                   { return nil }
func (*checkpoint) Forward(*Context, []storage.Array, []storage.Array) error { return nil }

// run computes f of leaves that stand for xs.
func (op *checkpoint) run(t *Tape, xs []*Tensor) (y *Tensor, locals []*Tensor) {
	locals = make([]*Tensor, len(xs))
	for i, x := range xs {
		locals[i] = &Tensor{array: x.array, format: x.format, requiresGrad: x.requiresGrad, tape: t, block: x.block, rowMajor: x.rowMajor}
	}
	return op.f(locals...), locals
}

// Backward computes f again, and returns its gradients.
func (op *checkpoint) Backward(out, grads, in []*Tensor) []*Tensor {
	if !grads[0].noGrad {
		panic(&Error{op.Name(), errNotDifferentiable})
	}
	t, n := out[0].tape, len(in)-len(op.leaves)
	random := t.random
	defer func() { t.random, t.recomputing = random, false }()
	again := op.random
	t.random, t.recomputing = &again, true
	y, locals := op.run(t, in[:n])
	targets := []*Tensor{}
	for _, x := range slices.Concat(locals, op.leaves) {
		if x.requiresGrad {
			targets = append(targets, x)
		}
	}
	found := Grad([]*Tensor{y}, targets, GradOptions{Incoming: grads, AllowUnused: true})
	dxs := make([]*Tensor, len(in))
	for i, x := range slices.Concat(locals, op.leaves) {
		if at := slices.Index(targets, x); at >= 0 && found[at] != nil {
			dxs[i] = found[at].inBackward(&pass{})
		}
	}
	return dxs
}

var _ = samples.Register("checkpoint", unary(func(x *Tensor) *Tensor {
	return Checkpoint(func(xs ...*Tensor) *Tensor { return xs[0].Tanh().Mul(xs[0]) }, x)
}), samples.In(3, 4).Rows())
