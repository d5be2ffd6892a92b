package keras

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
)

// TestCallsThatComputeOtherThings refuses calls whose arguments change what a layer computes.
func TestCallsThatComputeOtherThings(t *testing.T) {
	tensor := func(name string) string {
		return fmt.Sprintf(`{"class_name": "__keras_tensor__", "config": {"shape": [null, 3], "dtype": "float32", "keras_history": [%q, 0, 0]}}`, name)
	}
	for _, c := range []struct{ class, config, calls, want string }{
		{"Add", ``, `[{"args": [` + tensor("i") + `, 3.0], "kwargs": {}}]`, ""},
		{"Divide", ``, `[{"args": [3.0, ` + tensor("i") + `], "kwargs": {}}]`, ""},
		{"Subtract", ``, `[{"args": [{"class_name": "__tensor__"}, ` + tensor("i") + `], "kwargs": {}}]`, "ops.Subtract"},
		{"Mean", `, "axis": 0`, `[{"args": [` + tensor("i") + `], "kwargs": {}}]`, "axis [0]"},
		{"Mean", `, "axis": null`, `[{"args": [` + tensor("i") + `], "kwargs": {}}]`, "all axes"},
		{"Sum", `, "axis": 1`, `[{"args": [` + tensor("i") + `], "kwargs": {"weights": 2}}]`, "arguments by name"},
		{"Reshape", `, "newshape": [3, -1]`, `[{"args": [` + tensor("i") + `], "kwargs": {}}]`, "a shape"},
		{"Reshape", `, "newshape": [-1, 2]`, `[{"args": [` + tensor("i") + `], "kwargs": {}}]`, "a shape"},
		{"GetItem", ``, `[{"args": [` + tensor("i") + `, [0]], "kwargs": {}}]`, "the index 0 of axis 0"},
		{"GetItem", ``, `[{"args": [` + tensor("i") + `, [{"class_name": "__slice__", "config": {"start": null, "stop": null, "step": null}}, 3]], "kwargs": {}}]`, "the index 3 of axis 1"},
		{"Transpose", `, "axes": null`, `[{"args": [` + tensor("i") + `], "kwargs": {}}]`, "axes"},
		{"Matmul", ``, `[{"args": [` + tensor("i") + `, ` + tensor("i") + `], "kwargs": {}}]`, "inputs of shapes"},
		{"Cast", `, "dtype": "float16"`, `[{"args": [` + tensor("i") + `], "kwargs": {}}]`, "float16"},
		{"Multiply", ``, `[{"args": [` + tensor("i") + `, ` + tensor("i") + `], "kwargs": {}}]`, ""},
		{"Dropout", `, "rate": 0.5`, `[[["i", 0, 0, {"training": true}]]]`, "training=True"},
		{"BatchNormalization", ``, `[{"args": [` + tensor("i") + `], "kwargs": {"training": true}}]`, "training=True"},
		{"Softmax", `, "trainable": true`, `[{"args": [` + tensor("i") + `], "kwargs": {"mask": ` + tensor("i") + `}}]`, "2 inputs"},
		{"Add", ``, `[{"args": [[` + tensor("i") + `, ` + tensor("i") + `]], "kwargs": {}}]`, ""},
		{"Dropout", `, "rate": 0.5`, `[[["i", 0, 0, {"training": false}]]]`, ""},
		{"Dense", `, "units": 2`, `[[["i", 0, 0, {"training": true}]]]`, ""},
	} {
		m, err := Parse(`{"class_name": "Functional", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_shape": [null, 3]}, "inbound_nodes": []},
			{"class_name": "` + c.class + `", "name": "l", "config": {"name": "l"` + c.config + `}, "inbound_nodes": ` + c.calls + `},
			{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [[["l", 0, 0, {}]]]}],
			"input_layers": [["i", 0, 0]], "output_layers": [["d", 0, 0]]}}`)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ToH5dnn(m, LinkOptions{})
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, weights.ErrUnsupported) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s: error %v; want %q", c.class, c.calls, err, c.want)
		}
	}
}

