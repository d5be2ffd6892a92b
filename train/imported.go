package train

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dataset/dataconfig"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// IsRun reports whether a file with these metadata is a run file.
func IsRun(meta map[string]string) bool { return meta[metaConfig] != "" }

// ParseModel reads the architecture of a model from YAML: a configuration of which only
// the model is required, or the list of its layers.
func ParseModel(text []byte) (Config, error) {
	c := Defaults()
	c.Model = nil
	doc, err := config.ParseYAML(text)
	if err != nil {
		return c, err
	}
	if err := doc.Decode(&c.Model); err == nil {
		settings, _ := c.Model.(map[string]any)
		if _, isLayer := settings["graph"].(map[string]any); settings == nil || isLayer && len(settings) == 1 {
			return c, nil // a graph is a layer; the setting of that name is a word
		}
	}
	c.Model = nil
	if err := doc.Decode(&c); err != nil {
		return c, err
	}
	if c.Model == nil {
		return c, config.Errorf("no model; want its layers")
	}
	return c, nil
}

// The data of a run that was not trained here. Predict and eval name other files.
const (
	importedFile = "data.h5"
	importedX    = "/x"
	importedY    = "/y"
)

// ImportedRun returns the metadata of the run file of a model that another program has
// trained, and its arrays besides those of the model, which are named model/ and as by
// nn.StateDict. Defaults stand for what c does not name of the data; inputs are those of the
// model.
func ImportedRun(c Config, inputs []Feature) (meta map[string]string, state iter.Seq2[string, storage.Array], err error) {
	c = c.withImportedData(inputs)
	if err := c.Check(); err != nil {
		return nil, nil, err
	}
	if meta, err = (&Run{Config: c, Inputs: inputs}).meta(); err != nil {
		return nil, nil, err
	}
	return meta, byName(map[string]storage.Array{"optimizer/step": storage.From([]int64{0})}), nil
}

func (c Config) withImportedData(inputs []Feature) Config {
	if len(c.Data.File) == 0 {
		c.Data.File = dataconfig.Names{importedFile}
	}
	if len(c.Data.X) == 0 && len(inputs) == 1 {
		c.Data.X = dataconfig.Path(importedX)
	} else if len(c.Data.X) == 0 {
		for _, f := range inputs {
			c.Data.X = append(c.Data.X, dataconfig.NamedPath{Name: f.Name, Path: "/" + f.Name})
		}
	}
	if len(c.Data.Y) == 0 {
		c.Data.Y = dataconfig.Path(importedY)
	}
	if c.Data.Normalize.IsAuto() {
		c.Data.Normalize = dataconfig.Identity
	}
	return c
}

// BuildModel returns the model of c without memory for its parameters, which have the
// sizes that follow from samples of these shapes.
func (c Config) BuildModel(samples ...[]int) (nn.Module, error) {
	m, err := c.build(max(1, c.Classes), tensor.Meta)
	if err != nil {
		return nil, config.At(err, "model")
	}
	if len(samples) > 0 {
		if _, err := nn.Build(m, samples...); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// ForData returns c with the number of classes in data, and the shapes of the inputs in samples to evaluate the model on.
func (c Config) ForData(ctx context.Context, data *Data) (_ Config, shapes map[string][]int, err error) {
	if c.Classes, _, err = outputSize(ctx, data, c); err != nil {
		return c, nil, err
	}
	fields, _, err := c.evaluated(data.Train.Fields())
	if err != nil {
		return c, nil, err
	}
	shapes = map[string][]int{}
	for _, f := range fields {
		if f.Role == dataset.Input {
			shapes[f.Name] = f.Shape
		}
	}
	return c, shapes, nil
}

// InputsOf returns the features of a model whose inputs have these shapes, as files have them: of
// float32, or of the integers that the model takes.
func InputsOf(model nn.Module, c Config, shapes ...[]int) ([]Feature, error) {
	names := inputNames(model, c, len(shapes))
	if len(names) != len(shapes) {
		return nil, fmt.Errorf("%d shapes for the inputs %v of the model", len(shapes), names)
	}
	features := make([]Feature, len(shapes))
	for i, shape := range shapes {
		t := dtype.Float32
		if declared := nn.InputOf(model, names[i]).Type; declared.IsInt() {
			t = declared
		}
		in, err := inputFor(model, c.Data, names[i], t, shape)
		if err != nil {
			return nil, err
		}
		features[i] = Feature{Name: names[i], Type: t, Shape: slices.Clone(shape), Input: in}
	}
	return features, nil
}

// inputNames returns the names of the inputs of a model.
func inputNames(model nn.Module, c Config, n int) []string {
	if m, ok := model.(nn.MultiModule); ok && n > 1 {
		if named, ok := m.(interface{ InputNames() []string }); ok {
			return named.InputNames()
		}
	}
	if names := c.Data.InputNames(); len(names) > 0 {
		return names[:1]
	}
	return []string{"x"}
}

// ImportedModel returns a run of a model in memory that another program has trained, for samples of these types and shapes, one
// for each input. It predicts, and cannot be saved: the model has no description.
func ImportedModel(model nn.Module, d storage.Device, types []dtype.Type, shapes ...[]int) (_ *Run, err error) {
	r := &Run{Config: Defaults(), Model: model, Device: d}
	r.Config.Loss = "mse"
	if r.loss, r.schedule, r.Optimizer, err = r.Config.training(); err != nil {
		return nil, err
	}
	if err := nn.ToInPlace(model, d); err != nil {
		return nil, err
	}
	if r.Inputs, err = InputsOf(model, r.Config, shapes...); err != nil {
		return nil, err
	}
	for i, t := range types {
		r.Inputs[i].Type = t
	}
	r.Config = r.Config.withImportedData(r.Inputs)
	for i := range r.Inputs {
		r.Inputs[i].Normalize = dataconfig.Identity
	}
	return r, r.placeInput()
}

// A SizedModule says how many samples are computed at a time.
type SizedModule interface {
	nn.Module
	// Activations returns the number of elements of the largest intermediate result for a sample, once the module has
	// been called, and the number of samples of each call, or 0 if it is any.
	Activations() (elements, batch int)
}
