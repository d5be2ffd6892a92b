package keras

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// defaultRates are Keras's optimizers and the learning rates that they have without a setting.
var defaultRates = map[string]float64{
	"Adam": 1e-3, "AdamW": 1e-3, "SGD": 1e-2, "RMSprop": 1e-3, "Adagrad": 1e-3, "Adadelta": 1e-3, "Adamax": 1e-3,
	"Nadam": 1e-3, "Ftrl": 1e-3, "Lion": 1e-3, "Adafactor": 1e-3, "Lamb": 1e-3, "Muon": 1e-3, "LossScaleOptimizer": 0,
}

// UnmarshalJSON reads an object, or a name in any case, such as "adam", of an optimizer
// with the default settings.
func (o *Optimizer) UnmarshalJSON(text []byte) error {
	var object struct {
		Class  string         `json:"class_name"`
		Config map[string]any `json:"config"`
	}
	if json.Unmarshal(text, &object.Class) != nil {
		err := json.Unmarshal(text, &object)
		o.Class, o.Config = object.Class, object.Config
		return err
	}
	o.Class, o.Config = object.Class, map[string]any{}
	for class := range defaultRates {
		if strings.EqualFold(o.Class, class) {
			o.Class = class
		}
	}
	return nil
}

// OptimizerIn returns the optimizer in a training_config or compile_config, or nil.
func OptimizerIn(training string) *Optimizer {
	var compiled struct {
		Old *Optimizer `json:"optimizer_config"`
		New *Optimizer `json:"optimizer"`
	}
	if json.Unmarshal([]byte(training), &compiled) != nil {
		return nil
	}
	o := cmp.Or(compiled.New, compiled.Old)
	if o != nil {
		o.Class = strings.TrimPrefix(o.Class, "Custom>")
	}
	return o
}

// IsScaled reports whether o scales the loss for another optimizer within it.
func (o *Optimizer) IsScaled() bool { return strings.HasPrefix(o.Class, "LossScaleOptimizer") }

// inner returns the optimizer within a LossScaleOptimizer.
func (o *Optimizer) inner() (*Optimizer, bool) {
	in, _ := o.Config["inner_optimizer"].(map[string]any)
	class, _ := in["class_name"].(string)
	config, ok := in["config"].(map[string]any)
	return &Optimizer{Class: strings.TrimPrefix(class, "Custom>"), Config: config}, ok
}

// isCurrent reports whether an optimizer is one of Keras 2.11 or later, from its settings.
func (o *Optimizer) isCurrent() bool {
	return o.Config["is_legacy_optimizer"] != nil || o.Config["jit_compile"] != nil || o.Config["ema_momentum"] != nil
}

// optimizerSettings are the settings of Keras 3's optimizers.
var optimizerSettings = []string{
	"name", "learning_rate", "weight_decay", "clipnorm", "global_clipnorm", "clipvalue", "use_ema", "ema_momentum",
	"ema_overwrite_frequency", "loss_scale_factor", "gradient_accumulation_steps", "beta_1", "beta_2", "epsilon", "amsgrad",
	"momentum", "nesterov", "rho", "centered", "initial_accumulator_value", "learning_rate_power",
	"l1_regularization_strength", "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta",
	"beta_2_decay", "epsilon_1", "epsilon_2", "clip_threshold", "relative_step",
	"inner_optimizer", "initial_scale", "dynamic_growth_steps",
}

// Object returns the optimizer as archives have it.
func (o *Optimizer) Object() map[string]any {
	return map[string]any{"module": "keras.optimizers", "class_name": o.Class, "config": o.Config, "registered_name": nil}
}

// ForKeras3 returns an optimizer of Keras 2 or 3 with the class and the settings that Keras 3
// has. Those of other programs stay as they are.
func (o *Optimizer) ForKeras3() *Optimizer {
	made := &Optimizer{Class: strings.TrimPrefix(o.Class, "Custom>"), Config: map[string]any{}}
	if made.IsScaled() {
		made.Class = "LossScaleOptimizer"
	}
	if _, known := defaultRates[made.Class]; !known {
		return o
	}
	for key, value := range o.Config {
		if slices.Contains(optimizerSettings, key) {
			made.Config[key] = value
		}
	}
	if inner, ok := o.inner(); ok {
		made.Config["inner_optimizer"] = inner.ForKeras3().Object()
	}
	rate := made.Config["learning_rate"]
	if decay := o.Config["decay"]; !isZero(decay) && made.Class != "Nadam" {
		made.Config["learning_rate"] = map[string]any{
			"module": "keras.optimizers.schedules", "class_name": "InverseTimeDecay", "registered_name": nil,
			"config": map[string]any{"initial_learning_rate": rate, "decay_steps": 1, "decay_rate": decay, "staircase": false},
		}
	}
	if schedule, ok := rate.(map[string]any); ok {
		made.Config["learning_rate"] = scheduleForKeras3(schedule)
	}
	return made
}

// scheduleForKeras3 returns a schedule of learning rates whose name, if any, is a text, and
// which says its module.
func scheduleForKeras3(schedule map[string]any) map[string]any {
	schedule = maps.Clone(schedule)
	if schedule["module"] == nil {
		schedule["module"], schedule["registered_name"] = "keras.optimizers.schedules", nil
	}
	if config, ok := schedule["config"].(map[string]any); ok && config["name"] == nil {
		config = maps.Clone(config)
		delete(config, "name")
		schedule["config"] = config
	}
	return schedule
}

// isZero reports whether a setting is missing or a number 0.
func isZero(v any) bool {
	n, err := strconv.ParseFloat(fmt.Sprint(v), 64)
	return err != nil || n == 0
}

// DifferencesInKeras3 lists what an optimizer of Keras 2 does otherwise in Keras 3.
func (o *Optimizer) DifferencesInKeras3() (list []string) {
	if decay := o.Config["decay"]; !isZero(decay) && o.Class == "Nadam" {
		list = append(list, fmt.Sprintf("Keras 3's Nadam has no decay, which is %v, and computes other steps", decay))
	}
	to := o.ForKeras3()
	for _, name := range slices.Sorted(maps.Keys(o.Config)) {
		if to.Config[name] == nil && !slices.Contains(unusedSettings, name) && !isEmpty(o.Config[name]) {
			list = append(list, fmt.Sprintf("Keras 3's %s has no setting %s, which is %v", to.Class, name, o.Config[name]))
		}
	}
	return list
}

// unusedSettings are settings of Keras 2's optimizers that change no result, or that have a
// counterpart in Keras 3.
var unusedSettings = []string{"jit_compile", "is_legacy_optimizer", "decay", "dynamic"}

func isEmpty(v any) bool { return v == nil || v == false || v == 0.0 }
