package kerasfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/models/keras"
)

// Configurations differ between the layouts: a .keras has the modules of classes, and how
// the model was compiled, in config.json, and an .h5 has that in an attribute of its own.

// archiveConfig returns config.json for a model_config and a training_config of a version
// of Keras.
func archiveConfig(text, training, version string) ([]byte, error) {
	var config map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return nil, fmt.Errorf("%s: %w", MetaConfig, err)
	}
	old := !strings.HasPrefix(version, "3.")
	if _, compiled := config["compile_config"]; !old && config["module"] != nil && (compiled || training == "") {
		return []byte(text), nil
	}
	if old {
		translated, err := keras.Translate(text, true)
		if err != nil {
			return nil, err
		}
		text, config = translated, map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return nil, fmt.Errorf("%s: %w", MetaConfig, err)
		}
	}
	if config["module"] == nil {
		if !old {
			described, err := keras.WithModules(text)
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal([]byte(described), &config); err != nil {
				return nil, fmt.Errorf("%s: %w", MetaConfig, err)
			}
		}
		addModule(config)
	}
	if compiled := config["compile_config"]; compiled != nil {
		if old {
			config["compile_config"] = compileConfig(string(compiled))
		}
	} else if training != "" {
		if compiled := compileConfig(training); compiled != nil {
			config["compile_config"] = compiled
		}
	}
	return json.Marshal(config)
}

// addModule adds the Python module of a model, by which Keras finds its class. Keras 2 and 3
// have Functional in modules of different names, and Model, which makes a Functional of such a
// configuration, in one of the same name.
func addModule(config map[string]json.RawMessage) {
	module, registered := `"keras"`, "null"
	if class := string(config["class_name"]); class == `"Functional"` || class == `"Model"` {
		config["class_name"] = json.RawMessage(`"Model"`)
	}
	config["module"], config["registered_name"] = json.RawMessage(module), json.RawMessage(registered)
}

// compileConfig returns the compile_config for a training_config, or for one of Keras 2. The
// optimizer has the settings that Keras 3 knows, and only metrics that are names are kept.
func compileConfig(training string) json.RawMessage {
	var settings map[string]json.RawMessage
	if json.Unmarshal([]byte(training), &settings) != nil {
		return nil
	}
	for _, key := range []string{"optimizer_config", "optimizer"} {
		var o keras.Optimizer
		if optimizer, ok := settings[key]; ok && json.Unmarshal(optimizer, &o) == nil {
			delete(settings, key)
			settings["optimizer"] = optimizerObject(o, optimizer)
		}
	}
	if loss, ok := settings["loss"]; ok {
		settings["loss"] = lossObjects(loss)
	}
	for _, key := range []string{"metrics", "weighted_metrics"} {
		var names []string
		if json.Unmarshal(settings[key], &names) != nil {
			settings[key] = json.RawMessage("null") // objects of Keras 2
		}
	}
	for _, key := range []string{"steps_per_execution", "run_eagerly", "jit_compile"} {
		if string(settings[key]) == "null" {
			delete(settings, key) // Keras 3 has other defaults
		}
	}
	compiled, err := json.Marshal(settings)
	if err != nil {
		return nil
	}
	return compiled
}

// lossObjects returns a loss, or several, as archives have them: objects say their module, and
// what Keras 2 calls the reduction auto has the name that it stands for.
func lossObjects(text json.RawMessage) json.RawMessage {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return text
	}
	described, err := json.Marshal(withModules(value))
	if err != nil {
		return text
	}
	return described
}

func withModules(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = withModules(v[i])
		}
	case map[string]any:
		config, isObject := v["config"].(map[string]any)
		if _, ok := v["class_name"].(string); !ok || !isObject {
			for name := range v { // losses by outputs
				v[name] = withModules(v[name])
			}
			return v
		}
		if v["module"] == nil {
			v["module"], v["registered_name"] = "keras.losses", nil
		}
		if v["class_name"] != "LossFunctionWrapper" {
			delete(config, "fn") // the function that the class stands for, which Keras 2 writes
		}
		if config["reduction"] == "auto" {
			config["reduction"] = "sum_over_batch_size"
		}
	}
	return value
}

