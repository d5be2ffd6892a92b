package kerasfile

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Losses and metrics of an .h5 have the names that Keras 2 and 3 both find: Keras 3 takes an
// abbreviation such as mse for a metric where a loss is wanted.

// longNames are the names of functions by abbreviations and by names of Keras 2.
var longNames = map[string]string{
	"mse": "mean_squared_error", "mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error",
	"msle": "mean_squared_logarithmic_error", "bce": "binary_crossentropy", "kld": "kl_divergence",
	"kullback_leibler_divergence": "kl_divergence", "logcosh": "log_cosh", "cosine_proximity": "cosine_similarity",
}

// metricClasses are the classes of metrics by the names of their functions, as far as Keras 2 and
// 3 have both.
var metricClasses = map[string]string{
	"mean_squared_error": "MeanSquaredError", "mean_absolute_error": "MeanAbsoluteError",
	"mean_absolute_percentage_error": "MeanAbsolutePercentageError", "mean_squared_logarithmic_error": "MeanSquaredLogarithmicError",
	"binary_crossentropy": "BinaryCrossentropy", "categorical_crossentropy": "CategoricalCrossentropy",
	"sparse_categorical_crossentropy": "SparseCategoricalCrossentropy", "kl_divergence": "KLDivergence", "poisson": "Poisson",
	"binary_accuracy": "BinaryAccuracy", "categorical_accuracy": "CategoricalAccuracy", "sparse_categorical_accuracy": "SparseCategoricalAccuracy",
	"top_k_categorical_accuracy": "TopKCategoricalAccuracy", "sparse_top_k_categorical_accuracy": "SparseTopKCategoricalAccuracy",
	"cosine_similarity": "CosineSimilarity", "hinge": "Hinge", "squared_hinge": "SquaredHinge", "categorical_hinge": "CategoricalHinge",
}

// longName returns the name of a function for one in any case, or for an abbreviation.
func longName(name string) string {
	if long, ok := longNames[strings.ToLower(name)]; ok {
		return long
	}
	return name
}

// withLongNames returns the losses or metrics of a training_config with the names that both
// versions of Keras find.
func withLongNames(text json.RawMessage, metric bool) json.RawMessage {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return text
	}
	named, err := json.Marshal(functionsNamed(value, metric))
	if err != nil {
		return text
	}
	return named
}

func functionsNamed(value any, metric bool) any {
	switch v := value.(type) {
	case string:
		if metric && metricClasses[longName(v)] != "" && longName(v) != v {
			return metricClasses[longName(v)]
		}
		return longName(v)
	case []any:
		for i := range v {
			v[i] = functionsNamed(v[i], metric)
		}
	case map[string]any:
		if v["class_name"] != nil {
			return functionObject(v, metric)
		}
		for output := range v {
			v[output] = functionsNamed(v[output], metric)
		}
	}
	return value
}

// functionObject returns an object for a metric that is a function: one of its class, as Keras 3
// takes the function's name for the function.
func functionObject(o map[string]any, metric bool) any {
	config, _ := o["config"].(map[string]any)
	function, _ := config["fn"].(string)
	class := metricClasses[longName(function)]
	if !metric || o["class_name"] != "MeanMetricWrapper" || class == "" {
		return o
	}
	kept := map[string]any{}
	for _, name := range []string{"name", "dtype"} {
		if config[name] != nil {
			kept[name] = config[name]
		}
	}
	return map[string]any{"class_name": class, "config": kept}
}
