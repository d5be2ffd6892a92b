// Package nn is models: parameters with names, layers, losses and optimizers.
//
// A model is any value that reaches *[Param] and *[Buffer] through exported
// fields, slices, maps with string keys and an embedded [Registry]. Field names
// are parameter names, lower-case and dotted, in files and in errors:
//
//	type Net struct{ Hidden, Out *nn.Linear } // hidden.weight, hidden.bias, out.weight, …
//
// A field is a parameter because its type says so; plain tensors are never
// touched. The tag `nn:"name"` names a field otherwise, `nn:"-"` hides it.
//
// Building and running a model are expressions: they panic with *tensor.Error,
// which tensor.Step, Infer and Try return. Everything else returns an error.
// Opening files belongs to package serialize, loops over data to package train.
package nn

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Module maps a batch to a batch.
type Module interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}

// Params yields the parameters inside model with their names, in field order.
// One that is reached twice is yielded once, under its first name.
func Params(model any) iter.Seq2[string, *Param] {
	return func(yield func(string, *Param) bool) {
		walk(model, visitor{param: func(name string, s slot[*Param]) bool { return yield(name, s.held) }})
	}
}

// Buffers yields the running statistics inside model, as Params does parameters.
func Buffers(model any) iter.Seq2[string, *Buffer] {
	return func(yield func(string, *Buffer) bool) {
		walk(model, visitor{buffer: func(name string, s slot[*Buffer]) bool { return yield(name, s.held) }})
	}
}

// Modules yields the modules inside model, model included, outer ones first.
func Modules(model any) iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) {
		walk(model, visitor{module: yield})
	}
}

// State yields the arrays that make model what it is: parameters and buffers.
func State(model any) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		walk(model, visitor{
			param:  func(name string, s slot[*Param]) bool { return yield(name, s.held.Array) },
			buffer: func(name string, s slot[*Buffer]) bool { return yield(name, s.held.Array) },
		})
	}
}

// Load fills model with arrays of the same names, types converted. Either all
// of it is loaded or nothing: a name or a shape that does not match is an error.
func Load(model any, arrays iter.Seq2[string, storage.Array]) error {
	found := maps.Collect(arrays)
	state := maps.Collect(State(model))
	if err := match(model, found, state); err != nil {
		return fmt.Errorf("load model: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(state)) {
		if err := found[name].CopyTo(state[name]); err != nil {
			return fmt.Errorf("load model: %s: %w", name, err)
		}
	}
	return nil
}

// match reports in what found is not a state of model.
func match(model any, found, want map[string]storage.Array) error {
	if missing := without(want, found); len(missing) > 0 {
		return mistake(storage.ErrState, "%s not there; want all of the model's %d arrays", list(missing), len(want))
	}
	if extra := without(found, want); len(extra) > 0 {
		return mistake(storage.ErrState, "the model has no %s%s", list(extra), lazyOnes(model))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have, want := found[name].Shape, want[name].Shape; !slices.Equal(have, want) {
			return mistake(views.ErrShape, "%s is %v; want %v", name, have, want)
		}
	}
	return nil
}

// without returns the names in a that b lacks.
func without(a, b map[string]storage.Array) []string {
	var names []string
	for name := range a {
		if _, ok := b[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// list names the first few names.
func list(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// lazyOnes hints at the layers of model that cannot hold anything yet.
func lazyOnes(model any) string {
	for name, m := range Modules(model) {
		if l, ok := m.(lazy); ok && !l.IsBuilt() {
			return fmt.Sprintf(" (layer %q is not built; Build the model first)", name)
		}
	}
	return ""
}

// A lazy module makes its parameters when it first sees data.
type lazy interface {
	IsBuilt() bool
	plant(o origin)          // says what the first values will be drawn from
	settle(d storage.Device) // says where the parameters will be
	settled() storage.Device // where that is; nil if it is the first input's
}
