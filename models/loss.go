package models

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/train"
)

// A kerasLoss is a loss of Keras and of h5dnn.
type kerasLoss struct {
	class  string   // of Keras: its name in code is keras.Snake of it
	names  []string // other names
	own    string   // "" if it is the name in Keras's code
	logits bool     // Keras has a setting from_logits, which is false by default
	number string   // a setting of both that is a number, or ""
	key    string   // its name in h5dnn
}

var kerasLosses = []kerasLoss{
	{class: "MeanSquaredError", names: []string{"mse", "MSE"}},
	{class: "MeanAbsoluteError", names: []string{"mae", "MAE"}},
	{class: "Huber", names: []string{"huber_loss"}, number: "delta", key: "delta"},
	{class: "SparseCategoricalCrossentropy", own: "cross_entropy", logits: true},
	{class: "CategoricalCrossentropy", own: "cross_entropy", logits: true, number: "label_smoothing", key: "label_smoothing"},
	{class: "BinaryCrossentropy", own: "bce_with_logits", logits: true},
}

// name returns h5dnn's name.
func (l kerasLoss) name() string { return cmp.Or(l.own, keras.Snake(l.class)) }

// lossOf returns h5dnn's description of a loss in a configuration of Keras: a name or an
// object. It returns false for others.
func lossOf(value any) (description any, ok bool) {
	name, _ := value.(string)
	config := map[string]any{}
	if o, is := value.(map[string]any); is {
		name, _ = o["class_name"].(string)
		if inner, is := o["config"].(map[string]any); is {
			config = inner
		} else if text, is := o["config"].(string); is { // a function
			name = text
		}
	}
	i := slices.IndexFunc(kerasLosses, func(l kerasLoss) bool {
		return name != "" && (name == l.class || name == keras.Snake(l.class) || slices.Contains(l.names, name))
	})
	if i < 0 {
		return nil, false
	}
	l := kerasLosses[i]
	settings := map[string]any{}
	if n, is := config[l.number].(float64); is && l.number != "" && n != 0 {
		settings[l.key] = n
	}
	if smoothing, _ := config["label_smoothing"].(float64); smoothing != 0 && l.number != "label_smoothing" {
		return nil, false
	}
	if l.logits && config["from_logits"] != true {
		settings["probabilities"] = true
	}
	if reduction, _ := config["reduction"].(string); reduction == "sum" {
		return nil, false // over elements otherwise than here
	}
	return map[string]any{l.name(): settings}, true
}

// setLoss sets the loss and metrics of c to those that a model of Keras was compiled with,
// as far as h5dnn has them.
func (p *Plan) setLoss(c *train.Config) {
	var compiled struct {
		Loss    any `json:"loss"`
		Weights any `json:"loss_weights"`
		Metrics any `json:"metrics"`
	}
	if json.Unmarshal([]byte(p.Source.Meta()[kerasfile.MetaTraining]), &compiled) != nil || compiled.Loss == nil {
		return
	}
	if text, _ := json.Marshal(compiled.Weights); compiled.Weights != nil {
		p.Notes = append(p.Notes, fmt.Sprintf("the loss_weights %.80s that the model was compiled with are not carried; targets of a run have a weight", text))
	}
	if list, ok := compiled.Loss.([]any); ok && len(list) == 1 {
		compiled.Loss = list[0]
	}
	description, ok := lossOf(compiled.Loss)
	if !ok {
		text, _ := json.Marshal(compiled.Loss)
		p.Notes = append(p.Notes, fmt.Sprintf("the loss %.80s has no counterpart for this model; that of the run is mean_squared_error", text))
		return
	}
	c.Loss = description
	p.setMetrics(c, compiled.Metrics)
}

// setMetrics adds the metrics that a model of Keras was compiled with, and notes those that do not become metrics of a run. The accuracy of
// labels is shown anyway.
func (p *Plan) setMetrics(c *train.Config, compiled any) {
	var left []string
	for _, name := range metricNames(compiled) {
		switch name = keras.Snake(name); name {
		case "mae", "mean_absolute_error":
			c.Metrics = append(c.Metrics, "mean_absolute_error")
		case "mse", "mean_squared_error":
			c.Metrics = append(c.Metrics, "mean_squared_error")
		case "acc", "accuracy", "binary_accuracy", "categorical_accuracy", "sparse_categorical_accuracy":
		default:
			left = append(left, name)
		}
	}
	if len(left) > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("the metrics %s that the model was compiled with are not carried; `h5dnn help metrics` lists the metrics of a run", strings.Join(left, ", ")))
	}
}

// metricNames returns the names or classes of metrics in lists, or by outputs, as Keras 3 describes them, and Keras 2, which wraps functions.
func metricNames(described any) (names []string) {
	switch m := described.(type) {
	case string:
		return []string{m}
	case []any:
		for _, inner := range m {
			names = append(names, metricNames(inner)...)
		}
	case map[string]any:
		class, _ := m["class_name"].(string)
		if config, ok := m["config"].(map[string]any); ok && class == "MeanMetricWrapper" {
			class, _ = config["name"].(string)
		}
		if class != "" {
			return []string{class}
		}
		for _, output := range slices.Sorted(maps.Keys(m)) {
			names = append(names, metricNames(m[output])...)
		}
	}
	return names
}

// kerasLossOf returns Keras's description of the loss of a run, or nil.
func kerasLossOf(c train.Config) any {
	name, settings := "", map[string]any{}
	text, err := json.Marshal(c.Loss)
	if err != nil || json.Unmarshal(text, &name) != nil && json.Unmarshal(text, &settings) != nil {
		return nil
	}
	for key, value := range settings {
		name = key
		settings, _ = value.(map[string]any)
	}
	name = strings.Replace(strings.Replace(name, "mse", "mean_squared_error", 1), "mae", "mean_absolute_error", 1)
	for _, l := range kerasLosses {
		if l.name() != name {
			continue
		}
		config := map[string]any{}
		for key, value := range settings {
			if key == l.key {
				config[l.number] = value
			} else if key != "probabilities" {
				config = nil
				break
			}
		}
		if config == nil {
			continue // a setting that this class does not have
		}
		if l.logits {
			config["from_logits"] = settings["probabilities"] != true
		}
		return map[string]any{"module": "keras.losses", "class_name": l.class, "config": config, "registered_name": nil}
	}
	return nil
}

// compileConfig returns how Keras compiles a model with an optimizer and a loss, which may
// be nil. Settings that are nil are left out. Numbers are floats: Keras 3 refuses a momentum of 0 that is not 0.0.
func compileConfig(o *keras.Optimizer, loss any) (string, error) {
	settings := map[string]any{}
	for name, value := range o.Config {
		if number, ok := value.(float64); ok && number == math.Trunc(number) && math.Abs(number) < 1e15 {
			value = json.RawMessage(fmt.Sprintf("%.1f", number))
		}
		if value != nil {
			settings[name] = value
		}
	}
	text, err := json.Marshal(map[string]any{"loss": loss, "optimizer": map[string]any{
		"module": "keras.optimizers", "class_name": o.Class, "config": settings, "registered_name": nil,
	}})
	return string(text), err
}
