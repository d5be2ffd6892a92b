package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
)

// The names of optimizers' states in files: PyTorch's as in its tutorial on checkpoints,
// Keras's as in package serialize/kerasfile.
const (
	pyTorchOptimizer   = "optimizer_state_dict/"
	pyTorchParamGroups = "param_groups/"
	pyTorchGroup       = pyTorchParamGroups + "0/"
	kerasOptimizer     = "optimizer/"
)

// metaOptimizer is where a .pt file says under which key the optimizer's state is.
const metaOptimizer = "torch.optimizer"

// exportOptimizer adds the state of Keras's optimizer, as PyTorch has it.
func (p *Plan) exportOptimizer(m *keras.Model) error {
	if !p.options.Optimizer {
		p.loseOptimizer()
		return nil
	}
	if m.Optimizer == nil {
		return p.noOptimizer()
	}
	if err := p.holdsSettings(); err != nil {
		return err
	}
	state, groups, report, err := keras.ExportOptimizer(m.Optimizer, p.Tensors)
	if err != nil {
		return err
	}
	p.setPyTorchOptimizer(state, groups)
	p.reportOptimizer(report)
	return nil
}

// setPyTorchOptimizer adds a state of PyTorch's optimizer, and the texts of its only param_group.
func (p *Plan) setPyTorchOptimizer(state []weights.Tensor, group map[string]string) {
	for _, t := range state {
		t.Name = pyTorchOptimizer + t.Name
		p.Tensors = append(p.Tensors, t)
	}
	for key, text := range group {
		p.setMeta(pyTorchOptimizer+pyTorchGroup+key, text)
	}
}

// noOptimizer is the error of a source without the state of an optimizer, or without the settings
// by which the state has a meaning.
func (p *Plan) noOptimizer() error {
	n := 0
	for _, e := range p.Source.Entries {
		if p.Source.isOptimizerState(e.Name) {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%s has %d arrays of the state of an optimizer, but not its class and settings, without which they have no meaning; convert the weights alone, or save the compiled model again: %w", p.Source.Name, n, weights.ErrUnsupported)
	}
	return fmt.Errorf("%s has no state of an optimizer", p.Source.Name)
}

// holdsSettings returns an error if the format has no place for the settings of an optimizer.
func (p *Plan) holdsSettings() error {
	if !p.Format.Meta {
		return fmt.Errorf("%s files have no place for the settings of an optimizer; use .pt", p.Format.Name)
	}
	return nil
}

// reportOptimizer records what a converted optimizer does otherwise.
func (p *Plan) reportOptimizer(report keras.OptimizerReport) {
	for _, note := range report.Notes {
		if !slices.Contains(p.Notes, note) {
			p.Notes = append(p.Notes, note)
		}
	}
	for _, d := range report.Dropped {
		p.Lost.Add(kerasOptimizer+d.Name, loss.Property, 1, "%s", d.Reason)
	}
}

// OptimizerPath is the name of the optimizer beside the layers of a model, and the Path of the
// loss.Item that reports a dropped optimizer state.
const OptimizerPath = "optimizer"

// loseOptimizer records that the state of an optimizer is not converted. A state_dict has
// no place for it, and a file with both is not a state_dict.
func (p *Plan) loseOptimizer() {
	n := 0
	for _, e := range p.Source.Entries {
		if p.Source.isOptimizerState(e.Name) && !p.taken[e.Name] {
			n++
		}
	}
	if reported := slices.ContainsFunc(p.Lost.Of(OptimizerPath), func(i loss.Item) bool { return i.Kind == loss.Array }); n > 0 && !reported {
		p.Lost = append(p.Lost, loss.Item{Path: OptimizerPath, Kind: loss.Array, Count: n, Reason: "the state of the optimizer, which is converted on request", Inherent: true})
	}
}

// importOptimizer sets the Slots of parameters, and returns Keras's optimizer; nil if the
// state is not converted.
func (p *Plan) importOptimizer(parameters []weights.Tensor) (*keras.Optimizer, error) {
	if !p.options.Optimizer {
		p.loseOptimizer()
		return nil, nil
	}
	state, group, err := p.pyTorchState()
	if err != nil {
		return nil, err
	}
	o, report, err := keras.ImportOptimizer(parameters, arraysOf(state), group)
	p.reportOptimizer(report)
	return o, err
}

// pyTorchState returns the state of PyTorch's optimizer: arrays with names such as
// state/0/exp_avg, and the texts of the only param_group.
func (p *Plan) pyTorchState() (state []weights.Tensor, group map[string]string, err error) {
	prefix := p.optimizerKey()
	group = map[string]string{}
	for _, e := range p.Source.Entries {
		if name, ok := strings.CutPrefix(e.Name, prefix); ok {
			state = append(state, copied(name, e))
		}
	}
	meta := p.Source.Meta()
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if name, ok := strings.CutPrefix(key, prefix+pyTorchGroup); ok {
			group[name] = meta[key]
		}
		if strings.HasPrefix(key, prefix+"param_groups/1/") {
			return nil, nil, fmt.Errorf("%s: an optimizer with several groups of parameters: %w", p.Source.Name, weights.ErrUnsupported)
		}
	}
	if len(group) == 0 {
		return nil, nil, p.noOptimizer()
	}
	return state, group, nil
}

