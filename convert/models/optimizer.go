package models

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/loss"
	kerasfile "github.com/h5dnn/h5dnn/serialize/keras"
	"github.com/h5dnn/h5dnn/storage"
)

// The names of optimizers' states in files: PyTorch's as in its tutorial on checkpoints,
// Keras's as in package serialize/keras.
const (
	pyTorchOptimizer = "optimizer_state_dict/"
	pyTorchGroup     = "param_groups/0/"
	kerasOptimizer   = "optimizer/"
)

// metaOptimizer is where a .pt file says under which key the optimizer's state is.
const metaOptimizer = "torch.optimizer"

// exportOptimizer adds the state of Keras's optimizer, as PyTorch has it.
func (p *Plan) exportOptimizer(m *checkpoint.Model) error {
	if !p.options.Optimizer {
		p.loseOptimizer()
		return nil
	}
	if m.Optimizer == nil {
		return fmt.Errorf("%s has no state of an optimizer", p.Source.Name)
	}
	if !p.Format.Meta {
		return fmt.Errorf("%s files have no place for the settings of an optimizer; use .pt", p.Format.Name)
	}
	state, groups, notes, err := checkpoint.ExportOptimizer(m.Optimizer, p.Tensors)
	if err != nil {
		return err
	}
	for _, t := range state {
		t.Name = pyTorchOptimizer + t.Name
		p.Tensors = append(p.Tensors, t)
	}
	for key, text := range groups {
		p.setMeta(pyTorchOptimizer+pyTorchGroup+key, text)
	}
	p.Notes = append(p.Notes, notes...)
	return nil
}

// OptimizerPath is the path of the loss of an optimizer's state.
const OptimizerPath = "optimizer"

// loseOptimizer records that the state of an optimizer is not converted. A state_dict has
// no place for it, and a file with both is not a state_dict.
func (p *Plan) loseOptimizer() {
	n := 0
	for _, e := range p.Source.Entries {
		if isOptimizerState(e.Name) && !p.taken[e.Name] {
			n++
		}
	}
	if n > 0 {
		p.Lost = append(p.Lost, loss.Item{Path: OptimizerPath, Kind: loss.Array, Count: n, Reason: "the state of the optimizer, which is converted on request", Inherent: true})
	}
}

// importOptimizer sets the Slots of parameters, and returns Keras's optimizer; nil if the
// state is not converted.
func (p *Plan) importOptimizer(parameters []checkpoint.Tensor) (*checkpoint.Optimizer, error) {
	if !p.options.Optimizer {
		p.loseOptimizer()
		return nil, nil
	}
	prefix, state, group := p.optimizerKey(), map[string]storage.Array{}, map[string]string{}
	for _, e := range p.Source.Entries {
		if name, ok := strings.CutPrefix(e.Name, prefix); ok {
			state[name] = e.Array
		}
	}
	for key, text := range p.Source.Meta() {
		if name, ok := strings.CutPrefix(key, prefix+pyTorchGroup); ok {
			group[name] = text
		}
		if strings.HasPrefix(key, prefix+"param_groups/1/") {
			return nil, fmt.Errorf("%s: an optimizer with several groups of parameters cannot be one of Keras: %w", p.Source.Name, checkpoint.ErrUnsupported)
		}
	}
	if len(group) == 0 {
		return nil, fmt.Errorf("%s has no state of an optimizer", p.Source.Name)
	}
	o, notes, err := checkpoint.ImportOptimizer(parameters, state, group)
	p.Notes = append(p.Notes, notes...)
	return o, err
}

// optimizerKey returns the beginning of the names of the optimizer's state.
func (p *Plan) optimizerKey() string {
	if key := p.Source.Meta()[metaOptimizer]; key != "" {
		return key + "/"
	}
	return pyTorchOptimizer
}

// kerasOptimizer adds the arrays of Keras's optimizer o.
func (p *Plan) kerasOptimizer(o *checkpoint.Optimizer) error {
	if o == nil {
		return nil
	}
	training := p.Source.Meta()[kerasfile.MetaTraining]
	if training == "" {
		text, err := json.Marshal(map[string]any{"loss": nil, "optimizer": map[string]any{
			"module": "keras.optimizers", "class_name": o.Class, "config": o.Config, "registered_name": nil,
		}})
		if err != nil {
			return err
		}
		training = string(text)
	}
	p.setMeta(kerasfile.MetaTraining, training)
	rate, _ := o.Config["learning_rate"].(float64)
	added := []checkpoint.Tensor{
		{Name: kerasOptimizer + "iteration", Array: storage.From([]int64{o.Step}), Operation: "step"},
		{Name: kerasOptimizer + "learning_rate", Array: storage.From([]float32{float32(rate)}), Operation: "lr"},
	}
	for _, t := range p.Tensors {
		for _, slot := range slices.Sorted(slotNames(t)) {
			added = append(added, checkpoint.Tensor{Name: kerasOptimizer + slot + "/" + t.Name, Array: t.Slots[slot], From: t.From, Operation: "as " + t.Name})
		}
	}
	p.Tensors = append(p.Tensors, added...)
	return nil
}

func slotNames(t checkpoint.Tensor) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range t.Slots {
			if !yield(name) {
				return
			}
		}
	}
}
