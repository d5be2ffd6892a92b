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
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// runOptimizer begins the names of the arrays of an optimizer in a run file. The state of
// PyTorch's optimizers is what runs and Keras have in common: the buffers of runs are
// those of PyTorch under other names.
const runOptimizer = "optimizer/"

// hasRunOptimizer reports whether a run has the state of an optimizer that was used.
func (p *Plan) hasRunOptimizer() bool {
	for _, e := range p.Source.Entries {
		if strings.HasPrefix(e.Name, runOptimizer) && e.Name != runOptimizer+"step" {
			return true
		}
	}
	return p.runStep() > 0
}

// runStep returns the number of updates of a run.
func (p *Plan) runStep() int64 {
	for _, e := range p.Source.Entries {
		if e.Name == runOptimizer+"step" && e.Array.Len() == 1 {
			if n, err := storage.Read[int64](e.Array); err == nil {
				return n[0]
			}
		}
	}
	return 0
}

// runState returns the state of the optimizer of a run as PyTorch has it, for parameters
// in this order, by their names in the run.
func (p *Plan) runState(c train.Config, parameters []string) (state []weights.Tensor, group map[string]string, err error) {
	rule, settings, err := runSettings(c)
	if err != nil {
		return nil, nil, err
	}
	group, err = p.runGroup(c, rule, settings)
	if err != nil {
		return nil, nil, err
	}
	entries := p.Source.byName()
	number := func(v float64) storage.Array {
		a := storage.From([]float32{float32(v)})
		a.View, _ = a.Reshape()
		return a
	}
	step := number(float64(p.runStep()))
	indices := make([]int, len(parameters))
	for k, name := range parameters {
		indices[k] = k
		prefix := fmt.Sprintf("state/%d/", k)
		var buffers []weights.Tensor
		for _, buffer := range runBuffers {
			if e, ok := entries[runOptimizer+buffer.own+"/"+name]; ok {
				buffers = append(buffers, copied(prefix+buffer.pytorch, e))
			}
		}
		if len(buffers) > 0 && rule.name != "sgd" {
			state = append(state, weights.Tensor{Name: prefix + "step", Array: step, Operation: "step"})
		}
		if len(buffers) > 0 && rule.name == "nadam" {
			state = append(state, weights.Tensor{Name: prefix + "mu_product", Array: number(momentaOf(settings, p.runStep())), Operation: "momenta"})
		}
		state = append(state, buffers...)
	}
	text, err := json.Marshal(indices)
	group["params"] = string(text)
	return state, group, err
}

// runGroup returns the settings of the optimizer of a run as PyTorch's param_group, and
// records those that it has no place for.
func (p *Plan) runGroup(c train.Config, rule runRule, settings map[string]any) (map[string]string, error) {
	for _, name := range []string{"groups", "no_decay"} {
		if settings[name] != nil && !(p.To == Keras && onlyFreeze(settings[name])) { // which setTrainable says
			p.Lost.Add(runOptimizer+name, loss.Property, 1, "they are not converted")
		}
	}
	if c.Schedule != nil && c.Schedule != "constant" {
		p.Lost.Add(runOptimizer+"schedule", loss.Property, 1, "%s has no such setting of an optimizer", p.To)
	}
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	given := map[string]any{}
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, err
	}
	for _, name := range []string{"clip_norm", "clip_value"} {
		if given[name] != nil {
			p.Lost.Add(runOptimizer+name, loss.Property, 1, "%s has no such setting of an optimizer", p.To)
		}
	}
	texts, values := map[string]string{}, rule.group(settings)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		text, err := json.Marshal(values[key])
		if err != nil {
			return nil, err
		}
		texts[key] = string(text)
	}
	return texts, nil
}

// onlyFreeze reports whether groups of an optimizer freeze their parameters.
func onlyFreeze(groups any) bool {
	list, ok := groups.([]any)
	return ok && !slices.ContainsFunc(list, func(group any) bool {
		settings, _ := group.(map[string]any)
		return settings["freeze"] != true
	})
}

