package keras

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/errkind"
	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

// An optimizerRule maps the state of one class of Keras's optimizers to PyTorch's.
type optimizerRule struct {
	classes []string // of Keras
	mark    string   // a key that PyTorch's param_groups have for this optimizer alone
	slots   []slotRule
	groups  []groupKey
	counts  bool // PyTorch has the number of steps for each parameter
	inexact string
}

// A slotRule maps a buffer of a weight.
type slotRule struct {
	keras, pytorch string
	power          int // PyTorch's is Keras's times (sign · lr) to this power
	sign           float64
}

// A groupKey is a key of param_groups.
type groupKey struct {
	pytorch string
	keras   []string // settings, whose values make a list if there are several
	value   any      // if Keras has none
}

var optimizers = []optimizerRule{
	{
		classes: []string{"Adam", "AdamW"}, mark: "betas", counts: true,
		slots: []slotRule{{"momentum", "exp_avg", 0, 1}, {"velocity", "exp_avg_sq", 0, 1}, {"velocity_hat", "max_exp_avg_sq", 0, 1}},
		groups: []groupKey{
			{"lr", []string{"learning_rate"}, 0.001}, {"betas", []string{"beta_1", "beta_2"}, []any{0.9, 0.999}},
			{"eps", []string{"epsilon"}, 1e-7}, {"weight_decay", []string{"weight_decay"}, 0.0}, {"amsgrad", []string{"amsgrad"}, false},
		},
		inexact: "Keras adds epsilon before the bias is corrected and PyTorch after it: the first updates differ by up to epsilon/√(1−β₂ᵗ)",
	},
	{
		classes: []string{"SGD"}, mark: "dampening",
		slots: []slotRule{{"momentum", "momentum_buffer", -1, -1}},
		groups: []groupKey{
			{"lr", []string{"learning_rate"}, 0.01}, {"momentum", []string{"momentum"}, 0.0}, {"dampening", nil, 0.0},
			{"weight_decay", []string{"weight_decay"}, 0.0}, {"nesterov", []string{"nesterov"}, false},
		},
		inexact: "Keras's momentum has the learning rate in it: it was divided by the current one, which is exact if that was constant",
	},
	{
		classes: []string{"RMSprop"}, mark: "alpha", counts: true,
		slots: []slotRule{{"velocity", "square_avg", 0, 1}, {"momentum", "momentum_buffer", -1, 1}, {"average_gradient", "grad_avg", 0, 1}},
		groups: []groupKey{
			{"lr", []string{"learning_rate"}, 0.001}, {"alpha", []string{"rho"}, 0.9}, {"eps", []string{"epsilon"}, 1e-7},
			{"weight_decay", []string{"weight_decay"}, 0.0}, {"momentum", []string{"momentum"}, 0.0}, {"centered", []string{"centered"}, false},
		},
		inexact: "Keras has epsilon within the root and PyTorch outside",
	},
	{
		classes: []string{"Adagrad"}, mark: "initial_accumulator_value", counts: true,
		slots: []slotRule{{"accumulator", "sum", 0, 1}},
		groups: []groupKey{
			{"lr", []string{"learning_rate"}, 0.001}, {"lr_decay", nil, 0.0}, {"eps", []string{"epsilon"}, 1e-7}, {"weight_decay", []string{"weight_decay"}, 0.0},
			{"initial_accumulator_value", []string{"initial_accumulator_value"}, 0.1},
		},
		inexact: "Keras has epsilon within the root and PyTorch outside",
	},
	{
		classes: []string{"Adadelta"}, mark: "rho", counts: true,
		slots: []slotRule{{"accumulated_grad", "square_avg", 0, 1}, {"accumulated_delta_var", "acc_delta", 0, 1}},
		groups: []groupKey{
			{"lr", []string{"learning_rate"}, 0.001}, {"rho", []string{"rho"}, 0.95}, {"eps", []string{"epsilon"}, 1e-7}, {"weight_decay", []string{"weight_decay"}, 0.0},
		},
		inexact: "rounding differs",
	},
}

// IsBuffer reports whether a parameter of PyTorch or h5dnn is a buffer, which no optimizer updates.
func IsBuffer(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return last == "running_mean" || last == "running_var" || last == "num_batches_tracked"
}

// A Dropped is a setting or a buffer of an optimizer that the other framework does not
// have.
type Dropped struct{ Name, Reason string }

// An OptimizerReport says what a converted optimizer does otherwise.
type OptimizerReport struct {
	Notes   []string
	Dropped []Dropped
}

func (r *OptimizerReport) drop(name, reason string, args ...any) {
	r.Dropped = append(r.Dropped, Dropped{name, fmt.Sprintf(reason, args...)})
}

// kerasOnly are the settings of Keras's optimizers that PyTorch's do not have, if they are
// set.
var kerasOnly = []string{"clipnorm", "clipvalue", "global_clipnorm", "use_ema", "gradient_accumulation_steps", "loss_scale_factor"}