// optimizerObject returns the object of .keras for an optimizer_config. Numbers stay as they
// are written: Keras 3 refuses a momentum of 0 that is not 0.0.
func optimizerObject(o keras.Optimizer, text json.RawMessage) json.RawMessage {
	var exact struct{ Config map[string]any }
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&exact) == nil { // an optimizer without settings may be a name
		o.Config = exact.Config
	}
	object, err := json.Marshal(o.ForKeras3().Object())
	if err != nil {
		return json.RawMessage("null")
	}
	return object
}

// legacyConfig returns the model_config of an .h5 for a config.json: without what is of
// the archive.
func legacyConfig(text, version string) string {
	var config map[string]json.RawMessage
	if !strings.HasPrefix(version, "3.") {
		if translated, err := keras.Translate(text, false); err == nil {
			text = translated
		}
	}
	if strings.HasPrefix(version, "3.") {
		if described, err := keras.WithModules(text); err == nil {
			text = described
		}
	}
	if json.Unmarshal([]byte(text), &config) != nil || config["module"] == nil {
		return text
	}
	for _, key := range []string{"module", "registered_name", "build_config", "compile_config"} {
		delete(config, key)
	}
	shorter, err := json.Marshal(config)
	if err != nil {
		return text
	}
	return string(shorter)
}

// legacyOptimizer returns the optimizer_config of an .h5 of a version of Keras. Keras 2 finds AdamW,
// Lion and Adafactor, which it did not always have, under names of registered classes alone. It
// takes an optimizer for one of before 2.11 unless the settings say that it is not.
func legacyOptimizer(class string, text json.RawMessage, version string) json.RawMessage {
	var o struct {
		Config map[string]json.RawMessage `json:"config"`
	}
	if json.Unmarshal(text, &o) != nil || o.Config == nil {
		o.Config = map[string]json.RawMessage{} // a name: the default settings
	}
	if !strings.HasPrefix(version, "3.") && o.Config["is_legacy_optimizer"] == nil && o.Config["ema_momentum"] != nil {
		o.Config["is_legacy_optimizer"] = json.RawMessage("false") // which a .keras for Keras 3 lacks
	}
	if _, of2 := o.Config["is_legacy_optimizer"]; of2 && slices.Contains([]string{"AdamW", "Lion", "Adafactor"}, class) {
		class = "Custom>" + class
	}
	config, err := json.Marshal(map[string]any{"class_name": class, "config": o.Config})
	if err != nil {
		return json.RawMessage("null")
	}
	return config
}

// legacyTraining returns the training_config of an .h5 of a version of Keras for a compile_config.
// Without an optimizer it has no such setting: Keras could not load the model.
func legacyTraining(text, version string) string {
	var settings map[string]json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &settings) != nil {
		return text
	}
	if settings["optimizer"] == nil && settings["optimizer_config"] == nil {
		return ""
	}
	if o := keras.OptimizerIn(text); o != nil && o.Class != "" && settings["optimizer"] != nil {
		settings["optimizer_config"] = legacyOptimizer(o.Class, settings["optimizer"], version)
		delete(settings, "optimizer")
	}
	for _, key := range []string{"loss", "loss_weights", "metrics", "weighted_metrics"} { // without which Keras does not load the model
		if settings[key] == nil {
			settings[key] = json.RawMessage("null")
		}
	}
	settings["loss"] = withLongNames(settings["loss"], false)
	for _, key := range []string{"metrics", "weighted_metrics"} {
		settings[key] = withLongNames(settings[key], true)
	}
	legacy, err := json.Marshal(settings)
	if err != nil {
		return text
	}
	return string(legacy)
}
