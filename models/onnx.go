package models

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/models/onnxgraph"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/onnx"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
	"github.com/h5dnn/h5dnn/views"
)

// IsONNX reports whether the named file is an ONNX model.
func IsONNX(name string) bool {
	f, err := serialize.FormatOf(name)
	return err == nil && f.Name == "onnx"
}

// OpenONNX returns the model in the named ONNX file, with its weights in memory. Operators that h5dnn does not compute
// are an [onnxgraph.MissingOperatorsError].
func OpenONNX(name string, options ...serialize.Options) (*onnxgraph.Model, error) {
	f, err := serialize.Open(name, options...)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := onnxOf(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

func onnxOf(f serialize.File) (*onnxgraph.Model, error) {
	model, ok := f.(onnx.Model)
	if !ok {
		return nil, fmt.Errorf("not an ONNX model: %w", serialize.ErrFormat)
	}
	g, err := model.Graph()
	if err != nil {
		return nil, err
	}
	return onnxgraph.New(g)
}

// ONNXRun returns a run of an ONNX model that predicts, with the weights on d. Where the model leaves sizes of
// samples open, shapes has the samples of each input by its name; without them that is an [InputShapeError].
func ONNXRun(m *onnxgraph.Model, shapes map[string][]int, d storage.Device) (*train.Run, error) {
	var types []dtype.Type
	var samples [][]int
	for _, in := range m.Inputs() {
		shape, err := sampleOf(in, shapes[in.Name])
		if err != nil {
			return nil, err
		}
		t := dtype.Float32
		if in.DType.IsInt() || in.DType == dtype.Bool {
			t = in.DType
		}
		types, samples = append(types, t), append(samples, shape)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("the model has no inputs: %w", views.ErrShape)
	}
	if err := m.CheckSamples(types, samples); err != nil {
		return nil, err
	}
	run, err := train.ImportedModel(m, d, types, samples...)
	if err != nil {
		return nil, err
	}
	run.Config.Data.ClassNames = map[string][]string{}
	for _, out := range m.Outputs() {
		if out.Classes != nil {
			run.Config.Data.ClassNames[out.Name] = out.Classes
		}
	}
	return run, nil
}

// fromONNX returns the run that s, an ONNX model, becomes, in memory.
func (s *Source) fromONNX(file onnx.Model, o Options) (*Source, error) {
	g, err := file.Graph()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	samples := map[string][]int{}
	for _, in := range g.Inputs {
		if _, constant := g.Initializers[in.Name]; constant {
			continue
		}
		if samples[in.Name], err = sampleOf(onnxgraph.Value{Value: in}, o.inputShape(in.Name)); err != nil {
			return nil, err
		}
	}
	if err := o.checkInputs(slices.Sorted(maps.Keys(samples))); err != nil {
		return nil, err
	}
	layers, err := onnxgraph.ToLayers(g, samples)
	if err != nil {
		return nil, err
	}
	c := train.Defaults()
	c.Model, c.Loss = layers.Description, "mse"
	model, err := c.BuildModel(layers.Shapes...)
	if err != nil {
		return nil, err
	}
	features, err := train.InputsOf(model, c, layers.Shapes...)
	if err != nil {
		return nil, err
	}
	for i, in := range layers.Inputs {
		if in.DType.IsInt() {
			features[i].Type = in.DType
		}
	}
	meta, state, err := train.ImportedRun(c, features)
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(len(layers.Weights), meta, func() error { return nil })
	for _, name := range slices.Sorted(maps.Keys(layers.Weights)) {
		if err := list.Add(serialize.Entry{Name: runModel + name, Array: layers.Weights[name]}, nil); err != nil {
			return nil, err
		}
	}
	for name, a := range state {
		if err := list.Add(serialize.Entry{Name: name, Array: a}, nil); err != nil {
			return nil, err
		}
	}
	run, err := train.ResumeFile(list, s.Name, storage.CPU)
	if err != nil {
		return nil, err
	}
	made := &Source{File: list, Name: s.Name, Framework: H5dnn, Config: &run.Config, optimizerState: s.optimizerState}
	if layers.Label != "" {
		made.notes = []string{fmt.Sprintf("1 output left out: %s, which names the class by the values of %s: %s", layers.Label, layers.Outputs[0], strings.Join(layers.Classes, ", "))}
	}
	if n := len(layers.Copies); n > 0 {
		made.notes = append(made.notes, fmt.Sprintf("%d layers have the weights of others in IN, and are trained apart: %s", n, strings.Join(layers.Copies, ", ")))
	}
	made.Entries, err = serialize.Collect(list)
	return made, err
}

// sampleOf returns the shape of a sample of an input, of which data of a shape is given if it is not nil.
func sampleOf(in onnxgraph.Value, data []int) ([]int, error) {
	if in.Type != "" && !in.DType.Valid() {
		return nil, fmt.Errorf("the input %s is of type %s, which h5dnn does not predict from: %w", in.Name, in.Type, dtype.ErrType)
	}
	if in.Shape == nil {
		if data == nil {
			return nil, &InputShapeError{}
		}
		return data, nil
	}
	if len(in.Shape) == 0 {
		return nil, fmt.Errorf("the input %s is a single number, which has no axis of samples: %w", in.Name, views.ErrShape)
	}
	shape := make([]int, len(in.Shape)-1)
	for axis, d := range in.Shape[1:] {
		if shape[axis] = d.Size; d.Size < 0 && data == nil {
			return nil, &InputShapeError{}
		} else if d.Size < 0 && len(data) == len(shape) {
			shape[axis] = data[axis]
		}
	}
	if slices.Contains(shape, -1) {
		return nil, fmt.Errorf("samples of %v; the input %s takes %v: %w", data, in.Name, in.Shape[1:], views.ErrShape)
	}
	return shape, nil
}
