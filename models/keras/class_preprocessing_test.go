package keras

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestShapesOfPreprocessing: a Flatten behind these layers knows what it flattens.
func TestShapesOfPreprocessing(t *testing.T) {
	for layers, want := range map[string][]int{
		`{"class_name": "RandomFlip", "config": {"name": "a"}}, {"class_name": "RandomZoom", "config": {"name": "b"}}`: {9, 8, 3},
		`{"class_name": "CenterCrop", "config": {"name": "a", "height": 5, "width": 4}}`:                               {5, 4, 3},
		`{"class_name": "Resizing", "config": {"name": "a", "height": 2, "width": 0}}`:                                 nil,
		`{"class_name": "Discretization", "config": {"name": "a", "output_mode": "int"}}`:                              {9, 8, 3},
		`{"class_name": "StringLookup", "config": {"name": "a", "output_mode": "multi_hot"}}`:                          nil,
	} {
		m, err := Parse(`{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 9, 8, 3]}}, ` +
			layers + `, {"class_name": "Flatten", "config": {"name": "f"}}]}}`)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		if in := m.Layer("f").InputShapes; len(in) == 1 {
			got = in[0]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v; want %v", layers, got, want)
		}
	}
}

// TestAugmentationIsLeftOut of models that predict, with a note. Keras 3 writes training=True, which
// is the default of these layers.
func TestAugmentationIsLeftOut(t *testing.T) {
	const tensor = `{"class_name": "__keras_tensor__", "config": {"keras_history": ["i", 0, 0]}}`
	for class, refused := range map[string]bool{"RandomFlip": false, "Dropout": true} {
		m, err := Parse(`{"class_name": "Functional", "config": {"name": "m", "layers": [
			{"class_name": "InputLayer", "name": "i", "config": {"name": "i", "batch_shape": [null, 9, 8, 3]}, "inbound_nodes": []},
			{"class_name": "` + class + `", "name": "a", "config": {"name": "a"}, "inbound_nodes": [{"args": [` + tensor + `], "kwargs": {"training": true}}]},
			{"class_name": "ReLU", "name": "r", "config": {"name": "r"}, "inbound_nodes": [{"args": [` + strings.Replace(tensor, `"i"`, `"a"`, 1) + `], "kwargs": {}}]}],
			"input_layers": [["i", 0, 0]], "output_layers": [["r", 0, 0]]}}`)
		if err != nil {
			t.Fatal(err)
		}
		translation, err := ToH5dnn(m, LinkOptions{})
		if refused != (err != nil) || !refused && len(translation.Notes) != 1 {
			t.Errorf("%s: %v, %v; want an error: %v", class, translation, err, refused)
		}
	}
}

// TestStatisticsThatStayAreFrozen: of a Normalization, and of a BatchNormalization that is not trained, which Keras runs as in evaluation.
func TestStatisticsThatStayAreFrozen(t *testing.T) {
	for layer, want := range map[string]bool{
		`{"class_name": "Normalization", "config": {"name": "n", "axis": -1}}`:              true,
		`{"class_name": "BatchNormalization", "config": {"name": "n", "trainable": false}}`: true,
		`{"class_name": "BatchNormalization", "config": {"name": "n", "trainable": true}}`:  false,
	} {
		m, err := Parse(`{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 5]}}, ` + layer + `]}}`)
		if err != nil {
			t.Fatal(err)
		}
		translation, err := ToH5dnn(m, LinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(fmt.Sprint(translation.Description), "frozen:true"); got != want {
			t.Errorf("%s: %v; want frozen: %v", layer, translation.Description, want)
		}
	}
}
