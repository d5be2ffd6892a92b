package train_test

import (
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/train"
)

// TestNamesOfOtherProgramsGetOurs wants errors to have the name here, or what to write.
func TestNamesOfOtherProgramsGetOurs(t *testing.T) {
	for text, want := range map[string]string{
		"learning_rate: 1":                                                   "no such setting; want optimizer: {adam: {lr: …}}",
		"batch_size: 3":                                                      "no such setting; want batch",
		"validation_split: 0.1":                                              "no such setting; want data: {split: …}",
		"loss: categorical_crossentropy":                                     "no such loss; want cross_entropy, of labels 0, 1, …",
		"loss: CrossEntropyLoss":                                             "no such loss; want cross_entropy",
		"loss: binary_crossentropy":                                          "no such loss; want bce_with_logits",
		"optimizer: {adam: {learning_rate: 1}}":                              "no such setting; want lr",
		"model: [{conv2d: {filters: 3}}]":                                    "no such setting; want out_channels",
		"model: [{dense: {units: 3}}]":                                       "no such setting; want out_features",
		"model: [{MaxPooling2D: {pool_size: 2}}]":                            "no such layer; want maxpool2d",
		"model: [{dense: {activation: relu}}]":                               "the activation as the layer that follows",
		"model: {inputs: x, nodes: [], outputs: h}":                          "nodes is no setting of a layer; want {graph: {nodes: [{name: h, layer: {dense: 8}, from: x}, …]}}",
		"model: {nodes: []}":                                                 "no such layer; want {graph: {nodes: [",
		"model: {graph: {nodes: [{name: h, layer: {dense: 8}, inputs: x}]}}": "no such setting; want from",
		"model: {graph: {nodes: {h: {dense: 8}}}}":                           "want a list of nodes, [{name: h, layer: {dense: 8}, from: x}, …]",
		"inputs: x":                              "no such setting; want data: {x: PATH}",
		"metrics: [sparse_categorical_accuracy]": "no such metric; want accuracy",
		"data: {file: a, x: x, y: y, labels: x}": "no such setting; want y",
	} {
		if !strings.HasPrefix(text, "data") {
			text = "data: {file: a, x: x, y: y}\n" + text
		}
		if _, err := train.ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestNamesForThoseOfOtherProgramsAreKnown wants every name that stands for another program's to be registered.
func TestNamesForThoseOfOtherProgramsAreKnown(t *testing.T) {
	known := map[string]bool{}
	for _, r := range nn.Registrations() {
		known[r.Kind+" "+r.Name] = true
	}
	for _, kind := range []string{"loss", "layer", "metric", "optimizer"} {
		for name, others := range config.ElsewhereNames(kind) {
			for _, other := range others {
				if other.Name != "" && !known[kind+" "+other.Name] || known[kind+" "+name] {
					t.Errorf("%s %s: %+v is not registered, or the name is", kind, name, other)
				}
			}
		}
	}
}
