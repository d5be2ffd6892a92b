package nn

import (
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// An Optimizer moves parameters against their gradients. What it remembers of
// each it keeps under the parameter's name, where the parameter is.
type Optimizer interface {
	// Step updates, in place, every parameter that grads has a gradient for.
	Step(params iter.Seq2[string, *Param], grads tensor.Grads) error
	// Rate and SetRate are the learning rate.
	Rate() float64
	SetRate(rate float64)
	// State yields what Step builds on: the count of steps as "step", and arrays
	// such as "momentum/hidden.weight".
	State() iter.Seq2[string, storage.Array]
	// Load puts a State in the place of what the optimizer remembers, for the
	// params it will be asked to update.
	Load(params iter.Seq2[string, *Param], state iter.Seq2[string, storage.Array]) error
}

// A Steerable optimizer can be told in memory what changes from step to step, so
// that a Step which is recorded once can run again and again.
type Steerable interface {
	Optimizer
	// Steer makes Step find there what it would take from its settings and its
	// count, on the parameters' device: dials, float64 (3), which are to hold what
	// Advance returned when the step runs, and perhaps a guard, as package tensor
	// describes them. Step counts no steps then. An empty steering ends that.
	Steer(by tensor.StepArgs)
	// Advance counts a step and returns its dials.
	Advance() [3]float64
}

var optimizers = catalog[Optimizer]{kind: "optimizer"}

// RegisterOptimizer does for optimizers what RegisterLayer does for layers.
func RegisterOptimizer[S any, O Optimizer](name string, make func(settings S) O, defaults S) bool {
	return enter(&optimizers, name, make, defaults)
}

// OptimizerFromConfig builds what description describes: "adam", {"sgd": 0.1}
// or {"sgd": {"lr": 0.1, "momentum": 0.9}}.
func OptimizerFromConfig(description any) (Optimizer, error) {
	text, err := json.Marshal(description)
	if err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	return optimizers.build(text)
}

// DescribeOptimizer returns o's settings as OptimizerFromConfig reads them.
func DescribeOptimizer(o Optimizer) (any, error) { return optimizers.describe(o) }

// A Memory is what an optimizer remembers of the steps so far: some buffers of
// each parameter's shape, and how many steps there were. Optimizers embed it.
type Memory struct {
	kinds []string                    // of buffers
	rooms map[string][]*tensor.Tensor // by parameter, in the order of kinds
	count int                         // of steps
	by    tensor.StepArgs             // of updates; the steps are counted by Advance then
}

// step calls update with all parameters that have a gradient, and their buffers.
func (m *Memory) step(params iter.Seq2[string, *Param], grads tensor.Grads, update func(of []tensor.Update)) error {
	return tensor.Try(func() {
		if m.by == nil {
			m.count++
		}
		var of []tensor.Update
		for name, p := range params {
			if g := grads[p.Tensor]; g != nil {
				of = append(of, tensor.Update{Leaf: p.Tensor, Grad: g, State: m.room(name, p)})
			}
		}
		update(of)
	})
}

// Steer makes steps find in memory what changes between them.
func (m *Memory) Steer(by tensor.StepArgs) { m.by = by }

// room returns p's buffers, zeros at first.
func (m *Memory) room(name string, p *Param) []*tensor.Tensor {
	if room, ok := m.rooms[name]; ok {
		return room
	}
	if m.rooms == nil {
		m.rooms = map[string][]*tensor.Tensor{}
	}
	room := make([]*tensor.Tensor, len(m.kinds))
	for i := range room {
		a, err := storage.Make(p.Data.Device(), p.Type, p.Shape...)
		if err != nil {
			tensor.Fail("optimizer", err, "%s of %s: %v", m.kinds[i], name, err)
		}
		room[i] = tensor.Of(a)
		room[i].Zero()
	}
	m.rooms[name] = room
	return room
}

// State yields the buffers by kind and parameter, and the count of steps.
func (m *Memory) State() iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		if !yield("step", storage.From([]int64{int64(m.count)})) {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(m.rooms)) {
			for i, kind := range m.kinds {
				if !yield(kind+"/"+name, m.rooms[name][i].Array) {
					return
				}
			}
		}
	}
}

// Load puts state, as State yields it, in the place of what m remembers. If
// something does not fit, nothing changes.
func (m *Memory) Load(params iter.Seq2[string, *Param], state iter.Seq2[string, storage.Array]) error {
	fresh := Memory{kinds: m.kinds, rooms: map[string][]*tensor.Tensor{}}
	known, given := maps.Collect(params), maps.Collect(state)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if key == "step" {
			continue
		}
		kind, name, _ := strings.Cut(key, "/")
		p, ok := known[name]
		if !ok || !slices.Contains(m.kinds, kind) {
			return mistake(storage.ErrState, "load optimizer: no place for %s; it keeps %v of each parameter", key, m.kinds)
		}
		if err := fresh.fill(kind, name, p, given[key]); err != nil {
			return fmt.Errorf("load optimizer: %s: %w", key, err)
		}
	}
	return m.adopt(fresh, given)
}

// fill copies a into the buffer of that kind that belongs to p.
func (m *Memory) fill(kind, name string, p *Param, a storage.Array) (err error) {
	if !slices.Equal(a.Shape, p.Shape) {
		return mistake(views.ErrShape, "shape %v; want %v", a.Shape, p.Shape)
	}
	failed := tensor.Try(func() { err = a.CopyTo(m.room(name, p)[slices.Index(m.kinds, kind)].Array) })
	if failed != nil {
		return failed
	}
	return err
}

// adopt replaces m by fresh if given was complete.
func (m *Memory) adopt(fresh Memory, given map[string]storage.Array) error {
	step, ok := given["step"]
	if !ok || step.Len() != 1 {
		return mistake(storage.ErrState, "load optimizer: no count of steps in %d arrays; want \"step\", a single number", len(given))
	}
	if want := len(fresh.rooms)*len(m.kinds) + 1; len(given) != want {
		return mistake(storage.ErrState, "load optimizer: %d arrays; want %v of each parameter and \"step\", %d in all", len(given), m.kinds, want)
	}
	count, err := storage.Make(storage.CPU, dtype.Int64)
	if err != nil {
		return err
	}
	step.View, _ = step.Reshape()
	if err := step.CopyTo(count); err != nil {
		return fmt.Errorf("load optimizer: step: %w", err)
	}
	m.rooms, m.count = fresh.rooms, int(storage.Elements[int64](count)[0])
	return nil
}

// Steps returns how many steps the optimizer has made.
func (m *Memory) Steps() int { return m.count }
