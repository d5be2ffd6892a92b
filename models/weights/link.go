// Package weights computes the arrays of a model's weights in one framework from those in
// another: links between their names, operations with an inverse, and the rules of a user.
//
// It knows arrays. Layers belong to package models/keras, files to the packages below serialize.
package weights

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

// A Link says that weights of a layer and parameters of its counterpart in another
// framework are the same numbers, laid out differently.
type Link struct {
	From []string // names of weights: "kernel" of a layer, "dense/kernel" of a model
	To   []string // names of parameters: "weight", "dense.weight"
	Op   Op
}

// A Tensor is an array of a converted model.
type Tensor struct {
	Name      string
	Array     storage.Array
	From      []string                 // names of the arrays that it is computed from
	Operation string                   // such as "transpose(1 0)"
	Slots     map[string]storage.Array // the optimizer's buffers by Keras's names; nil for what is not trained
	Constant  bool                     // whether it stands for a weight that the other framework does not have, and does not train
}

// Forward computes the parameters from the weights, which are in the order of From.
func (l Link) Forward(from []Tensor) ([]Tensor, error) { return computed(l.Op, from, l.To) }

// Backward computes the weights from the parameters, which are in the order of To.
func (l Link) Backward(to []Tensor) ([]Tensor, error) { return computed(InverseOp(l.Op), to, l.From) }

// computed returns the tensors with these names that op makes of others, and of the optimizer's buffers that all of these
// have: only some may be trained.
func computed(op Op, from []Tensor, names []string) ([]Tensor, error) {
	var sources []string
	var arrays []storage.Array
	slots := map[string][]storage.Array{}
	for _, t := range from {
		sources, arrays = append(sources, t.Name), append(arrays, t.Array)
		for slot, a := range t.Slots {
			slots[slot] = append(slots[slot], a)
		}
	}
	out, err := op.Forward(arrays)
	if err != nil {
		return nil, err
	}
	if len(out) != len(names) {
		return nil, fmt.Errorf("%v makes %d arrays of %d, and there are %d names in to; concat or split: %w", op, len(out), len(from), len(names), ErrAmbiguous)
	}
	list := make([]Tensor, len(out))
	for i, a := range out {
		list[i] = Tensor{Name: names[i], Array: a, From: sources, Operation: op.String(), Constant: slices.Contains(op.constants, i)}
	}
	for _, slot := range slices.Sorted(maps.Keys(slots)) {
		if len(slots[slot]) != len(from) {
			continue
		}
		buffers, err := op.ForwardSlots(slots[slot])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", slot, err)
		}
		for i, a := range buffers {
			if list[i].Slots == nil {
				list[i].Slots = map[string]storage.Array{}
			}
			list[i].Slots[slot] = a
		}
	}
	return list, nil
}

// ErrUnsupported is the kind of error, for errors.Is, of a layer or a setting that the
// other framework cannot express.
var ErrUnsupported = errors.New("not supported by the other framework")

// ErrAmbiguous is the kind of error, for errors.Is, of a tensor that may be converted in
// several ways.
var ErrAmbiguous = errors.New("ambiguous")

// ErrShape is the kind of error, for errors.Is, of a parameter whose shape does not fit
// the architecture.
var ErrShape = errors.New("shape does not fit the architecture")
