package kerasfile

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestNamesOfLossesInLegacyFiles: Keras 3 takes the loss mse of an .h5 for a metric, and the
// function within a MeanMetricWrapper for a text.
func TestNamesOfLossesInLegacyFiles(t *testing.T) {
	for _, c := range []struct{ name, training, want string }{
		{"loss", `{"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": "mse"}`, `"loss":"mean_squared_error"`},
		{"losses by outputs", `{"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": {"a": "MAE", "b": ["kld", null]}}`, `"loss":{"a":"mean_absolute_error","b":["kl_divergence",null]}`},
		{"object", `{"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": {"class_name": "Huber", "config": {"delta": 1.0}}}`, `"loss":{"class_name":"Huber","config":{"delta":1.0}}`},
		{"own function", `{"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": "my_loss"}`, `"loss":"my_loss"`},
		{"optimizer of .keras", `{"optimizer": {"class_name": "SGD", "config": {}}, "loss": "bce"}`, `"loss":"binary_crossentropy"`},
		{"metrics", `{"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": null, "metrics": ["accuracy", "kld"]}`, `"metrics":["accuracy","KLDivergence"]`},
		{"wrapped", `{"optimizer_config": {"class_name": "SGD", "config": {}}, "loss": null, "metrics": [[{"class_name": "MeanMetricWrapper", "config": {"name": "mse", "dtype": "float32", "fn": "mean_squared_error"}}]]}`,
			`"metrics":[[{"class_name":"MeanSquaredError","config":{"dtype":"float32","name":"mse"}}]]`},
	} {
		if got := legacyTraining(c.training, "3.12.0"); !strings.Contains(got, c.want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s; want %s", c.name, got, c.want)
		}
	}
}
