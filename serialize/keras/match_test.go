package keras_test

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A file whose root lists layers, but whose weights are in a group without such a list, is
// data like any other: as a file of Keras it would have no arrays.
func TestLayersListedElsewhereAreNotKeras(t *testing.T) {
	name := filepath.Join(t.TempDir(), "other.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []func() error{
		func() error { return w.Write("/model_weights/dense/kernel", storage.From([]float32{1, 2}, 2)) },
		func() error { return w.SetAttr("/", "layer_names", []string{"dense"}) },
		w.Close,
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := serialize.FormatOf(name)
	if err != nil || f.Name != "hdf5" {
		t.Errorf("%v, %v; want hdf5", f.Name, err)
	}
}