// isSet reports whether a setting is neither missing nor null, false or 0.
func isSet(value any) bool { return value != nil && value != false && value != 0.0 }

// decay is why weight decay is not converted.
const decay = "Keras subtracts it from the weights, and PyTorch's %s adds it to the gradients"

// ExportOptimizer returns the state_dict of PyTorch's optimizer of the parameters among
// tensors, which Export has made of the weights of o: arrays named state/0/exp_avg, and
// the param_groups as JSON by name. The report says what is not exact.
func ExportOptimizer(o *Optimizer, tensors []weights.Tensor) (state []weights.Tensor, groups map[string]string, report OptimizerReport, err error) {
	i := slices.IndexFunc(optimizers, func(r optimizerRule) bool { return slices.Contains(r.classes, o.Class) })
	if i < 0 {
		return nil, nil, report, notInPyTorch("optimizer %s", o.Class)
	}
	rule := optimizers[i]
	if groups, err = rule.settings(o, &report); err != nil {
		return nil, nil, report, err
	}
	rate, err := strconv.ParseFloat(groups["lr"], 64)
	if err != nil {
		return nil, nil, report, notInPyTorch("optimizer %s: learning rate %s", o.Class, groups["lr"])
	}
	var indices []int
	for _, t := range tensors {
		if IsBuffer(t.Name) {
			continue
		}
		k := len(indices)
		indices = append(indices, k)
		some := rule.export(t, fmt.Sprintf("state/%d/", k), rate, groups["momentum"] == "0")
		if len(some) > 0 && rule.counts {
			some = append([]weights.Tensor{{Name: fmt.Sprintf("state/%d/step", k), Array: storage.From([]float32{float32(o.Step)}), Operation: "step"}}, some...)
		}
		state = append(state, some...)
		for _, slot := range slices.Sorted(maps.Keys(t.Slots)) {
			if !slices.ContainsFunc(rule.slots, func(r slotRule) bool { return r.keras == slot }) {
				report.drop(slot+" of "+t.Name, "PyTorch's %s has no such buffer", o.Class)
			}
		}
	}
	text, err := json.Marshal(indices)
	groups["params"] = string(text)
	report.Notes = append(report.Notes, "the optimizer's parameters are numbered in the order above, which PyTorch does not check: register the modules in this order")
	if len(state) > 0 {
		report.Notes = append(report.Notes, "not exact: "+rule.inexact)
	}
	return state, groups, report, err
}

// settings returns the param_group of o, as JSON.
func (r optimizerRule) settings(o *Optimizer, report *OptimizerReport) (map[string]string, error) {
	groups := map[string]string{}
	for _, s := range r.groups {
		text, err := s.json(o)
		if err != nil {
			return nil, fmt.Errorf("optimizer %s: %s: %w", o.Class, s.pytorch, err)
		}
		groups[s.pytorch] = text
	}
	for _, name := range kerasOnly {
		if isSet(o.Config[name]) {
			report.drop(name, "PyTorch's %s has no such setting", o.Class)
		}
	}
	decayed := isSet(o.Config["weight_decay"])
	switch {
	case r.mark == "betas" && (decayed || o.Class == "AdamW"):
		groups[decoupled] = "true"
		report.Notes = append(report.Notes, "weight decay is that of torch.optim.AdamW")
	case r.mark == "betas":
		groups[decoupled] = "false"
	case decayed:
		groups["weight_decay"] = "0"
		report.drop("weight_decay", decay, o.Class)
	}
	return groups, nil
}

// decoupled is the setting of PyTorch's Adam that makes it AdamW.
const decoupled = "decoupled_weight_decay"

// export returns the buffers of one parameter. Momentum is left out if still is set.
func (r optimizerRule) export(t weights.Tensor, prefix string, rate float64, still bool) []weights.Tensor {
	var list []weights.Tensor
	for _, s := range r.slots {
		if still && s.power != 0 {
			continue // a momentum of 0, whose buffer Keras 2 has all the same
		}
		if a, ok := t.Slots[s.keras]; ok {
			name, op := prefix+s.pytorch, "as "+t.Name
			if s.power != 0 {
				factor := s.sign * math.Pow(rate, float64(s.power))
				a, op = weights.Scale(a, factor), op+fmt.Sprintf(" × %.6g", factor)
			}
			from := make([]string, len(t.From))
			for i, w := range t.From {
				from[i] = s.keras + " of " + w
			}
			list = append(list, weights.Tensor{Name: name, Array: a, From: from, Operation: op})
		}
	}
	return list
}

// json returns the value of a setting.
func (s groupKey) json(o *Optimizer) (string, error) {
	values, several := s.value.([]any)
	if values = slices.Clone(values); !several {
		values = []any{s.value}
	}
	for i, name := range s.keras {
		given := o.Config[name]
		if given == nil || name == "weight_decay" && given == false {
			continue
		}
		if _, ok := number(given); name == "learning_rate" && !ok {
			return "", notInPyTorch("a schedule of the learning rate")
		}
		values[i] = given
	}
	var value any = values
	if !several {
		value = values[0]
	}
	text, err := json.Marshal(value)
	return string(text), err
}