// copied returns an entry of the source under a name.
func copied(name string, e serialize.Entry) weights.Tensor {
	return weights.Tensor{Name: name, Array: e.Array, From: []string{e.Name}, Operation: weights.Same.String()}
}

// arraysOf returns arrays by name.
func arraysOf(tensors []weights.Tensor) map[string]storage.Array {
	arrays := make(map[string]storage.Array, len(tensors))
	for _, t := range tensors {
		arrays[t.Name] = t.Array
	}
	return arrays
}

// optimizerKey returns the beginning of the names of the optimizer's state.
func (p *Plan) optimizerKey() string {
	if key := p.Source.Meta()[metaOptimizer]; key != "" {
		return key + "/"
	}
	return pyTorchOptimizer
}

// kerasOptimizer adds the arrays of Keras's optimizer o.
func (p *Plan) kerasOptimizer(o *keras.Optimizer) error {
	if o == nil {
		return nil
	}
	training := p.Source.Meta()[kerasfile.MetaTraining]
	keras2, err := p.isKeras2()
	if err != nil {
		return err
	}
	rate, _ := o.Config["learning_rate"].(float64)
	switch {
	case training != "" && keras2:
		training = withRate(training, rate)
	case training == "":
		if keras2 {
			o = p.withoutDecay(o)
		}
		var loss any
		if p.Source.Config != nil {
			loss = kerasLossOf(*p.Source.Config)
		}
		if training, err = compileConfig(o, loss); err != nil {
			return err
		}
	}
	p.setMeta(kerasfile.MetaTraining, training)
	added := []weights.Tensor{{Name: kerasOptimizer + "iteration", Array: storage.From([]int64{o.Step}), Operation: "step"}}
	if !keras2 { // where it is a setting only, and another variable would shift the ones that follow
		added = append(added, weights.Tensor{Name: kerasOptimizer + "learning_rate", Array: storage.From([]float32{float32(rate)}), Operation: "lr"})
	}
	for _, t := range p.Tensors {
		for _, slot := range slices.Sorted(maps.Keys(t.Slots)) {
			added = append(added, weights.Tensor{Name: kerasOptimizer + slot + "/" + t.Name, Array: t.Slots[slot], From: t.From, Operation: "as " + t.Name})
		}
	}
	p.Tensors = append(p.Tensors, added...)
	return nil
}

// withRate returns a training_config with this learning rate, unless it has a schedule or none.
func withRate(training string, rate float64) string {
	var settings map[string]any
	decoder := json.NewDecoder(strings.NewReader(training))
	decoder.UseNumber() // 0.0 stays a float
	if decoder.Decode(&settings) != nil {
		return training
	}
	for _, key := range []string{"optimizer_config", "optimizer"} {
		o, _ := settings[key].(map[string]any)
		config, _ := o["config"].(map[string]any)
		if _, ok := config["learning_rate"].(json.Number); ok {
			config["learning_rate"] = rate
		}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		return training
	}
	return string(text)
}

// isKeras2 reports whether the output is an .h5 of Keras 2.
func (p *Plan) isKeras2() (bool, error) {
	if p.Format.Name != "keras-h5" {
		return false, nil
	}
	m, err := keras.Parse(p.meta[kerasfile.MetaConfig])
	return err == nil && !strings.HasPrefix(m.Version, "3."), err
}

// withoutDecay returns o as the optimizers up to Keras 2.10 are, which both Keras 2 and Keras 3 make of
// an .h5 without more settings.
func (p *Plan) withoutDecay(o *keras.Optimizer) *keras.Optimizer {
	old := *o
	if o.Class == "AdamW" {
		old.Class = "Adam"
	}
	old.Config = maps.Clone(o.Config)
	delete(old.Config, "weight_decay")
	if decay, _ := o.Config["weight_decay"].(float64); decay != 0 {
		p.Lost.Add(kerasOptimizer+"weight_decay", loss.Property, 1, "Keras 2 and Keras 3 load no .h5 with the same optimizer that has one; write a .keras")
	}
	return &old
}
