// Package nn provides models: layers, named parameters, losses and optimizers.
//
// A model is any value with *[Parameter] and *[Buffer] in its exported fields, slices,
// maps with string keys or an embedded [Registry], at any depth. Parameters are
// named after fields, in lower case and dotted, in files and in errors:
//
//	type Net struct{ Hidden, Out *nn.Linear } // hidden.weight, hidden.bias, out.weight, …
//
// Only fields of these types are parameters; plain tensors are never trained. The
// tag `nn:"name"` gives a field another name and `nn:"-"` hides it.
//
// Layers and optimizers are made from options. Zero fields of an options struct
// stand for their defaults:
//
//	nn.NewAdam(nn.AdamOptions{LearningRate: 1e-3})
//
// In a configuration a setting that is absent has its default, and an explicit
// zero is zero.
//
// Constructors and Forward panic with *tensor.Error, which tensor.Step, Infer and
// Try return. Other functions return errors. Package serialize reads and writes
// files, package train has the training loop.
package nn

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Module maps a batch to a batch.
type Module interface {
	Forward(x *tensor.Tensor) *tensor.Tensor
}

// Parameters yields the parameters inside model with their names, in field order. A
// shared parameter is yielded once, under its first name.
func Parameters(model any) iter.Seq2[string, *Parameter] {
	return func(yield func(string, *Parameter) bool) {
		walk(model, visitor{param: func(name string, s reference[*Parameter]) bool { return yield(name, s.value) }})
	}
}

// Buffers yields the buffers inside model with their names, as Parameters does.
func Buffers(model any) iter.Seq2[string, *Buffer] {
	return func(yield func(string, *Buffer) bool) {
		walk(model, visitor{buffer: func(name string, s reference[*Buffer]) bool { return yield(name, s.value) }})
	}
}

// Modules yields the modules inside model, model included, outer ones first.
func Modules(model any) iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) {
		walk(model, visitor{module: yield})
	}
}

// StateDict yields the arrays to save of model: parameters and buffers.
func StateDict(model any) iter.Seq2[string, storage.Array] {
	return func(yield func(string, storage.Array) bool) {
		walk(model, visitor{
			param:  func(name string, s reference[*Parameter]) bool { return yield(name, s.value.Array()) },
			buffer: func(name string, s reference[*Buffer]) bool { return yield(name, s.value.Array) },
		})
	}
}

// LoadStateDict copies arrays into the parameters and buffers of model of the same names,
// converting types. A missing or unknown name or another shape is an error, and
// nothing is loaded then.
func LoadStateDict(model any, arrays iter.Seq2[string, storage.Array]) error {
	found := maps.Collect(arrays)
	state := maps.Collect(StateDict(model))
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

// match reports names and shapes in which found differs from want, the state of model.
func match(model any, found, want map[string]storage.Array) error {
	if missing := missingFrom(want, found); len(missing) > 0 {
		return errkind.Errorf(storage.ErrState, "missing %s; want all %d arrays of the model", list(missing), len(want))
	}
	if extra := missingFrom(found, want); len(extra) > 0 {
		return errkind.Errorf(storage.ErrState, "the model has no %s%s", list(extra), unbuiltHint(model))
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if have, want := found[name].Shape, want[name].Shape; !slices.Equal(have, want) {
			return errkind.Errorf(views.ErrShape, "%s is %v; want %v", name, have, want)
		}
	}
	return nil
}

// missingFrom returns the names in a that b lacks.
func missingFrom(a, b map[string]storage.Array) []string {
	var names []string
	for name := range a {
		if _, ok := b[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// list joins the first few names.
func list(names []string) string {
	const few = 4
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// unbuiltHint names a layer of model that has no parameters yet, for messages.
func unbuiltHint(model any) string {
	for name, m := range Modules(model) {
		if l, ok := m.(Lazy); ok && !l.IsBuilt() {
			return fmt.Sprintf(" (layer %q is not built; Build the model first)", name)
		}
	}
	return ""
}

// A Lazy module makes its parameters when it sees its first input. Modules that
// embed Weights are.
type Lazy interface {
	IsBuilt() bool
	SetInit(s InitSource)
	SetDevice(d storage.Device)
	SetDefaultDevice(d storage.Device)
}