// setRunOptimizer adds the state of PyTorch's optimizer, whose parameters have these names
// in the run, and sets the optimizer of c. The number of updates is step, or what the state says if that is more.
func (p *Plan) setRunOptimizer(c *train.Config, parameters []string, list []weights.Tensor, group map[string]string, step int64) error {
	ok, err := p.setRunGroup(c, group)
	if err != nil {
		return err
	}
	if !ok {
		p.Lost.Add(runOptimizer+"state", loss.Array, len(list), "h5dnn does not convert this optimizer")
		return nil
	}
	state := map[string]weights.Tensor{}
	for _, t := range list {
		state[t.Name] = t
	}
	for k, parameter := range parameters {
		prefix := fmt.Sprintf("state/%d/", k)
		if t, ok := state[prefix+"step"]; ok {
			n, err := storage.Read[int64](t.Array)
			if err != nil || len(n) != 1 {
				return fmt.Errorf("step of parameter %d: %v elements: %w", k, n, weights.ErrUnsupported)
			}
			step = max(step, n[0])
		}
		for _, buffer := range runBuffers {
			t, ok := state[prefix+buffer.pytorch]
			if !ok || buffer.own == "momentum" && isZero(group["momentum"]) {
				continue
			}
			t.Name = runOptimizer + buffer.own + "/" + parameter
			p.Tensors = append(p.Tensors, t)
		}
	}
	p.Tensors = append(p.Tensors, weights.Tensor{Name: runOptimizer + "step", Array: storage.From([]int64{step}), Operation: "step"})
	return nil
}

// isZero reports whether the text of a setting is 0.
func isZero(text string) bool { return strings.Trim(text, "0.") == "" }

// setRunGroup sets the optimizer of c to what a param_group of PyTorch says. It returns
// false for one that h5dnn does not have.
func (p *Plan) setRunGroup(c *train.Config, group map[string]string) (bool, error) {
	values := decoded(group)
	rule, ok := runRuleOf(values)
	if !ok {
		return false, nil
	}
	c.Optimizer, c.Schedule = map[string]any{rule.name: rule.settings(values, &p.Lost)}, "constant"
	_, err := nn.OptimizerFromConfig(c.Optimizer)
	return true, err
}

// keepRunOptimizer converts the state of Keras's optimizer to that of a run, if asked to.
// Tensors are the parameters, with the names that they have in the run.
func (p *Plan) keepRunOptimizer(c *train.Config, o *keras.Optimizer, tensors []weights.Tensor) error {
	if !p.options.Optimizer {
		p.loseOptimizer()
		return nil
	}
	if o == nil {
		return p.noOptimizer()
	}
	list, group, report, err := keras.ExportOptimizer(o, tensors)
	if err != nil {
		return err
	}
	var kept []keras.Dropped
	for _, d := range report.Dropped {
		own, ok := map[string]string{"global_clipnorm": "clip_norm", "clipvalue": "clip_value"}[d.Name]
		if !ok {
			d.Reason = strings.Replace(d.Reason, "PyTorch's", "h5dnn's", 1)
			kept = append(kept, d)
			continue
		}
		text, err := json.Marshal(map[string]any{own: o.Config[d.Name]})
		if err == nil {
			err = json.Unmarshal(text, c)
		}
		if err != nil {
			return fmt.Errorf("optimizer: %s: %w", d.Name, err)
		}
	}
	report.Dropped = kept
	report.Notes = slices.DeleteFunc(report.Notes, func(note string) bool { return !strings.HasPrefix(note, "not exact") })
	p.reportOptimizer(report)
	var names []string
	for _, t := range tensors {
		if !keras.IsBuffer(t.Name) {
			names = append(names, t.Name)
		}
	}
	return p.setRunOptimizer(c, names, list, group, o.Step)
}
