package models

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/train"
)

// TestLossesOfKerasAndBack reads losses as Keras 2 and 3 write them, and writes them again.
func TestLossesOfKerasAndBack(t *testing.T) {
	for text, want := range map[string]string{
		`"mse"`: "map[mean_squared_error:map[]]", `"mean_absolute_error"`: "map[mean_absolute_error:map[]]",
		`{"module": "keras.losses", "class_name": "Huber", "config": {"delta": 2.0, "reduction": "sum_over_batch_size"}}`: "map[huber:map[delta:2]]",
		`"sparse_categorical_crossentropy"`:                                                                  "map[cross_entropy:map[probabilities:true]]",
		`{"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": true}}`:                   "map[cross_entropy:map[]]",
		`{"class_name": "CategoricalCrossentropy", "config": {"from_logits": true, "label_smoothing": 0.1}}`: "map[cross_entropy:map[label_smoothing:0.1]]",
		`{"class_name": "BinaryCrossentropy", "config": {"from_logits": false, "label_smoothing": 0.0}}`:     "map[bce_with_logits:map[probabilities:true]]",
		`{"class_name": "BinaryCrossentropy", "config": {"label_smoothing": 0.1}}`:                           "<nil>",
		`{"class_name": "MeanSquaredError", "config": {"reduction": "sum"}}`:                                 "<nil>",
		`"poisson"`: "<nil>",
		`{"module": "builtins", "class_name": "function", "config": "mean_squared_error", "registered_name": "function"}`: "map[mean_squared_error:map[]]",
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		got, ok := lossOf(value)
		if fmt.Sprint(got) != want || ok == (want == "<nil>") {
			t.Errorf("%s is %v, %v; want %s", text, got, ok, want)
			continue
		}
		if !ok {
			continue
		}
		if _, err := nn.LossFromConfig(got); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		again, ok := lossOf(normal(t, kerasLossOf(train.Config{Loss: got})))
		if !ok || fmt.Sprint(again) != want {
			t.Errorf("%s comes back as %v; want %s", text, again, want)
		}
	}
}

// normal returns a value as JSON has it.
func normal(t *testing.T, value any) (v any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLossWeightsAreNoted of a model that was compiled with some.
func TestLossWeightsAreNoted(t *testing.T) {
	for weights, want := range map[string]int{"null": 0, "[0.5]": 1} {
		meta := map[string]string{kerasfile.MetaTraining: `{"loss": "mse", "loss_weights": ` + weights + `}`}
		p := &Plan{Source: &Source{File: serialize.NewList(0, meta, func() error { return nil })}}
		c := train.Defaults()
		if p.setLoss(&c); len(p.Notes) != want {
			t.Errorf("loss_weights %s: notes %q; want %d", weights, p.Notes, want)
		}
	}
}

// TestMetricsAreCarriedOrNoted of models that Keras 3 and 2 compiled with some.
func TestMetricsAreCarriedOrNoted(t *testing.T) {
	for metrics, want := range map[string][2]int{ // carried, notes
		`null`:                            {0, 0},
		`["accuracy", "mae"]`:             {1, 0},
		`["MeanSquaredError", "AUC"]`:     {1, 1},
		`{"a": ["mae"], "b": ["auc"]}`:    {1, 1},
		`[[{"class_name": "Precision"}]]`: {0, 1},
		`[[{"class_name": "MeanMetricWrapper", "config": {"name": "mse"}}]]`: {1, 0},
	} {
		meta := map[string]string{kerasfile.MetaTraining: `{"loss": "mse", "metrics": ` + metrics + `}`}
		p := &Plan{Source: &Source{File: serialize.NewList(0, meta, func() error { return nil })}}
		c := train.Defaults()
		before := len(c.Metrics)
		if p.setLoss(&c); len(c.Metrics)-before != want[0] || len(p.Notes) != want[1] {
			t.Errorf("metrics %s: %v, notes %q; want %v", metrics, c.Metrics, p.Notes, want)
		}
	}
}
