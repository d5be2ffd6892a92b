package models

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// Load returns the model in the named file, which says how it is made: a model of Keras (.keras, .h5), an ONNX model, a run of h5dnn, or
// what was converted from one. Its inputs are the inputs of the file, before normalization; [Plan.Run] has that, too.
// Weights alone, as PyTorch saves them, are read into a model by [LoadWeights].
func Load(name string) (nn.Module, error) {
	source, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	if _, ok := source.File.(onnx.Model); ok {
		return onnxOf(source.File)
	}
	return source.module()
}

// module returns the model of a source in host memory.
func (s *Source) module() (nn.Module, error) {
	plan, err := New(s, "h5dn", Options{Framework: H5dnn})
	if err != nil {
		return nil, err
	}
	run, err := plan.Run(storage.CPU)
	if err != nil {
		return nil, err
	}
	return run.Model, nil
}

// LoadWeights copies the weights in the named file into a model of the same parameters, which is built: a state_dict of
// PyTorch (.pt, .safetensors, …) with PyTorch's names or the names of the model, a run of h5dnn, or a model of Keras whose
// layers have the model's names, or else all of them others, and arrays of the same shapes in the same order. States of optimizers are left out. Parameters that the file lacks, and arrays that the
// model lacks, are an error, and nothing is copied then. Parameters that a pattern in except matches (path.Match) stay as they are,
// and such arrays of the file are left out.
func LoadWeights(model nn.Module, name string, except ...string) error {
	source, err := Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	found := map[string]storage.Array{}
	switch source.Framework {
	case Keras:
		from, err := source.module()
		if err != nil {
			return err
		}
		found = namedAs(model, from, except)
	case H5dnn:
		for _, e := range source.Entries {
			if name, ok := strings.CutPrefix(e.Name, runModel); ok {
				found[name] = e.Array
			}
		}
	default:
		if found, err = source.stateOf(model); err != nil {
			return err
		}
	}
	if err := leaveOut(model, found, except); err != nil {
		return err
	}
	if err := nn.LoadStateDict(model, maps.All(found)); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// namedAs returns the state of from, without the names that except matches under the names of model, in order, if both have the same
// number of arrays with the same shapes and no name in common.
func namedAs(model, from nn.Module, except []string) map[string]storage.Array {
	state := func(m nn.Module) (names []string, arrays map[string]storage.Array) {
		arrays = maps.Collect(nn.StateDict(m))
		for name := range nn.StateDict(m) {
			if !slices.ContainsFunc(except, func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }) {
				names = append(names, name)
			}
		}
		return names, arrays
	}
	theirs, found := state(from)
	ours, want := state(model)
	alike := len(theirs) == len(ours)
	for i := 0; alike && i < len(ours); i++ {
		_, common := found[ours[i]]
		alike = !common && slices.Equal(found[theirs[i]].Shape, want[ours[i]].Shape)
	}
	if alike {
		renamed := maps.Clone(found)
		for i, name := range theirs {
			delete(renamed, name)
			renamed[ours[i]] = found[name]
		}
		return renamed
	}
	return found
}

// leaveOut puts the arrays of the model in the place of those that except matches. A pattern that matches nothing is an error.
func leaveOut(model nn.Module, found map[string]storage.Array, except []string) error {
	state := maps.Collect(nn.StateDict(model))
	for _, pattern := range except {
		matched := false
		for _, arrays := range []map[string]storage.Array{found, state} {
			for _, name := range slices.Collect(maps.Keys(arrays)) {
				if ok, err := path.Match(pattern, name); err != nil {
					return fmt.Errorf("pattern %q: %w", pattern, err)
				} else if !ok {
					continue
				}
				matched = true
				if a, ok := state[name]; ok {
					found[name] = a
				} else {
					delete(found, name)
				}
			}
		}
		if !matched {
			return errkind.Errorf(storage.ErrState, "no parameter is %q; names are such as %s", pattern, firstName(state))
		}
	}
	return nil
}

// firstName returns the first name of arrays.
func firstName(arrays map[string]storage.Array) string {
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		return name
	}
	return "none"
}

var _ = train.RegisterWeights(LoadWeights)

// stateOf returns the arrays of a state_dict by the names that a model of h5dnn gives them.
func (s *Source) stateOf(model nn.Module) (map[string]storage.Array, error) {
	parameters, err := parametersOf(model, nil)
	if err != nil {
		return nil, err
	}
	names := map[string]string{} // of PyTorch
	for _, p := range parameters {
		names[p.pytorch] = p.h5dnn
	}
	found := map[string]storage.Array{}
	for _, e := range s.Entries {
		name, known := names[parametrized(e.Name)]
		switch {
		case s.isOptimizerState(e.Name) || known && name == "": // a counter
		case known:
			found[name] = e.Array
		default:
			found[e.Name] = e.Array
		}
	}
	return found, nil
}

// Save writes a model, which is built, to the named file, in the format of the extension: .keras as a model of Keras, .h5 and .h5dn as a run
// of h5dnn, and others, such as .pt and .safetensors, as a state_dict with PyTorch's names. The first two keep the layers, and need the
// shape of a sample of each input, as the model takes it: images with the channels first. The file is replaced
// when it is complete.
func Save(name string, model nn.Module, samples ...[]int) error {
	format, err := serialize.ByExtension(name)
	if err != nil {
		return err
	}
	if !keepsRuns(format.Name) && FrameworkOf(format.Name) == PyTorch {
		return saveState(name, model)
	}
	if len(samples) == 0 {
		return fmt.Errorf("save %s: the file keeps the layers, for which the shapes of a sample of each input are needed; pass them: %w", name, fs.ErrInvalid)
	}
	source, err := FromModule(model, samples...)
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	defer source.Close()
	plan, err := New(source, format.Name, Options{})
	if err == nil {
		err = plan.Err()
	}
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return plan.Write(context.Background(), name)
}

// saveState writes the parameters and buffers of a model with PyTorch's names.
func saveState(name string, model nn.Module) error {
	parameters, err := parametersOf(model, nil)
	if err != nil {
		return err
	}
	state := map[string]storage.Array{}
	for name, a := range nn.StateDict(model) {
		state[name] = a
	}
	if len(state) == 0 {
		return errors.New("save " + name + ": the model has no parameters; build it first")
	}
	return serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for _, p := range parameters {
			a, err := weights.Zeros(dtype.Int64), error(nil)
			if p.h5dnn != "" {
				a, err = state[p.h5dnn].To(storage.CPU)
			}
			if !yield(serialize.Entry{Name: p.pytorch, Array: a}, err) {
				return
			}
		}
	}})
}
