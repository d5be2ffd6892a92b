package keras

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
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
	_, current := config["module"]
	if _, compiled := config["compile_config"]; current && (compiled || training == "") {
		return []byte(text), nil
	}
	if !current {
		addModule(config, version)
	}
	if _, compiled := config["compile_config"]; !compiled && training != "" {
		if compiled := compileConfig(training, strings.HasPrefix(version, "2.")); compiled != nil {
			config["compile_config"] = compiled
		}
	}
	return json.Marshal(config)
}

// addModule adds the Python module of a model, by which Keras finds its class.
func addModule(config map[string]json.RawMessage, version string) {
	module, registered := `"keras"`, "null"
	if class := string(config["class_name"]); class == `"Functional"` || class == `"Model"` {
		module, registered = `"keras.src.models.functional"`, `"Functional"`
		if strings.HasPrefix(version, "2.") {
			module = `"keras.src.engine.functional"`
		}
		config["class_name"] = json.RawMessage(`"Functional"`)
	}
	config["module"], config["registered_name"] = json.RawMessage(module), json.RawMessage(registered)
}

// compileConfig returns the compile_config for a training_config. For Keras 3, the
// optimizer has the settings that it knows, and only metrics that are names are kept.
func compileConfig(training string, old bool) json.RawMessage {
	var settings map[string]json.RawMessage
	if json.Unmarshal([]byte(training), &settings) != nil {
		return nil
	}
	var o described
	if optimizer, ok := settings["optimizer_config"]; ok {
		delete(settings, "optimizer_config")
		if json.Unmarshal(optimizer, &o) == nil {
			settings["optimizer"] = optimizerObject(o, old)
		}
	}
	if old {
		settings["metrics"], settings["weighted_metrics"] = json.RawMessage("null"), json.RawMessage("null")
	}
	for _, key := range []string{"metrics", "weighted_metrics"} {
		var names []string
		if json.Unmarshal(settings[key], &names) != nil {
			settings[key] = json.RawMessage("null") // objects of Keras 2
		}
	}
	compiled, err := json.Marshal(settings)
	if err != nil {
		return nil
	}
	return compiled
}

// optimizerSettings are those of Keras 3's optimizers.
var optimizerSettings = []string{
	"name", "learning_rate", "weight_decay", "clipnorm", "global_clipnorm", "clipvalue", "use_ema", "ema_momentum",
	"ema_overwrite_frequency", "loss_scale_factor", "gradient_accumulation_steps", "beta_1", "beta_2", "epsilon", "amsgrad",
	"momentum", "nesterov", "rho", "centered", "initial_accumulator_value", "learning_rate_power",
	"l1_regularization_strength", "l2_regularization_strength", "l2_shrinkage_regularization_strength", "beta",
}

func optimizerObject(o described, all bool) json.RawMessage {
	config := map[string]any{}
	for key, value := range o.Config {
		if all || slices.Contains(optimizerSettings, key) {
			config[key] = value
		}
	}
	object, err := json.Marshal(map[string]any{
		"module": "keras.optimizers", "class_name": strings.TrimPrefix(o.Class, "Custom>"), "config": config, "registered_name": nil,
	})
	if err != nil {
		return json.RawMessage("null")
	}
	return object
}

// legacyConfig returns the model_config of an .h5 for a config.json: without what is of
// the archive.
func legacyConfig(text string) string {
	var config map[string]json.RawMessage
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

// legacyTraining returns the training_config of an .h5 for a compile_config.
func legacyTraining(text string) string {
	var settings map[string]json.RawMessage
	if text == "" || json.Unmarshal([]byte(text), &settings) != nil || settings["optimizer"] == nil {
		return text
	}
	var o struct {
		Class  string          `json:"class_name"`
		Config json.RawMessage `json:"config"`
	}
	if json.Unmarshal(settings["optimizer"], &o) == nil && o.Class != "" {
		settings["optimizer_config"], _ = json.Marshal(map[string]any{"class_name": o.Class, "config": o.Config})
		delete(settings, "optimizer")
	}
	legacy, err := json.Marshal(settings)
	if err != nil {
		return text
	}
	return string(legacy)
}
