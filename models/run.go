package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

const (
	runModel = "model/" // arrays of the model in a run file
	counter  = "num_batches_tracked"
)

// kerasClass returns the class of Keras whose rule knows how PyTorch names the parameters
// of a layer of h5dnn; "" if both have the same names.
func kerasClass(m nn.Module) string {
	switch m.(type) {
	case *nn.BatchNorm1d, *nn.BatchNorm2d, *nn.BatchNorm3d:
		return "BatchNormalization"
	case *nn.LayerNorm:
		return "LayerNormalization"
	}
	return ""
}

// parametrizations are the names of weight norm and spectral norm before torch.nn.utils.parametrize, by those since.
var parametrizations = strings.NewReplacer(
	".parametrizations.weight.original0", ".weight_g", ".parametrizations.weight.original1", ".weight_v",
	".parametrizations.weight.original", ".weight_orig", ".parametrizations.weight.0._u", ".weight_u", ".parametrizations.weight.0._v", ".weight_v",
)

// parametrized returns the name of a parameter in a layer of h5dnn that computes its weight.
func parametrized(name string) string {
	return strings.TrimPrefix(parametrizations.Replace("."+name), ".")
}

// A parameter is an array of a model of h5dnn and of PyTorch's.
type parameter struct {
	h5dnn   string // "2.gamma"; "" for a counter that h5dnn does not have
	pytorch string // "2.weight"
}

// parametersOf lists the parameters and buffers of a model, with PyTorch's names.
func parametersOf(model nn.Module, rules *weights.Rules) ([]parameter, error) {
	classes := map[string]string{}
	for name, m := range nn.Modules(model) {
		classes[name] = kerasClass(m)
	}
	var list []parameter
	for name := range nn.StateDict(model) {
		module, last, ok := cutLast(name)
		if !ok {
			module, last = "", name
		}
		renamed := module
		if rules != nil {
			if to, ok, err := rules.Module(module); err != nil {
				return nil, err
			} else if ok {
				renamed = to
			}
		}
		if renamed != "" {
			renamed += "."
		}
		list = append(list, parameter{name, renamed + keras.PyTorchName(classes[module], last)})
		if classes[module] == "BatchNormalization" && last == "running_var" {
			list = append(list, parameter{"", renamed + counter})
		}
	}
	return list, nil
}

func (p *Plan) runToPyTorch() error {
	model, err := p.Source.Config.BuildModel()
	if err != nil {
		return err
	}
	parameters, err := parametersOf(model, p.options.Rules)
	if err != nil {
		return err
	}
	entries := p.Source.byName()
	used := map[string]bool{}
	for _, one := range parameters {
		name := runModel + one.h5dnn
		e, ok := entries[name]
		switch {
		case one.h5dnn == "":
			p.Tensors = append(p.Tensors, weights.Tensor{Name: one.pytorch, Array: weights.Zeros(dtype.Int64), Operation: weights.CounterOp.String()})
		case p.taken[name]:
		case !ok:
			return fmt.Errorf("%s has no %s", p.Source.Name, name)
		default:
			used[name] = true
			p.Tensors = append(p.Tensors, copied(one.pytorch, e))
		}
	}
	if err := p.runOptimizerToPyTorch(); err != nil {
		return err
	}
	features, err := p.runFeatures()
	if err != nil {
		return err
	}
	p.loseNormalization(features, "PyTorch's module", p.Lost.AddInherent)
	var others []string
	for _, e := range p.Source.Entries {
		switch {
		case used[parametrized(e.Name)] || p.taken[e.Name]:
		case strings.HasPrefix(e.Name, runModel):
			p.lose(e.Name)
		case strings.HasPrefix(e.Name, runOptimizer) && p.options.Optimizer:
		default:
			others = append(others, e.Name)
		}
	}
	p.loseGroups(others, "a state_dict")
	p.Notes = append(p.Notes, "PyTorch's architecture is code, which no file has: build it with these names")
	return nil
}

