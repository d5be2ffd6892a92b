package models

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/train"
)

// A runRule maps an optimizer of runs to PyTorch's, whose settings have the same names, but for betas and Adafactor's eps.
type runRule struct {
	name  string
	keys  []string // settings in param_groups
	fixed map[string]any
	marks []string // keys of param_groups that tell this optimizer
	lacks []string // and keys that it does not have
}

// runRules are tried in order.
var runRules = []runRule{
	{name: "nadam", keys: []string{"lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay"}, marks: []string{"momentum_decay"}},
	{name: "adamax", keys: []string{"lr", "betas", "eps", "weight_decay"}, marks: []string{"betas"}, lacks: []string{"amsgrad", "decoupled_weight_decay"}},
	{name: "adamw", keys: []string{"lr", "betas", "eps", "weight_decay", "amsgrad"}, fixed: map[string]any{"decoupled_weight_decay": true}, marks: []string{"betas", "amsgrad"}},
	{name: "adam", keys: []string{"lr", "betas", "eps", "weight_decay", "amsgrad"}, fixed: map[string]any{"decoupled_weight_decay": false}, marks: []string{"betas", "amsgrad"}},
	{name: "sgd", keys: []string{"lr", "momentum", "weight_decay", "nesterov"}, fixed: map[string]any{"dampening": 0.0}, marks: []string{"dampening"}},
	{name: "rmsprop", keys: []string{"lr", "alpha", "eps", "weight_decay", "momentum", "centered"}, marks: []string{"alpha", "centered"}},
	{name: "adagrad", keys: []string{"lr", "lr_decay", "eps", "weight_decay", "initial_accumulator_value"}, marks: []string{"initial_accumulator_value"}},
	{name: "adadelta", keys: []string{"lr", "rho", "eps", "weight_decay"}, marks: []string{"rho"}},
	{name: "adafactor", keys: []string{"lr", "beta2_decay", "eps", "d", "weight_decay"}, marks: []string{"beta2_decay"}},
}

// runBuffers are PyTorch's buffers, and the names that runs have for them.
var runBuffers = []struct{ pytorch, own string }{
	{"exp_avg", "first_moment"}, {"exp_avg_sq", "second_moment"}, {"max_exp_avg_sq", "max_second_moment"}, {"exp_inf", "infinity_norm"},
	{"momentum_buffer", "momentum"}, {"square_avg", "square_avg"}, {"grad_avg", "grad_avg"}, {"sum", "sum"}, {"acc_delta", "acc_delta"},
	{"row_var", "row_var"}, {"col_var", "col_var"}, {"variance", "variance"},
}

// runSettings returns the rule and the settings of the optimizer of a run.
func runSettings(c train.Config) (runRule, map[string]any, error) {
	o, err := nn.OptimizerFromConfig(c.Optimizer)
	if err != nil {
		return runRule{}, nil, err
	}
	described, err := nn.DescribeOptimizer(o)
	if err != nil {
		return runRule{}, nil, err
	}
	text, err := json.Marshal(described)
	named := map[string]map[string]any{}
	if err == nil {
		err = json.Unmarshal(text, &named)
	}
	for _, r := range runRules {
		if settings, ok := named[r.name]; ok && err == nil {
			return r, settings, nil
		}
	}
	return runRule{}, nil, fmt.Errorf("optimizer %s: PyTorch has none of this name, or one for some parameters only: %w", slices.Sorted(maps.Keys(named)), weights.ErrUnsupported)
}

// group returns settings of a run as PyTorch's param_group.
func (r runRule) group(settings map[string]any) map[string]any {
	group := maps.Clone(r.fixed)
	if group == nil {
		group = map[string]any{}
	}
	for _, key := range r.keys {
		switch value, ok := settings[key]; {
		case key == "betas":
			group[key] = []any{settings["beta1"], settings["beta2"]}
		case key == "eps" && r.name == "adafactor":
			first := settings["eps1"]
			if first == 0.0 {
				first = nil
			}
			group[key] = []any{first, settings["eps2"]}
		case !ok:
			group[key] = false // a choice that is left out
		default:
			group[key] = value
		}
	}
	return group
}

// runRuleOf returns the rule of a param_group of PyTorch, or false.
func runRuleOf(group map[string]any) (runRule, bool) {
	has := func(key string) bool { _, ok := group[key]; return ok }
	for _, r := range runRules {
		if slices.ContainsFunc(r.marks, func(key string) bool { return !has(key) }) || slices.ContainsFunc(r.lacks, has) {
			continue
		}
		if apart, ok := r.fixed["decoupled_weight_decay"]; ok && apart != (group["decoupled_weight_decay"] == true) {
			continue
		}
		return r, true
	}
	return runRule{}, false
}

// settings returns a param_group of PyTorch as settings of a run, and adds differing settings to lost.
func (r runRule) settings(group map[string]any, lost *loss.List) map[string]any {
	settings := map[string]any{}
	for _, key := range r.keys {
		value, ok := group[key]
		list, _ := value.([]any)
		switch {
		case key == "betas" && len(list) == 2:
			settings["beta1"], settings["beta2"] = list[0], list[1]
		case key == "eps" && r.name == "adafactor" && len(list) == 2:
			settings["eps2"] = list[1]
			if list[0] != nil {
				settings["eps1"] = list[0]
			}
		case ok:
			settings[key] = value
		}
	}
	for key, value := range map[string]any{"dampening": 0.0, "maximize": false} {
		if given, ok := group[key]; ok && given != value {
			lost.Add(runOptimizer+key, loss.Property, 1, "h5dnn's optimizers have no such setting")
		}
	}
	if _, ok := group["decoupled_weight_decay"]; !ok && r.name == "adam" && group["weight_decay"] != 0.0 {
		lost.Add(runOptimizer+"weight_decay", loss.Property, 1, "the file does not say whether Adam or AdamW used it; it is taken as Adam's")
	}
	return settings
}

// momentaOf returns the product of NAdam's momenta in n steps.
func momentaOf(settings map[string]any, n int64) float64 {
	beta1, _ := settings["beta1"].(float64)
	decay, _ := settings["momentum_decay"].(float64)
	product := 1.0
	for t := int64(1); t <= n && product > 0; t++ {
		product *= beta1 * (1 - 0.5*math.Pow(0.96, float64(t)*decay))
	}
	return product
}

// decoded returns the values of the texts of a param_group.
func decoded(group map[string]string) map[string]any {
	values := map[string]any{}
	for key, text := range group {
		var value any
		if json.Unmarshal([]byte(text), &value) == nil || strings.TrimSpace(text) == "null" {
			values[key] = value
		}
	}
	return values
}
