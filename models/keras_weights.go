package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// A describedModel is one of h5dnn with known sizes, as a configuration describes it, and
// the parameters that Keras's weights become.
type describedModel struct {
	config     train.Config
	sample     []int // as files have it
	model      nn.Module
	parameters map[string]weights.Tensor // by their names in nn.StateDict
	optimizer  *keras.Optimizer
	unused     []string // entries of the file
}

// kerasWeights returns the parameters of the model of a configuration, computed from a
// file of Keras whose layers are the same, in the same order.
//
// Samples of images may be (H, W, C), as Keras has them, or (C, H, W), as models of h5dnn
// take them. Where the configuration does not say which, the weights do, by their number
// of channels; it is an error if both fit.
func (p *Plan) kerasWeights(c train.Config) (*describedModel, error) {
	shape, err := p.inputShape(c)
	if err != nil {
		return nil, err
	}
	unbuilt, err := c.BuildModel()
	if err != nil {
		return nil, err
	}
	if c.Data.Layout != "" || nn.SpatialAxes(unbuilt, "") != 2 || len(shape) != 3 {
		return p.kerasWeightsOf(c, shape)
	}
	c.Data.Layout = "nhwc"
	last, errLast := p.kerasWeightsOf(c, shape)
	c.Data.Layout = "nchw"
	first, errFirst := p.kerasWeightsOf(c, shape)
	switch {
	case errLast != nil && errFirst != nil:
		return nil, errLast
	case errLast != nil:
		return first, nil
	case errFirst != nil:
		return p.kerasWeightsOf(last.config, shape) // the entries are named after the model again
	}
	return nil, fmt.Errorf("samples of %v may have the channels first or last; add data: {layout: nchw} or {layout: nhwc} to the architecture: %w", shape, weights.ErrAmbiguous)
}

// kerasWeightsOf is kerasWeights for samples in the layout of c.
func (p *Plan) kerasWeightsOf(c train.Config, shape []int) (*describedModel, error) {
	d := &describedModel{config: c, sample: shape}
	var err error
	if d.model, err = p.built(&d.config, shape); err != nil {
		return nil, err
	}
	inputs, err := train.InputsOf(d.model, d.config, shape)
	if err != nil {
		return nil, err
	}
	m, translation, err := keras.FromH5dnn(d.config.Model, []keras.Input{{Name: inputs[0].Name, Shape: inputs[0].SampleShape(shape)}})
	if err != nil {
		return nil, err
	}
	if k, ok := p.Source.File.(*kerasfile.File); ok {
		if err := k.SetModel(m); err != nil {
			return nil, err
		}
		if p.Source.Entries, err = serialize.Collect(k); err != nil {
			return nil, err
		}
	}
	d.optimizer = m.Optimizer
	return d, p.export(d, m, translation)
}

// export sets the parameters of d from the weights of m, whose layers are the modules of t.
func (p *Plan) export(d *describedModel, m *keras.Model, t *keras.Translation) error {
	plans, err := p.links(m, t)
	if err != nil {
		return err
	}
	if err := firstRefused(plans); err != nil {
		return err
	}
	tensors, _, err := keras.Export(plans)
	if err != nil {
		return err
	}
	d.parameters = map[string]weights.Tensor{}
	used := map[string]bool{}
	for _, t := range tensors {
		d.parameters[t.Name] = t
		for _, name := range t.From {
			used[name] = true
		}
	}
	for name, a := range nn.StateDict(d.model) {
		t, ok := d.parameters[name]
		switch {
		case !ok:
			return fmt.Errorf("%s of the architecture is not a weight of Keras: %w", name, weights.ErrUnsupported)
		case !slices.Equal(t.Array.Shape, a.Shape):
			return fmt.Errorf("%s makes %s of shape %v; the architecture has %v: %w", strings.Join(t.From, ", "), name, t.Array.Shape, a.Shape, weights.ErrShape)
		}
	}
	for _, e := range p.Source.Entries {
		if !used[e.Name] && !p.Source.isOptimizerState(e.Name) {
			d.unused = append(d.unused, e.Name)
		}
	}
	for _, name := range d.unused {
		if !strings.Contains(name, "seed_generator") && !strings.HasPrefix(name, metricsPath) {
			return fmt.Errorf("the file has %s, which the architecture lacks: %w", name, storage.ErrState)
		}
	}
	return nil
}

// built returns the model of c, which gets the sizes that follow from a sample.
func (p *Plan) built(c *train.Config, shape []int) (nn.Module, error) {
	unbuilt, err := c.BuildModel()
	if err != nil {
		return nil, err
	}
	sample := shape
	if axes := nn.SpatialAxes(unbuilt, ""); axes > 0 && len(shape) == axes {
		sample = append([]int{1}, shape...)
	} else if c.Data.Layout == "nhwc" && len(shape) == 3 {
		sample = []int{shape[2], shape[0], shape[1]}
	}
	model, err := c.BuildModel(sample)
	if err != nil {
		return nil, err
	}
	c.Model, err = nn.Describe(model)
	return model, err
}

// kerasWeightsToRun makes a run file of weights of Keras, for the model of a
// configuration.
func (p *Plan) kerasWeightsToRun(c train.Config) error {
	d, err := p.kerasWeights(c)
	if err != nil {
		return err
	}
	var tensors []weights.Tensor
	for name := range nn.StateDict(d.model) {
		tensors = append(tensors, d.parameters[name])
	}
	for _, name := range d.unused {
		p.lose(name)
	}
	if err := p.addParameters(&d.config, d.optimizer, tensors); err != nil {
		return err
	}
	features, err := train.InputsOf(d.model, d.config, d.sample)
	if err != nil {
		return err
	}
	return p.writeRun(d.config, features)
}
