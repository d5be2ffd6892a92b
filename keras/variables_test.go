package keras_test

import (
	"testing"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/keras"
)

// TestVariablesOfWrappedModels: a layer around a model has variables that are not known,
// which is no error, so that its file opens.
func TestVariablesOfWrappedModels(t *testing.T) {
	around := func(class, inner string, config map[string]any) *checkpoint.Layer {
		return &checkpoint.Layer{Class: class, Name: "w", Config: map[string]any{"layer": map[string]any{"class_name": inner, "config": config}}}
	}
	for _, class := range []string{"TimeDistributed", "Bidirectional"} {
		for _, inner := range []string{"Sequential", "MyLayer"} {
			if list, known, err := keras.Variables(around(class, inner, map[string]any{"name": "s", "layers": []any{}})); known || err != nil || list != nil {
				t.Errorf("%s of %s: %v, %v, %v; want no variables, not known", class, inner, list, known, err)
			}
		}
	}
	list, known, err := keras.Variables(around("TimeDistributed", "Dense", map[string]any{"units": 2.0}))
	if err != nil || !known || len(list) != 2 || list[0].Path != "layer/vars/0" {
		t.Errorf("TimeDistributed of Dense: %v, %v, %v; want a kernel and a bias", list, known, err)
	}
}
