package models_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	_ "github.com/h5dnn/h5dnn/serialize/tfbundle"
)

// TestTFCheckpointsAreNamedByTheArchitecture converts checkpoints that TensorFlow wrote of a model with a
// wrapped layer, a shared one and a model in it. They become the same as the weights in Keras's file.
func TestTFCheckpointsAreNamedByTheArchitecture(t *testing.T) {
	config, err := os.ReadFile("testdata/tf/config.json")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(name, config string) (*models.Plan, error) {
		s, err := models.Open("testdata/tf/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return models.New(s, "safetensors", models.Options{Framework: models.PyTorch, Architecture: architecture(t, "config.json", config)})
	}
	want, err := plan("weights.h5", string(config))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"weights.index", "checkpoint.index"} {
		got, err := plan(name, string(config))
		if err != nil || len(got.Tensors) != len(want.Tensors) {
			t.Errorf("%s: %d tensors, %v; want %d", name, len(got.Tensors), err, len(want.Tensors))
			continue
		}
		for i, x := range got.Tensors {
			y := want.Tensors[i]
			if x.Name != y.Name || !bytes.Equal(serializetest.Bytes(t, x.Array), serializetest.Bytes(t, y.Array)) {
				t.Errorf("%s: %s differs from %s of weights.h5", name, x.Name, y.Name)
			}
		}
		if !strings.Contains(fmt.Sprint(got.Lost), "_iterations") {
			t.Errorf("%s: lost %v; want the state of the optimizer", name, got.Lost)
		}
	}
	for part, message := range map[string]string{
		`"class_name": "Dense"`:         "the variables of Other are not known",
		`"class_name": "Bidirectional"`: "the variables of Other are not known",
		`"center": true`:                "is no variable of the architecture",
	} {
		other := strings.Replace(string(config), part, map[bool]string{true: `"center": false`, false: `"class_name": "Other"`}[strings.Contains(part, "center")], 1)
		if _, err := plan("weights.index", other); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("without %s: %v, want %q", part, err, message)
		}
	}
}
