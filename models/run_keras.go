package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/train"
)

// Names in the metadata of a run: of its configuration and of the features of its model.
const (
	metaConfig = "h5dnn_config"
	metaInputs = "h5dnn_inputs"
)

// runToKeras makes a model of Keras of a run: its images have the channels last.
func (p *Plan) runToKeras() error {
	c := *p.Source.Config
	inputs, err := p.runInputs(c)
	if err != nil {
		return err
	}
	m, t, err := keras.FromH5dnn(c.Model, inputs)
	if err != nil {
		return err
	}
	plans, err := t.Links(m, keras.LinkOptions{})
	if err != nil {
		return err
	}
	optimizer, parameters, err := p.runParameters(c)
	if err != nil {
		return err
	}
	var others []string
	for _, e := range p.Source.Entries {
		if !strings.HasPrefix(e.Name, runModel) && (optimizer == nil || !strings.HasPrefix(e.Name, runOptimizer)) {
			others = append(others, e.Name)
		}
	}
	p.loseGroups(others, "a model of Keras")
	tensors, missing, unused, err := keras.Import(plans, parameters)
	if err != nil {
		return err
	}
	for _, plan := range plans {
		if plan.Refused != nil {
			p.Refused = append(p.Refused, plan.Refused)
		}
	}
	for _, name := range missing {
		p.Refused = append(p.Refused, fmt.Errorf("%s is missing", name))
	}
	for _, name := range unused {
		p.lose(runModel + name)
	}
	p.Tensors = tensors
	if err := p.setTrainable(c, plans); err != nil {
		return err
	}
	text, err := keras.Describe(m)
	if err != nil {
		return err
	}
	p.setMeta(kerasfile.MetaConfig, text)
	return p.kerasOptimizer(optimizer)
}

// setTrainable sets trainable: false in layers whose parameters the optimizer of a run freezes, and notes those that Keras trains otherwise.
func (p *Plan) setTrainable(c train.Config, plans []keras.LayerPlan) error {
	o, err := nn.OptimizerFromConfig(c.Optimizer)
	if err != nil {
		return err
	}
	groups, ok := o.(interface{ Freezes(name string) bool })
	if !ok {
		return nil
	}
	var differing []string
	for _, plan := range plans {
		trained, kept := 0, 0
		for _, t := range p.Tensors {
			switch {
			case !strings.HasPrefix(t.Name, plan.Path+"/") || len(t.From) == 0 || keras.IsBuffer(t.From[0]):
			case slices.ContainsFunc(t.From, func(name string) bool { return !groups.Freezes(strings.TrimPrefix(name, runModel)) }):
				trained++
			default:
				kept++
			}
		}
		normalization := plan.Layer.Class == "BatchNormalization" // its setting trainable holds for its statistics, too
		if kept > 0 && trained == 0 && !normalization {
			plan.Layer.Config["trainable"] = false
		}
		if on := plan.Layer.Config["trainable"] != false; on && kept > 0 || !on && trained > 0 {
			differing = append(differing, plan.Path)
		}
	}
	if len(differing) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("Keras trains all weights of a layer or none, and a BatchNormalization as its statistics; the run does not: %s", strings.Join(differing, ", ")))
	}
	return nil
}

// runParameters returns the parameters of a run by name and, if asked to, its optimizer as
// Keras has it, whose buffers are those of the parameters.
func (p *Plan) runParameters(c train.Config) (*keras.Optimizer, map[string]weights.Tensor, error) {
	var list []weights.Tensor
	for _, e := range p.Source.Entries {
		if name, ok := strings.CutPrefix(e.Name, runModel); ok {
			list = append(list, weights.Tensor{Name: name, Array: e.Array})
		}
	}
	var optimizer *keras.Optimizer
	if p.options.Optimizer {
		if !p.hasRunOptimizer() {
			return nil, nil, p.noOptimizer()
		}
		var names []string
		for _, t := range list {
			if !keras.IsBuffer(t.Name) {
				names = append(names, t.Name)
			}
		}
		state, group, err := p.runState(c, names)
		if err != nil {
			return nil, nil, err
		}
		var report keras.OptimizerReport
		if optimizer, report, err = keras.ImportOptimizer(list, arraysOf(state), group); err != nil {
			return nil, nil, err
		}
		optimizer.Step = p.runStep()
		p.reportOptimizer(report)
	}
	parameters := map[string]weights.Tensor{}
	for _, t := range list {
		from := t
		from.Name = runModel + t.Name
		parameters[t.Name] = from
	}
	return optimizer, parameters, nil
}

// runInputs returns the inputs of the model of a run, in the shapes that it takes.
func (p *Plan) runInputs(c train.Config) ([]keras.Input, error) {
	features, err := p.runFeatures()
	if err != nil {
		return nil, err
	}
	shapes := make([][]int, len(features))
	for i, f := range features {
		shapes[i] = f.Shape
	}
	model, err := c.BuildModel()
	if err != nil {
		return nil, err
	}
	prepared, err := train.InputsOf(model, c, shapes...)
	if err != nil {
		return nil, err
	}
	inputs := make([]keras.Input, len(features))
	for i, f := range prepared {
		inputs[i] = keras.Input{Name: f.Name, Shape: f.SampleShape(f.Shape)}
	}
	p.loseNormalization(features, "Keras", p.Lost.Add)
	return inputs, nil
}

// runFeatures returns the features that the model of a run takes, as the file lists them.
func (p *Plan) runFeatures() (features []train.Feature, err error) {
	if err := json.Unmarshal([]byte(p.Source.Meta()[metaInputs]), &features); err != nil {
		return nil, fmt.Errorf("%s: %w", metaInputs, err)
	}
	return features, nil
}
