package keras

import (
	"slices"
	"testing"
)

// TestPrecision counts the layers that compute in other types than float32, by the policies of Keras 2
// and 3 and the names of types.
func TestPrecision(t *testing.T) {
	m, err := Parse(`{"class_name": "Sequential", "config": {"name": "s", "layers": [
		{"class_name": "InputLayer", "config": {"name": "i", "batch_shape": [null, 3], "dtype": "float16"}},
		{"class_name": "Dense", "config": {"name": "a", "units": 2, "dtype": {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "mixed_float16"}}}},
		{"class_name": "Dense", "config": {"name": "b", "units": 2, "dtype": {"class_name": "Policy", "config": {"name": "mixed_float16"}}}},
		{"class_name": "Dense", "config": {"name": "c", "units": 2, "dtype": "bfloat16"}}, {"class_name": "Dense", "config": {"name": "d", "units": 2, "dtype": "float32"}}]}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Keras computes 1 layer in bfloat16 and h5dnn in float32: predictions may differ from the second digit on",
		"Keras computes 2 layers in float16 and h5dnn in float32: predictions may differ from the third digit on",
	}
	if got := Precision(m); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
}
