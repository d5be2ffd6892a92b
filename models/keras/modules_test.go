package keras_test

import (
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/keras"
)

// TestModulesOfOperations: an .h5 of Keras 3 does not say the modules of operations, without
// which Keras 3 does not find them, or takes them for layers of the same names.
func TestModulesOfOperations(t *testing.T) {
	layer := func(class, inbound string) string {
		return `{"class_name": "Functional", "config": {"name": "m", "layers": [{"class_name": "` + class + `", "config": {"name": "l"}, "name": "l", "inbound_nodes": ` + inbound + `}]}}`
	}
	const x = `{"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "dtype": "float32", "keras_history": ["x", 0, 0]}}`
	for _, c := range []struct{ class, inbound, want string }{
		{"NotEqual", `[{"args": [` + x + `, 0], "kwargs": {}}]`, `"module":"keras.src.ops"`},
		{"Relu6", `[{"args": [` + x + `], "kwargs": {}}]`, `"module":"keras.src.ops"`},
		{"Add", `[{"args": [` + x + `, 3.0], "kwargs": {}}]`, `"module":"keras.src.ops"`},
		{"Add", `[{"args": [[` + x + `, ` + x + `]], "kwargs": {}}]`, ""},
		{"Reshape", `[{"args": [` + x + `], "kwargs": {}}]`, `"module":"keras.src.ops"`},
		{"LayerScale", `[{"args": [` + x + `], "kwargs": {}}]`, `"module":"keras.src.applications.convnext"`},
		{"GroupedQueryAttention", `[{"args": [` + x + `, ` + x + `], "kwargs": {}}]`, `"class_name":"GroupQueryAttention"`},
		{"Mine>Mean", `[{"args": [` + x + `], "kwargs": {}}]`, ""},
	} {
		got, err := keras.WithModules(layer(c.class, c.inbound))
		if err != nil || !strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, `"module"`) {
			t.Errorf("%s: %s, %v; want %s", c.class, got, err, c.want)
		}
	}
}

// TestProgramsKeepTheShapeOfTheirInput, without which Keras 2.15 does not load a model of a program's
// own class.
func TestProgramsKeepTheShapeOfTheirInput(t *testing.T) {
	const text = `{"build_config":{"input_shape":[null,5]},"class_name":"Net","config":{},"module":null,"registered_name":"mine>Net"}`
	if got, err := keras.Translate(text, true); err != nil || got != text {
		t.Errorf("%s, %v; want it as it is", got, err)
	}
}

// TestShapesOfAttentionComeBack: Keras 2 makes the variables of an attention by settings that
// Keras 3 refuses.
func TestShapesOfAttentionComeBack(t *testing.T) {
	const text = `{"class_name":"Sequential","config":{"layers":[{"class_name":"MultiHeadAttention","config":{"key_shape":[null,2],"name":"l","query_shape":[null,3],"value_shape":[null,4]}}],"name":"s"}}`
	current, err := keras.Translate(text, true)
	if err != nil || !strings.Contains(current, `"build_config":{"shapes_dict":{"key_shape":[null,2],"query_shape":[null,3],"value_shape":[null,4]}}`) || strings.Count(current, "key_shape") != 1 {
		t.Fatalf("%s, %v", current, err)
	}
	again, err := keras.Translate(current, true)
	if err != nil || again != current {
		t.Errorf("%s, %v; want %s", again, err, current)
	}
	old, err := keras.Translate(current, false)
	if err != nil || old != text {
		t.Errorf("%s, %v; want %s", old, err, text)
	}
}

// TestVariablesOfSpectralNormalization: the kernel is in a .weights.h5 twice.
func TestVariablesOfSpectralNormalization(t *testing.T) {
	l := &keras.Layer{Class: "SpectralNormalization", Name: "s", Config: map[string]any{
		"layer": map[string]any{"class_name": "Dense", "config": map[string]any{"name": "d", "units": 2.0}},
	}}
	list, known, err := keras.Variables(l)
	want := []keras.Variable{
		{Name: "kernel", Path: "layer/vars/0", Trainable: true, Copy: "vars/0"}, {Name: "bias", Path: "layer/vars/1", Trainable: true},
		{Name: "vector_u", Path: "vars/1"},
	}
	if err != nil || !known || len(list) != 3 {
		t.Fatalf("%v, %v, %v; want %v", list, known, err, want)
	}
	for i := range want {
		if list[i] != want[i] {
			t.Errorf("variable %d is %v; want %v", i, list[i], want[i])
		}
	}
}
