package models

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestWeightsOfOtherShapesAreRefused: a file of Keras whose weights do not fit its layers cannot be
// loaded by Keras.
func TestWeightsOfOtherShapesAreRefused(t *testing.T) {
	const model = fixtures + "keras3_cnn.keras"
	a, err := ReadArchitecture(model)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(a.Text), 0o666); err != nil {
		t.Fatal(err)
	}
	source, err := Open(model)
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	plan, err := New(source, "torch", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, changed := range []string{"", "conv2d.weight", "conv2d.bias"} {
		var list []checkpoint.Tensor
		for _, tensor := range plan.Tensors {
			if tensor.Name == changed { // one more output
				shape := slices.Clone(tensor.Array.Shape)
				shape[0]++
				tensor.Array, err = storage.Make(storage.CPU, tensor.Array.Type, shape...)
				if err != nil {
					t.Fatal(err)
				}
			}
			list = append(list, tensor)
		}
		name := filepath.Join(t.TempDir(), "model.pt")
		err := serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
			for _, tensor := range list {
				if !yield(serialize.Entry{Name: tensor.Name, Array: tensor.Array}, nil) {
					return
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		for _, architecture := range []string{model, config} {
			weights, err := Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer weights.Close()
			a, err := ReadArchitecture(architecture)
			if err != nil {
				t.Fatal(err)
			}
			_, err = New(weights, "keras", Options{Architecture: a})
			if refused := errors.Is(err, views.ErrShape); refused != (changed != "") {
				t.Errorf("%s, %q changed: %v", filepath.Base(architecture), changed, err)
			}
		}
	}
}
