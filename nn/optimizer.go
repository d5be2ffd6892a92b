package nn

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// An Optimizer updates parameters by their gradients. It keeps its state for each
// parameter under the parameter's name, on the parameter's device.
//
// Packages outside this module write optimizers, too (see the example): embed
// [OptimizerState], which has the step count, the buffers, their saving and loading
// and the parameter groups; call its Setup in the constructor and its Update in Step.
// Parameters require gradients and cannot be written to as they are. Write to
// u.Leaf.Detach(), which shares the elements, by AddInPlace, Assign or Fill, and compute
// with u.Grad.Detach(), or the update would be recorded for a second derivative.
// [RegisterOptimizer] makes the optimizer available to configurations, which then
// describe it by the options that it embeds.
type Optimizer interface {
	// Step updates, in place, every parameter that has a gradient in grads. It is
	// called within the step that computed the gradients.
	Step(params iter.Seq2[string, *Parameter], grads tensor.Grads) error
	// Rate and SetRate are the learning rate.
	Rate() float64
	SetRate(rate float64)
	// State yields the arrays to save: the number of steps as "step", and buffers
	// such as "momentum/hidden.weight".
	State() iter.Seq2[string, storage.Array]
	// Load replaces the state of the optimizer of params.
	Load(params iter.Seq2[string, *Parameter], state iter.Seq2[string, storage.Array]) error
}

// A Capturable optimizer can read its hyperparameters from device memory, so that
// one captured step can be replayed with a new learning rate.
type Capturable interface {
	Optimizer
	// SetStepArgs makes Step read args in the place of the settings and the step
	// count: float64 (n) that will hold the result of StepArgs when the step runs,
	// and optionally the state of a loss scaler, as package tensor describes them.
	// Step does not count steps then: CountStep does. Empty args restore the normal
	// mode.
	SetStepArgs(args tensor.StepArgs)
	// StepArgs appends the hyperparameters of the next step to dst.
	StepArgs(dst []float64) []float64
	// CountStep counts a step.
	CountStep()
}

// A Divisible optimizer can update a part of the parameters, so that several processes update a part each.
type Divisible interface {
	Optimizer
	// Divide makes Step update the elements [r[0], r[1]) of each parameter, in row-major order. Gradients are of these
	// elements: one-dimensional unless they are all. Parameters without a range are left alone; nil restores the
	// update of all. Every parameter with a range, even one without elements, has its buffers after Step.
	Divide(ranges map[string][2]int)
	// Elementwise reports whether a range may be a part of a parameter. Otherwise it has all of its elements or none.
	Elementwise() bool
}

var optimizers = factory[Optimizer]{kind: "optimizer", spell: splitBetas}

// splitBetas returns settings with beta1 and beta2 in the place of PyTorch's betas: [0.9, 0.999].
func splitBetas(settings json.RawMessage) json.RawMessage {
	var given map[string]json.RawMessage
	var betas []json.RawMessage
	if json.Unmarshal(settings, &given) != nil || json.Unmarshal(given["betas"], &betas) != nil || len(betas) != 2 || given["beta1"] != nil || given["beta2"] != nil {
		return settings
	}
	given["beta1"], given["beta2"] = betas[0], betas[1]
	delete(given, "betas")
	text, err := json.Marshal(given)
	if err != nil {
		return settings
	}
	return text
}

// RegisterOptimizer makes optimizers available to configurations, as RegisterLayer
// does for layers.
func RegisterOptimizer[S any, O Optimizer](name string, make func(settings S) O, defaults S) bool {
	return register(&optimizers, name, make, defaults)
}

// OptimizerFromConfig builds the optimizer that description describes: "adam",
// {"sgd": 0.1} or {"sgd": {"lr": 0.1, "momentum": 0.9}}.
func OptimizerFromConfig(description any) (Optimizer, error) {
	return optimizers.fromConfig(description)
}

// DescribeOptimizer returns the settings of o as OptimizerFromConfig reads them.
func DescribeOptimizer(o Optimizer) (any, error) { return optimizers.describe(o) }

// OptimizerState holds an optimizer's step count, its parameter groups and its
// per-parameter buffers, such as momentum. Optimizers embed it and Setup it.
type OptimizerState struct {
	bufferNames []string                                    // "momentum", or "first_moment" and "second_moment"
	buffers     map[string][]*tensor.Tensor                 // by parameter name, in the order of their layout
	layout      func(name string, shape []int) []bufferSpec // nil for bufferNames of each parameter's shape
	made        map[string][]bufferSpec                     // of buffers
	steps       int                                         // number of updates so far
	captured    tensor.StepArgs                             // step arguments in device memory; CountStep counts steps then
	groups      paramGroups
	initial     float64           // value of the buffers before the first step
	ranges      map[string][2]int // that a step updates, of each parameter; nil for all
	ready       bool              // Setup was called
}

