package keras

import (
	"slices"
	"testing"
)

// TestPenaltiesAreNamed: of layers, of layers within, and of a layer that is nothing else.
func TestPenaltiesAreNamed(t *testing.T) {
	const l2 = `{"class_name": "L2", "config": {"l2": 0.01}}`
	m, err := Parse(`{"class_name": "Sequential", "config": {"name": "s", "layers": [{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 4, 3]}},
		{"class_name": "Dense", "config": {"name": "plain", "units": 2, "kernel_regularizer": null, "bias_constraint": null}},
		{"class_name": "Dense", "config": {"name": "kernel", "units": 2, "kernel_regularizer": ` + l2 + `}},
		{"class_name": "Dense", "config": {"name": "outputs", "units": 2, "activity_regularizer": ` + l2 + `, "kernel_constraint": {"class_name": "NonNeg", "config": {}}}},
		{"class_name": "TimeDistributed", "config": {"name": "each", "layer": {"class_name": "Dense", "config": {"name": "d", "units": 2, "bias_regularizer": ` + l2 + `}}}},
		{"class_name": "ActivityRegularization", "config": {"name": "alone", "l1": 0.1}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"losses in training lack the penalties of the regularizers of kernel, outputs, each, alone",
		"training does not constrain the weights of outputs, as Keras does",
	}
	if got := Penalties(m); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
