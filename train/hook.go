package train

import (
	"iter"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Hook works on the gradients of each step, between the backward pass and the
// update. It may average them over replicas, clip them, or hold the update back to
// accumulate them. Hooks run in order, inside the step: they compute with
// expressions on the gradients' device, and what must outlive the step is copied.
//
// A hook is assumed to do something else in each step, and to look at values. One
// that only runs kernels implements [CapturableHook] too, so that steps on a GPU can
// still be captured in a graph.
type Hook interface {
	Gradients(*Step) error
}

// A CapturableHook runs the same kernels on the same memory in every step of the
// same variant, and looks at no values.
type CapturableHook interface {
	Hook
	// Variant returns the variant of a step, at least 0 and less than 16, and false
	// if that step cannot be replayed.
	Variant(BatchInfo) (variant int, ok bool)
}

// A ReadyHook is also told about each gradient as soon as it is complete, while the
// backward pass goes on, so that communication can overlap with it. It must not
// change the gradient before Gradients is called.
type ReadyHook interface {
	Hook
	GradientReady(*Step, Gradient) error
}

// A StatefulHook has state that is saved in run files under its name.
type StatefulHook interface {
	Hook
	Resumable
}

// BatchInfo says which samples a step trains on.
type BatchInfo struct {
	Epoch        int    // from 0
	Index        int    // in the epoch, from 0
	Samples      int    // in the batch
	Size         int    // samples in a full batch
	Consumed     int    // samples of the epoch before this batch
	EpochSamples int    // samples in the epoch
	Step         uint64 // batches of the run before this one
}

// Last reports whether the batch is the last of its epoch.
func (b BatchInfo) Last() bool { return b.Consumed+b.Samples >= b.EpochSamples }

// A Gradient is the gradient of a part of the loss with respect to a parameter.
type Gradient struct {
	Name  string
	Param *nn.Parameter
	Grad  *tensor.Tensor
	Part  int // of Step.Parts
}

// A LossPart is a part of a step's loss, the outputs with one denominator. Steps on parts of a batch make its
// update with the sum of denominator·gradient over the steps, divided by the sum of the denominators. See
// [nn.Fraction].
type LossPart struct {
	Denominator *tensor.Tensor // a single element; nil if it is the number of samples, but for a constant
	Sum         bool           // nothing divides: the gradients of the steps are added
	value       *tensor.Tensor
}

// partsOf returns losses by their denominators.
func partsOf(losses []nn.Fraction) (parts []LossPart) {
	for _, loss := range losses {
		p := LossPart{Sum: loss.IsSum(), value: loss.Value()}
		if weighs([]nn.Fraction{loss}) {
			p.Denominator = loss.Denominator()
		}
		k := slices.IndexFunc(parts, func(q LossPart) bool { return p.Denominator == nil && q.Denominator == nil && p.Sum == q.Sum })
		if k < 0 {
			parts = append(parts, p)
		} else {
			parts[k].value = parts[k].value.Add(p.value)
		}
	}
	return parts
}

// A Step is a training step whose backward pass has been made.
type Step struct {
	BatchInfo
	// Gradients are the gradients of all parameters that have one, in the model's
	// order. A hook may replace them. Where batches are accumulated, they are those of
	// each of Parts, until Accumulate has added them up.
	Gradients []Gradient
	// Parts are the parts of the loss: one, unless batches are accumulated and the outputs have
	// denominators of their own.
	Parts []LossPart
	// LossScale is the factor of the loss, and so of all gradients, as a single element,
	// or nil. The update divides by it.
	LossScale *tensor.Tensor

	hold    bool
	squares func() (float64, error) // the sum over all shards, where Gradients are pieces of this process; else nil
}

// Unscaled returns a gradient divided by the loss scale.
func (s *Step) Unscaled(g Gradient) *tensor.Tensor {
	if s.LossScale == nil {
		return g.Grad
	}
	return g.Grad.Div(s.LossScale.Cast(g.Grad.DType()))
}

// HoldUpdate keeps the parameters as they are: this step makes no update.
func (s *Step) HoldUpdate() { s.hold = true }

// grads returns the gradients as an optimizer takes them.
func (s *Step) grads() tensor.Grads {
	grads := make(tensor.Grads, len(s.Gradients))
	for _, g := range s.Gradients {
		grads[g.Param.Tensor] = g.Grad
	}
	return grads
}

// maxVariants bounds the variants of one hook.
const maxVariants = 16

// variantOf returns a number for what all hooks do in a step, and false if the step
// cannot be captured.
func variantOf(hooks []Hook, b BatchInfo) (int, bool) {
	all := 0
	for _, h := range hooks {
		c, ok := h.(CapturableHook)
		if !ok {
			return 0, false
		}
		v, ok := c.Variant(b)
		if !ok {
			return 0, false
		}
		all = all*maxVariants + v
	}
	return all, true
}

// configHooks returns the hooks that c asks for. The callbacks that are hooks are among them.
func (c Config) configHooks(callbacks []Callback) (hooks []Hook) {
	if c.Accumulate > 1 && c.Shards < 2 {
		hooks = append(hooks, Accumulate(c.Accumulate))
	}
	for _, one := range callbacks {
		if h, ok := one.(Hook); ok {
			hooks = append(hooks, h)
		}
	}
	if c.ClipValue > 0 {
		hooks = append(hooks, ClipValue(c.ClipValue))
	}
	if c.ClipNorm > 0 {
		hooks = append(hooks, ClipNorm(c.ClipNorm))
	}
	return hooks
}

// byName yields the arrays of m in the order of their names.
func byName(m map[string]storage.Array) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if !yield(name, m[name]) {
				return
			}
		}
	}
}