// TestShapesBehindOperations are those that Keras 3 writes with the tensors of calls: an .h5 has no
// others. Calls that were translated from Keras 2 have a shape of the batch alone.
func TestShapesBehindOperations(t *testing.T) {
	for shape, want := range map[string][][]int{"[null, 2, null, 3]": {{2, -1, 3}}, "[null]": nil} {
		m, err := Parse(`{"class_name": "Functional", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_shape": [null, 4, null, 3]}, "inbound_nodes": []},
			{"class_name": "GetItem", "name": "g", "config": {"name": "g"}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": [null, 4, null, 3], "keras_history": ["i", 0, 0]}}, [1]], "kwargs": {}}]},
			{"class_name": "Flatten", "name": "f", "config": {"name": "f"}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"shape": ` + shape + `, "keras_history": ["g", 0, 0]}}], "kwargs": {}}]}],
			"input_layers": [["i", 0, 0]], "output_layers": [["f", 0, 0]]}}`)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Layer("f").InputShapes; !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("shape %s: %v; want %v", shape, got, want)
		}
	}
}

// TestInputsThatLeadNowhere: a layer names a layer, a call or an output that the model does not have.
func TestInputsThatLeadNowhere(t *testing.T) {
	graph := func(input, output string) string {
		return `{"class_name": "Functional", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_input_shape": [null, 3]}, "inbound_nodes": []},
			{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 2}, "inbound_nodes": [[` + input + `]]}],
			"input_layers": [["i", 0, 0]], "output_layers": [` + output + `]}}`
	}
	if _, err := Parse(graph(`["i", 0, 0, {}]`, `["d", 0, 0]`)); err != nil {
		t.Fatal(err)
	}
	for _, config := range []string{`"other": {"keras_history": ["i", 0, 0]}`, `"config": {}`, `"config": {"keras_history": ["i", 0]}`, `"config": {"keras_history": ["i", "0", 0]}`} {
		if _, err := Parse(graph(`{"class_name": "__keras_tensor__", `+config+`}, ["i", 0, 0, {}]`, `["d", 0, 0]`)); !errors.Is(err, ErrConfig) {
			t.Errorf("tensor with %s: %v", config, err)
		}
	}
	for _, wrong := range []string{`["x", 0, 0`, `["i", 1, 0`, `["i", -1, 0`, `["i", 0, -1`} {
		if _, err := Parse(graph(wrong+", {}]", `["d", 0, 0]`)); !errors.Is(err, ErrConfig) {
			t.Errorf("input %s]: %v", wrong, err)
		}
		if _, err := Parse(graph(`["i", 0, 0, {}]`, wrong+"]")); !errors.Is(err, ErrConfig) {
			t.Errorf("output %s]: %v", wrong, err)
		}
	}
}

// TestVariablesOfQuantizedLayers lists the scales of int8; other modes are not known.
func TestVariablesOfQuantizedLayers(t *testing.T) {
	for mode, want := range map[string]string{"int8": "kernel bias kernel_scale", "int4": ""} {
		l := &Layer{Class: "Dense", Config: map[string]any{"dtype": map[string]any{"class_name": "QuantizedDTypePolicy", "config": map[string]any{"mode": mode}}}}
		list, ok, err := Variables(l)
		var names []string
		for _, v := range list {
			names = append(names, v.Name)
			if v.Trainable != (v.Name == "bias") {
				t.Errorf("%s: trainable %v", v.Name, v.Trainable)
			}
		}
		if got := strings.Join(names, " "); got != want || ok != (want != "") || err != nil {
			t.Errorf("%s: %q, %v, %v; want %q", mode, got, ok, err, want)
		}
	}
}

// TestOutputsOfModelsInKeras3 reads a model within a model whose tensor is taken by a layer, as
// output of call 0, and is an output, as that of call 1.
func TestOutputsOfModelsInKeras3(t *testing.T) {
	m, err := Parse(`{"class_name": "Functional", "module": "keras", "config": {"name": "m", "layers": [
		{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_shape": [null, 3]}, "inbound_nodes": []},
		{"class_name": "Functional", "name": "inner", "config": {"name": "inner", "layers": [
			{"class_name": "InputLayer", "name": "j", "config": {"name": "j", "batch_shape": [null, 3]}, "inbound_nodes": []},
			{"class_name": "Dense", "name": "d", "config": {"name": "d", "units": 3}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["j", 0, 0]}}], "kwargs": {}}]}],
			"input_layers": [["j", 0, 0]], "output_layers": [["d", 0, 0]]}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["i", 0, 0]}}], "kwargs": {}}]},
		{"class_name": "Dense", "name": "e", "config": {"name": "e", "units": 2}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__", "config": {"keras_history": ["inner", 0, 0]}}], "kwargs": {}}]}],
		"input_layers": [["i", 0, 0]], "output_layers": [["e", 0, 0], ["inner", 1, 0]]}}`)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.Layer("e").Calls[0][0].Node, m.Outputs[1].Node; a != 0 || b != 0 {
		t.Errorf("calls %d and %d; want 0 and 0", a, b)
	}
}