// A bufferSpec is the name and shape of a buffer of a parameter.
type bufferSpec struct {
	name  string
	shape []int
}

// Setup prepares the state of the named optimizer with that initial learning rate,
// groups and names of buffers, before its first step. It panics with a
// *tensor.Error if a group is wrong.
func (s *OptimizerState) Setup(optimizer string, rate float64, groups []ParamGroup, bufferNames ...string) {
	s.bufferNames, s.groups, s.ready = bufferNames, newParamGroups(optimizer, rate, groups), true
}

// ExcludeDecay makes the weight decay of the parameters that match patterns 0: *.bias. Constructors call it after Setup.
func (s *OptimizerState) ExcludeDecay(optimizer string, patterns Names) {
	checkPatterns(optimizer, "no_decay", patterns)
	s.groups.noDecay = patterns
}

// specs returns the buffers of a parameter.
func (s *OptimizerState) specs(name string, shape []int) []bufferSpec {
	if s.layout != nil {
		return s.layout(name, shape)
	}
	list := make([]bufferSpec, len(s.bufferNames))
	for i, buffer := range s.bufferNames {
		list[i] = bufferSpec{buffer, shape}
	}
	return list
}

// Update counts a step and calls update with the parameters that have a gradient
// in grads, group by group. It is an error if none has, or a group matches none of
// params.
func (s *OptimizerState) Update(params iter.Seq2[string, *Parameter], grads tensor.Grads, update func(UpdateGroup)) error {
	return tensor.Try(func() {
		if !s.ready {
			tensor.Fail("optimizer", storage.ErrState, "an optimizer without state; make it by its constructor")
		}
		lists := make([][2][]tensor.Update, len(s.groups.groups)+1) // with weight decay, and without
		members := make([]int, len(lists))
		all, updated, excluded := 0, 0, 0
		for name, p := range params {
			all++
			i, kind := s.groups.find(name), 0
			members[i]++
			if s.groups.noDecay.match(name) {
				kind = 1
				excluded++
			}
			u, ok := s.updateOf(name, p, grads[p.Tensor], s.groups.frozen(i))
			if ok {
				lists[i][kind] = append(lists[i][kind], u)
			}
			if ok || s.ranges != nil {
				updated++
			}
		}
		if all > 0 && excluded == 0 && len(s.groups.noDecay) > 0 {
			tensor.Fail("optimizer", ErrConfig, "no parameter matches no_decay %v", []string(s.groups.noDecay))
		}
		if all > 0 && updated == 0 {
			tensor.Fail("optimizer", storage.ErrState, "none of %d parameters has a gradient; compute the loss from these parameters, after To and not before", all)
		}
		if i := slices.Index(members[:len(lists)-1], 0); i >= 0 && all > 0 {
			tensor.Fail("optimizer", ErrConfig, "no parameter matches the params %v of a group", []string(s.groups.groups[i].Params))
		}
		if s.captured == nil {
			s.steps++
		}
		for i := range lists {
			for kind, list := range lists[i] {
				decay := s.groups.decay(i)
				if kind == 1 {
					decay = new(0.0)
				}
				if len(list) > 0 {
					update(UpdateGroup{list, s.groups.factor(i), decay, s.groups.argsOf(s.captured, i)})
				}
			}
		}
	})
}

// updateOf returns the update of a parameter, and false if it has none.
func (s *OptimizerState) updateOf(name string, p *Parameter, grad *tensor.Tensor, frozen bool) (u tensor.Update, ok bool) {
	r, divided := s.ranges[name]
	if frozen || grad == nil && !divided {
		return u, false
	}
	u = tensor.Update{Leaf: p.Tensor, Grad: grad, State: s.buffersOf(name, p)}
	if !divided || r[1]-r[0] == p.Len() {
		return u, grad != nil
	}
	part := func(x *tensor.Tensor) *tensor.Tensor { return x.Detach().Reshape(-1).Narrow(0, r[0], r[1]-r[0]) }
	u.Leaf, u.State = part(u.Leaf), slices.Clone(u.State)
	for i, b := range u.State {
		u.State[i] = part(b)
	}
	return u, grad != nil && r[1] > r[0]
}

// divide makes steps update ranges of the parameters.
func (s *OptimizerState) divide(ranges map[string][2]int) { s.ranges = ranges }

// Freezes reports whether a group leaves the parameter of this name as it is.
func (s *OptimizerState) Freezes(name string) bool { return s.groups.frozen(s.groups.find(name)) }

// SetStepArgs makes steps read their hyperparameters from args.
func (s *OptimizerState) SetStepArgs(args tensor.StepArgs) { s.captured = args }