// loseGroups records that arrays of a run beside its model are not converted, such as its history.
func (p *Plan) loseGroups(names []string, output string) {
	groups := map[string]int{}
	for _, name := range names {
		if group, _, _ := strings.Cut(name, "/"); group != OptimizerPath || p.hasRunOptimizer() {
			groups[group]++
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		p.Lost = append(p.Lost, loss.Item{Path: group, Kind: loss.Array, Count: groups[group], Reason: output + " has the weights only; h5dn and h5ck files keep a run as a whole", Inherent: true})
	}
}

// runOptimizerToPyTorch adds the state of a run's optimizer, as PyTorch has it, if asked to.
func (p *Plan) runOptimizerToPyTorch() error {
	if !p.options.Optimizer {
		return nil
	}
	if !p.hasRunOptimizer() {
		return p.noOptimizer()
	}
	if err := p.holdsSettings(); err != nil {
		return err
	}
	var parameters []string
	for _, t := range p.Tensors {
		if !keras.IsBuffer(t.Name) && len(t.From) == 1 {
			parameters = append(parameters, strings.TrimPrefix(t.From[0], runModel))
		}
	}
	state, group, err := p.runState(*p.Source.Config, parameters)
	if err != nil {
		return err
	}
	p.setPyTorchOptimizer(state, group)
	p.Notes = append(p.Notes, "the optimizer's parameters are numbered in the order above, which PyTorch does not check: register the modules in this order")
	return nil
}

// kerasWeightsToPyTorch makes a state_dict of weights of Keras, whose modules are named as
// in the configuration of a model of h5dnn.
func (p *Plan) kerasWeightsToPyTorch(c train.Config) error {
	d, err := p.kerasWeights(c)
	if err != nil {
		return err
	}
	parameters, err := parametersOf(d.model, p.options.Rules)
	if err != nil {
		return err
	}
	for _, one := range parameters {
		t := d.parameters[one.h5dnn]
		if t.Name, t.Slots = one.pytorch, nil; one.h5dnn == "" {
			t.Array, t.Operation = weights.Zeros(dtype.Int64), weights.CounterOp.String()
		}
		p.Tensors = append(p.Tensors, t)
	}
	for _, name := range d.unused {
		p.lose(name)
	}
	p.loseOptimizer()
	return nil
}

func (p *Plan) pyTorchToRun() error {
	c := p.options.Architecture.Config
	switch {
	case c == nil && p.Source.Model == nil:
		return &MissingArchitectureError{p.Source.Name, p.From}
	case c == nil:
		return p.pyTorchToKerasRun()
	}
	config := *c
	shape, err := p.inputShape(config)
	if err != nil {
		return err
	}
	model, err := p.built(&config, shape)
	if err != nil {
		return err
	}
	parameters, err := parametersOf(model, p.options.Rules)
	if err != nil {
		return err
	}
	err = p.importParameters(&config, model, parameters)
	if preset, ok := c.Model.(string); ok && c.Classes == 0 && errors.Is(err, weights.ErrShape) {
		return fmt.Errorf("%w; %s has one output unless the configuration says classes: NUMBER", err, preset)
	}
	if err != nil {
		return err
	}
	features, err := train.InputsOf(model, config, shape)
	if err != nil {
		return err
	}
	return p.writeRun(config, features)
}

// pyTorchToKerasRun makes a run file of the weights of PyTorch in an architecture of Keras.
func (p *Plan) pyTorchToKerasRun() error {
	if err := p.pyTorchToKeras(); err != nil || len(p.Refused) > 0 {
		return err
	}
	from := map[string][]string{}
	for _, t := range p.Tensors {
		from[t.Name] = t.From
	}
	p.Tensors, p.meta = nil, nil
	if err := p.kerasToRun(); err != nil {
		return err
	}
	for i, t := range p.Tensors {
		var names []string
		for _, name := range t.From {
			names = append(names, from[name]...)
		}
		if len(t.From) > 0 {
			p.Tensors[i].From, p.Tensors[i].Operation = names, "as "+strings.Join(t.From, ", ")+" "+t.Operation
		}
	}
	return nil
}

// inputShape returns the shape of a sample.
func (p *Plan) inputShape(c train.Config) ([]int, error) {
	name := "x"
	if names := c.Data.InputNames(); len(names) > 0 {
		name = names[0]
	}
	if err := p.options.checkInputs([]string{name}); err != nil {
		return nil, err
	}
	if shape := p.options.inputShape(name); len(shape) > 0 {
		return shape, nil
	}
	model, err := c.BuildModel()
	if err != nil {
		return nil, err
	}
	var shapes [][]int
	if nn.SpatialAxes(model, "") == 0 {
		for _, e := range p.Source.Entries {
			if e.Array.Rank() != 2 || p.Source.isOptimizerState(e.Name) {
				continue
			}
			shape := e.Array.Shape[1:]
			if p.From == Keras { // (in, out)
				shape = e.Array.Shape[:1]
			}
			if !p.sizesWeights(c, shape) {
				return nil, &InputShapeError{}
			}
			if p.From == Keras {
				return shape, nil
			}
			shapes = append(shapes, shape)
		}
	}
	if len(shapes) == 0 {
		return nil, &InputShapeError{}
	}
	tried := map[int]bool{}
	for _, shape := range shapes { // safetensors are sorted, so that the first layer may be any
		if size := shape[0]; !tried[size] && p.fits(c, shape) {
			return shape, nil
		}
		tried[shape[0]] = true
	}
	return shapes[0], nil // importParameters says what does not fit
}

// sizesWeights reports whether samples of a shape make other weights than samples with another number of features. Tokens of an embedding
// do not, nor do the steps of a sequence, which a shape of one axis leaves out.
func (p *Plan) sizesWeights(c train.Config, shape []int) bool {
	model, err := p.built(&c, shape)
	if err != nil {
		_, err = p.built(&c, []int{1, shape[0]})
		return err != nil
	}
	other, err := p.built(&c, []int{1 + 1/shape[0]}) // few, as positions of tokens have a largest number
	return err != nil || !maps.EqualFunc(maps.Collect(nn.StateDict(model)), maps.Collect(nn.StateDict(other)), func(a, b storage.Array) bool { return slices.Equal(a.Shape, b.Shape) })
}

// fits reports whether the arrays of the source are those of the model for samples of a shape.
func (p *Plan) fits(c train.Config, shape []int) bool {
	model, err := p.built(&c, shape)
	if err != nil {
		return false
	}
	parameters, err := parametersOf(model, p.options.Rules)
	if err != nil {
		return false
	}
	have, want := map[string][]int{}, map[string][]int{}
	for _, e := range p.Source.Entries {
		have[e.Name] = e.Array.Shape
	}
	for name, a := range nn.StateDict(model) {
		want[name] = a.Shape
	}
	return !slices.ContainsFunc(parameters, func(one parameter) bool {
		return one.h5dnn != "" && !slices.Equal(have[one.pytorch], want[one.h5dnn])
	})
}

// An InputShapeError is the error of an architecture that does not say how large a sample
// is. Options.InputShapes takes it.
type InputShapeError struct{}

func (*InputShapeError) Error() string {
	return "the architecture does not say what the shape of a sample is"
}

// importParameters adds the arrays of a run, from PyTorch's.
func (p *Plan) importParameters(c *train.Config, model nn.Module, parameters []parameter) error {
	have := map[string]weights.Tensor{}
	for _, e := range p.Source.Entries {
		if !p.taken[e.Name] {
			have[parametrized(e.Name)] = copied(e.Name, e)
		}
	}
	for _, t := range p.Tensors {
		have[t.Name] = t
	}
	p.Tensors = nil
	want := map[string]storage.Array{}
	for name, a := range nn.StateDict(model) {
		want[name] = a
	}
	used := map[string]bool{}
	for _, one := range parameters {
		t, ok := have[one.pytorch]
		used[one.pytorch] = true
		switch {
		case one.h5dnn == "":
		case !ok:
			p.Refused = append(p.Refused, fmt.Errorf("%s is missing, from which the model's %s is computed", one.pytorch, one.h5dnn))
		case !slices.Equal(t.Array.Shape, want[one.h5dnn].Shape):
			return fmt.Errorf("%s has shape %v; the model has %v: %w", one.pytorch, t.Array.Shape, want[one.h5dnn].Shape, weights.ErrShape)
		default:
			t.Name = runModel + one.h5dnn
			p.Tensors = append(p.Tensors, t)
		}
	}
	for _, e := range p.Source.Entries {
		switch {
		case used[e.Name] || p.taken[e.Name]:
		case p.Source.isOptimizerState(e.Name):
		default:
			p.lose(e.Name)
			p.Unused = append(p.Unused, e.Name)
		}
	}
	p.loseMetadata()
	p.noteCounters()
	return p.importRunOptimizer(c, parameters)
}

// importRunOptimizer converts the state of PyTorch's optimizer to that of a run, if asked
// to. The optimizer has the parameters in the order of the file.
func (p *Plan) importRunOptimizer(c *train.Config, parameters []parameter) error {
	if !p.options.Optimizer {
		p.loseOptimizer()
		return nil
	}
	state, group, err := p.pyTorchState()
	if err != nil {
		return err
	}
	arrays := arraysOf(state)
	own := map[string]string{}
	for _, one := range parameters {
		own[one.pytorch] = one.h5dnn
	}
	var names []string
	for _, e := range p.Source.Entries {
		if name := own[e.Name]; name != "" && !keras.IsBuffer(e.Name) {
			for _, slot := range []string{"exp_avg", "momentum_buffer"} {
				if a, ok := arrays[fmt.Sprintf("state/%d/%s", len(names), slot)]; ok && !slices.Equal(a.Shape, e.Array.Shape) {
					return fmt.Errorf("%s of parameter %d has shape %v, and %s has %v: the optimizer is of another model: %w", slot, len(names), a.Shape, e.Name, e.Array.Shape, weights.ErrShape)
				}
			}
			names = append(names, name)
		}
	}
	return p.setRunOptimizer(c, names, state, group, 0)
}

// writeRun makes the output a run file.
func (p *Plan) writeRun(c train.Config, features []train.Feature) error {
	meta, state, err := train.ImportedRun(c, features)
	if err != nil {
		return err
	}
	p.meta = meta
	for name, a := range state {
		if slices.ContainsFunc(p.Tensors, func(t weights.Tensor) bool { return t.Name == name }) {
			continue // of a converted optimizer
		}
		p.Tensors = append(p.Tensors, weights.Tensor{Name: name, Array: a, Operation: "0"})
	}
	return nil
}
