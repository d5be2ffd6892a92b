package models

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// kerasToRun makes a run file of a model of Keras: its graph takes and returns what the
// model does.
func (p *Plan) kerasToRun() error {
	if c := p.options.Architecture.Config; c != nil {
		return p.kerasWeightsToRun(*c)
	}
	m := p.Source.Model
	if m == nil {
		return &MissingArchitectureError{p.Source.Name, p.From}
	}
	var inputs []string
	for _, r := range m.Inputs {
		inputs = append(inputs, r.Layer)
	}
	if err := p.options.checkInputs(inputs); err != nil {
		return err
	}
	if err := keras.SetInputShapes(m, p.options.inputShape); err != nil {
		return err
	}
	t, err := keras.ToH5dnn(m, keras.LinkOptions{Flatten: p.options.Flatten})
	if err != nil {
		return err
	}
	if err := checkLayers(t.Description); err != nil {
		return err
	}
	plans, err := p.links(m, t)
	if err != nil {
		return err
	}
	if err := firstRefused(plans); err != nil {
		return err
	}
	tensors, unused, err := keras.Export(plans)
	if err != nil {
		return err
	}
	for _, name := range unused {
		p.lose(name)
	}
	p.randomStates(m)
	p.loseOthers(m)
	p.Precision = keras.Precision(m)
	p.Notes = slices.Concat(p.Notes, t.Notes, p.Precision, keras.Penalties(m))
	c := train.Defaults()
	c.Model, c.Loss = t.Description, "mse"
	p.setLoss(&c)
	if err := p.addParameters(&c, m.Optimizer, tensors); err != nil {
		return err
	}
	p.freeze(&c, m, tensors)
	features, err := featuresOf(c, t)
	if err != nil {
		return err
	}
	return p.writeRun(c, features)
}

// freeze makes the optimizer of a run leave the parameters as they are that Keras does not train, or does not have.
func (p *Plan) freeze(c *train.Config, m *keras.Model, tensors []weights.Tensor) {
	trained := map[string]bool{}
	for _, path := range keras.Trained(m) {
		trained[path] = true
	}
	var frozen []string
	untrained := 0
	for _, t := range tensors {
		on := slices.ContainsFunc(t.From, func(path string) bool { return trained[path] })
		if t.Name == "" || keras.IsBuffer(t.Name) || on && !t.Constant {
			continue
		}
		if frozen = append(frozen, t.Name); !on {
			untrained++
		}
	}
	if len(frozen) > 0 {
		c.Freeze(frozen)
	}
	if untrained > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d parameters are of layers that are not trained (trainable: false): a group of the run's optimizer freezes them", untrained))
	}
}

// firstRefused returns the error of the first layer that is refused.
func firstRefused(plans []keras.LayerPlan) error {
	for _, plan := range plans {
		if plan.Refused != nil {
			// The weights are mapped by the rules for PyTorch, whose errors end in its name.
			reason := strings.TrimSuffix(plan.Refused.Error(), ": "+keras.ErrNotInPyTorch.Error())
			return errkind.Errorf(plan.Refused, "layer %s (%s) does not run in h5dnn: %s", plan.Path, plan.Layer.Class, reason)
		}
	}
	return nil
}

// addParameters adds the parameters of a run, and what its optimizer has of each.
func (p *Plan) addParameters(c *train.Config, o *keras.Optimizer, tensors []weights.Tensor) error {
	tensors = slices.DeleteFunc(tensors, func(t weights.Tensor) bool { return t.Name == "" })
	for _, t := range tensors {
		t.Name, t.Slots = runModel+t.Name, nil
		p.Tensors = append(p.Tensors, t)
	}
	return p.keepRunOptimizer(c, o, tensors)
}

// featuresOf returns the inputs of a translated model.
func featuresOf(c train.Config, t *keras.Translation) ([]train.Feature, error) {
	shapes := make([][]int, len(t.Inputs))
	for i, in := range t.Inputs {
		if slices.Contains(in.Shape, -1) {
			return nil, &InputShapeError{}
		}
		shapes[i] = in.Shape
	}
	model, err := c.BuildModel(shapes...)
	if err != nil {
		return nil, err
	}
	features, err := train.InputsOf(model, c, shapes...)
	if err != nil {
		return nil, err
	}
	for i, in := range t.Inputs {
		if typ, err := dtype.Parse(in.DType); err == nil && typ.IsInt() {
			features[i].Type = typ
		}
	}
	return features, nil
}

// A MissingLayerError is the error of a model with a layer that h5dnn does not run.
type MissingLayerError struct{ Node, Layer string }

func (e *MissingLayerError) Error() string {
	return fmt.Sprintf("layer %s needs %s, which h5dnn does not run yet", e.Node, e.Layer)
}

// checkLayers returns an error about the first node of a graph whose layer package nn does
// not have.
func checkLayers(description any) error {
	known := map[string]bool{}
	for _, r := range nn.Registrations() {
		if r.Kind == "layer" {
			known[r.Name] = true
		}
	}
	graph, _ := description.(map[string]any)["graph"].(map[string]any)
	nodes, _ := graph["nodes"].([]any)
	for _, node := range nodes {
		settings, _ := node.(map[string]any)
		name, _ := settings["layer"].(string)
		if layer, ok := settings["layer"].(map[string]any); ok {
			for name = range layer {
			}
		}
		if name != "" && !known[name] {
			return &MissingLayerError{fmt.Sprint(settings["name"]), name}
		}
	}
	return nil
}

// Run returns the run that p would write, on d, without a file.
func (p *Plan) Run(d storage.Device) (*train.Run, error) {
	if err := p.Err(); err != nil {
		return nil, err
	}
	f := serialize.NewList(len(p.Tensors), p.meta, func() error { return nil })
	for _, t := range p.Tensors {
		if err := f.Add(serialize.Entry{Name: t.Name, Array: t.Array}, nil); err != nil {
			return nil, err
		}
	}
	return train.ResumeFile(f, p.Source.Name, d)
}
