package models

import (
	"encoding/json"
	"testing"

	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/train"
)

// TestSettingsOfOptimizersSurvivePyTorch: the settings of a run, as a param_group and back, describe the same optimizer.
func TestSettingsOfOptimizersSurvivePyTorch(t *testing.T) {
	converted := map[string]bool{}
	for _, description := range []string{
		`{"adam": {"lr": 0.1, "beta1": 0.8, "amsgrad": true}}`, `{"adamw": {"lr": 0.1, "weight_decay": 0.2}}`, `{"sgd": {"lr": 0.1, "momentum": 0.9, "nesterov": true}}`,
		`{"nadam": {"lr": 0.1, "momentum_decay": 0.01, "decoupled_weight_decay": true}}`, `{"adamax": {"lr": 0.1, "beta2": 0.9}}`, `{"rmsprop": {"alpha": 0.8, "centered": true}}`,
		`{"adagrad": {"lr_decay": 0.1, "initial_accumulator_value": 0.2}}`, `{"adadelta": {"rho": 0.8}}`, `{"adafactor": {"d": 2, "eps1": 1e-4}}`, `{"adafactor": {"eps2": 0.1}}`,
	} {
		var optimizer any
		if err := json.Unmarshal([]byte(description), &optimizer); err != nil {
			t.Fatal(err)
		}
		rule, settings, err := runSettings(train.Config{Optimizer: optimizer})
		if err != nil {
			t.Fatal(err)
		}
		converted[rule.name] = true
		again, ok := runRuleOf(rule.group(settings))
		if !ok || again.name != rule.name {
			t.Errorf("%s comes back as %q, %v", description, again.name, ok)
			continue
		}
		var lost loss.List
		o, err := nn.OptimizerFromConfig(map[string]any{rule.name: again.settings(rule.group(settings), &lost)})
		if err != nil || len(lost) > 0 {
			t.Errorf("%s: %v, lost %v", description, err, lost)
			continue
		}
		got, _ := nn.DescribeOptimizer(o)
		want, _ := nn.OptimizerFromConfig(optimizer)
		wanted, _ := nn.DescribeOptimizer(want)
		gotText, _ := json.Marshal(got)
		if wantText, _ := json.Marshal(wanted); string(gotText) != string(wantText) {
			t.Errorf("%s comes back as %s, want %s", description, gotText, wantText)
		}
	}
	for _, r := range runRules {
		if !converted[r.name] {
			t.Errorf("%s was not tried", r.name)
		}
	}
	for _, name := range []string{"lamb", "lars", "lion", "muon"} {
		if _, _, err := runSettings(train.Config{Optimizer: name}); err == nil {
			t.Errorf("%s was converted", name)
		}
	}
	for _, radam := range []map[string]any{{"betas": []any{0.9, 0.99}, "decoupled_weight_decay": false}, {"ns_coefficients": nil}, {"etas": nil}} {
		if rule, ok := runRuleOf(radam); ok {
			t.Errorf("%v was taken as %s", radam, rule.name)
		}
	}
}
