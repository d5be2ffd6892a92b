package keras_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
)

// TestVariablesOfWrappedModels: a layer around a model whose layers are not known has variables
// that are not known, which is no error, so that its file opens.
func TestVariablesOfWrappedModels(t *testing.T) {
	around := func(class, inner string, config map[string]any) *keras.Layer {
		return &keras.Layer{Class: class, Name: "w", Config: map[string]any{"layer": map[string]any{"class_name": inner, "config": config}}}
	}
	for _, class := range []string{"TimeDistributed", "Bidirectional"} {
		for _, inner := range []string{"Sequential", "MyLayer"} {
			mine := map[string]any{"class_name": "MyLayer", "config": map[string]any{"name": "mine"}}
			if list, known, err := keras.Variables(around(class, inner, map[string]any{"name": "s", "layers": []any{mine}})); known || err != nil || list != nil {
				t.Errorf("%s of %s: %v, %v, %v; want no variables, not known", class, inner, list, known, err)
			}
		}
	}
	list, known, err := keras.Variables(around("TimeDistributed", "Dense", map[string]any{"units": 2.0}))
	if err != nil || !known || len(list) != 2 || list[0].Path != "layer/vars/0" {
		t.Errorf("TimeDistributed of Dense: %v, %v, %v; want a kernel and a bias", list, known, err)
	}
}

// TestModelsAroundModelsAreBounded: each model that a layer is around is read anew.
func TestModelsAroundModelsAreBounded(t *testing.T) {
	inner := map[string]any{"class_name": "Dense", "config": map[string]any{"name": "d", "units": 2.0}}
	for range 12 {
		model := map[string]any{"class_name": "Sequential", "config": map[string]any{"name": "s", "layers": []any{inner}}}
		inner = map[string]any{"class_name": "TimeDistributed", "config": map[string]any{"name": "t", "layer": model}}
	}
	l := &keras.Layer{Class: "TimeDistributed", Name: "t", Config: inner["config"].(map[string]any)}
	if _, _, err := keras.Variables(l); err == nil || !strings.Contains(err.Error(), "at most 8") {
		t.Errorf("12 models around each other: %v; want an error", err)
	}
}

// TestVariablesOfLayersAroundOthersKeepTheirPaths: without its configuration, nothing says what
// a TimeDistributed is around.
func TestVariablesOfLayersAroundOthersKeepTheirPaths(t *testing.T) {
	paths := []string{"layer/layers/dense/vars/0", "layer/layers/dense/vars/1", "layer/layers/p_re_lu/vars/0"}
	names, err := keras.InferNames("time_distributed_1", paths, [][]int{{3, 4}, {4}, {4}})
	if err != nil || !slices.Equal(names, []string{"layer/layers/dense/0", "layer/layers/dense/1", "layer/layers/p_re_lu/0"}) {
		t.Errorf("%v, %v", names, err)
	}
}