// buffersOf returns the buffers of p, zeros at first. They follow p to another
// device.
func (s *OptimizerState) buffersOf(name string, p *Parameter) []*tensor.Tensor {
	if have, ok := s.buffers[name]; ok {
		moveBuffers(have, p.Device())
		return have
	}
	if s.buffers == nil {
		s.buffers, s.made = map[string][]*tensor.Tensor{}, map[string][]bufferSpec{}
	}
	specs := s.specs(name, p.Shape())
	made := make([]*tensor.Tensor, len(specs))
	for i, spec := range specs {
		a, err := storage.Make(p.Device(), p.DType(), spec.shape...)
		if err != nil {
			tensor.Fail("optimizer", err, "%s of %s: %v", spec.name, name, err)
		}
		made[i] = tensor.FromArray(a)
		made[i].Fill(s.initial)
	}
	s.buffers[name], s.made[name] = made, specs
	return made
}

// MoveTo moves the buffers to device d. Step does so for each parameter that has
// moved.
func (s *OptimizerState) MoveTo(d storage.Device) error {
	return tensor.Try(func() {
		for _, buffers := range s.buffers {
			moveBuffers(buffers, d)
		}
	})
}

// moveBuffers moves buffers to d, unless they are there.
func moveBuffers(buffers []*tensor.Tensor, d storage.Device) {
	for i, b := range buffers {
		buffers[i] = b.To(d)
	}
}

// State yields the step count and the buffers.
func (s *OptimizerState) State() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		if !yield("step", storage.From([]int64{int64(s.steps)})) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(s.buffers)) {
			for i, spec := range s.made[name] {
				if !yield(spec.name+"/"+name, s.buffers[name][i].Array()) {
					return
				}
			}
		}
	}
}

// Load replaces the state by a copy of state, as State yields it. On an error
// nothing changes.
func (s *OptimizerState) Load(params iter.Seq2[string, *Parameter], state iter.Seq2[string, storage.Array]) error {
	loaded := OptimizerState{bufferNames: s.bufferNames, layout: s.layout, buffers: map[string][]*tensor.Tensor{}, made: map[string][]bufferSpec{}}
	known, given := maps.Collect(params), maps.Collect(state)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if key == "step" {
			continue
		}
		buffer, name, _ := strings.Cut(key, "/")
		p, ok := known[name]
		at := -1
		if ok {
			at = slices.IndexFunc(s.specs(name, p.Shape()), func(b bufferSpec) bool { return b.name == buffer })
		}
		if at < 0 {
			return errkind.Errorf(storage.ErrState, "load optimizer: unexpected %s; want %v of each parameter", key, s.bufferNames)
		}
		if err := loaded.loadBuffer(at, name, p, given[key]); err != nil {
			return fmt.Errorf("load optimizer: %s: %w", key, err)
		}
	}
	return s.replace(loaded, given)
}

// loadBuffer copies a into the buffer of p at an index.
func (s *OptimizerState) loadBuffer(at int, name string, p *Parameter, a storage.Array) (err error) {
	if want := s.specs(name, p.Shape())[at].shape; !slices.Equal(a.Shape, want) {
		return errkind.Errorf(views.ErrShape, "shape %v; want %v", a.Shape, want)
	}
	failed := tensor.Try(func() { err = a.CopyTo(s.buffersOf(name, p)[at].Array()) })
	if failed != nil {
		return failed
	}
	return err
}

// replace replaces the state of s by loaded if given was complete.
func (s *OptimizerState) replace(loaded OptimizerState, given map[string]storage.Array) error {
	step, ok := given["step"]
	if !ok || step.Len() != 1 {
		return errkind.Errorf(storage.ErrState, "load optimizer: no step count in %d arrays; want \"step\", a single number", len(given))
	}
	want := 1
	for _, specs := range loaded.made {
		want += len(specs)
	}
	if len(given) != want {
		return errkind.Errorf(storage.ErrState, "load optimizer: %d arrays; want %v of each parameter and \"step\", %d in all", len(given), s.bufferNames, want)
	}
	count, err := storage.Make(storage.CPU, dtype.Int64)
	if err != nil {
		return err
	}
	step.View, _ = step.Reshape()
	if err := step.CopyTo(count); err != nil {
		return fmt.Errorf("load optimizer: step: %w", err)
	}
	s.buffers, s.made, s.steps = loaded.buffers, loaded.made, int(storage.Elements[int64](count)[0])
	return nil
}

// RateFactors returns what to multiply the learning rate by in each UpdateGroup, for
// StepArgs: the hyperparameters of the groups follow one another.
func (s *OptimizerState) RateFactors() []float64 {
	factors := make([]float64, len(s.groups.groups)+1)
	for i := range factors {
		factors[i] = s.groups.factor(i)
	}
	return factors
}

// CountStep counts a step.
func (s *OptimizerState) CountStep() { s.steps++ }

// Steps returns the number of updates so far.
func (s *OptimizerState) Steps() int { return s.steps }