// ImportOptimizer sets the Slots of parameters, which are in PyTorch's order, from the
// state_dict of an optimizer, and returns the optimizer of Keras. State are arrays by
// names such as state/0/exp_avg, group the texts of the only param_group.
func ImportOptimizer(parameters []weights.Tensor, state map[string]storage.Array, group map[string]string) (*Optimizer, OptimizerReport, error) {
	var report OptimizerReport
	i := slices.IndexFunc(optimizers, func(r optimizerRule) bool { return group[r.mark] != "" })
	if i < 0 {
		return nil, report, errkind.Errorf(weights.ErrUnsupported, "an optimizer whose param_groups have none of betas, dampening, alpha, initial_accumulator_value and rho, which h5dnn does not convert to Keras")
	}
	rule := optimizers[i]
	if _, hasAMSGrad := group["amsgrad"]; rule.mark == "betas" && (!hasAMSGrad || group["momentum_decay"] != "") {
		return nil, report, errkind.Errorf(weights.ErrUnsupported, "an optimizer with betas that is neither Adam nor AdamW, such as NAdam, Adamax or RAdam, which h5dnn does not convert to Keras")
	}
	o := &Optimizer{Class: rule.classes[0], Config: rule.config(group)}
	rule.limit(o, group, &report)
	k := 0
	for n := range parameters {
		t := &parameters[n]
		if IsBuffer(t.Name) {
			continue
		}
		if err := rule.setSlots(t, k, state, o); err != nil {
			return nil, report, err
		}
		if a, ok := state[fmt.Sprintf("state/%d/step", k)]; ok && a.Len() == 1 {
			steps, err := storage.Read[int64](a)
			if err != nil {
				return nil, report, fmt.Errorf("step of parameter %d: %w", k, err)
			}
			o.Step = max(o.Step, steps[0])
		}
		k++
	}
	if len(state) > 0 {
		report.Notes = append(report.Notes, "not exact: "+rule.inexact)
	}
	return o, report, nil
}

// config returns Keras's settings for those of a param_group of PyTorch.
func (r optimizerRule) config(group map[string]string) map[string]any {
	config := map[string]any{}
	for _, s := range r.groups {
		var value any
		if err := json.Unmarshal([]byte(group[s.pytorch]), &value); err != nil {
			continue // an older version does not have it
		}
		if list, ok := value.([]any); ok && len(list) == len(s.keras) {
			for k, name := range s.keras {
				config[name] = list[k]
			}
		} else if len(s.keras) == 1 {
			config[s.keras[0]] = value
		}
	}
	return config
}

// setSlots sets the slots of t, which is parameter k of PyTorch, for an optimizer with the settings
// of o.
func (r optimizerRule) setSlots(t *weights.Tensor, k int, state map[string]storage.Array, o *Optimizer) error {
	rate, _ := o.Config["learning_rate"].(float64)
	for _, s := range r.slots {
		a, ok := state[fmt.Sprintf("state/%d/%s", k, s.pytorch)]
		if !ok {
			continue
		}
		if !slices.Equal(a.Shape, t.Array.Shape) {
			return fmt.Errorf("%s of parameter %d has shape %v, and %s has %v: the optimizer is of another model: %w", s.pytorch, k, a.Shape, t.Name, t.Array.Shape, weights.ErrShape)
		}
		if s.power != 0 {
			if rate == 0 {
				return errkind.Errorf(weights.ErrUnsupported, "momentum for a learning rate of 0, which Keras's has as a factor")
			}
			a = weights.Scale(a, s.sign*math.Pow(rate, -float64(s.power)))
		}
		if t.Slots == nil {
			t.Slots = map[string]storage.Array{}
		}
		t.Slots[s.keras] = a
	}
	return nil
}

// limit takes out of o what the settings of PyTorch mean and Keras cannot say.
func (r optimizerRule) limit(o *Optimizer, group map[string]string, report *OptimizerReport) {
	if isSet(o.Config["weight_decay"]) {
		switch {
		case r.mark == "betas" && group[decoupled] == "true":
			o.Class = "AdamW"
		case r.mark == "betas" && group[decoupled] == "":
			o.Config["weight_decay"] = nil
			report.drop("weight_decay", "the file does not say whether it is that of Adam, which Keras does not have, or of AdamW")
		default:
			o.Config["weight_decay"] = nil
			report.drop("weight_decay", decay, o.Class)
		}
	} else if group[decoupled] == "true" {
		o.Class = "AdamW"
	} else {
		o.Config["weight_decay"] = nil
	}
	for _, name := range []string{"maximize", "dampening", "lr_decay"} {
		if text := group[name]; text != "" && text != "false" && text != "0" && text != "0.0" {
			report.drop(name, "Keras's %s has no such setting", o.Class)
		}
	}
}
