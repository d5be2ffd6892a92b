package kerasfile_test

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestLayersListedElsewhereAreNotKeras: a file whose root lists layers, but whose weights are in a group without such a list, is
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

// TestNamesWithSlashes reads the weights of a layer that is called enc/, as Keras 2 stores them.
func TestNamesWithSlashes(t *testing.T) {
	name := filepath.Join(t.TempDir(), "slash.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range []func() error{
		func() error { return w.Write("/enc/enc/kernel:0", storage.From([]float32{1, 2}, 2, 1)) },
		func() error { return w.SetAttr("/", "layer_names", hdf5write.Bytes{"enc/"}) },
		func() error { return w.SetAttr("/enc", "weight_names", hdf5write.Bytes{"enc//kernel:0"}) },
		w.Close,
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	f := serializetest.Open(t, name)
	n := 0
	for e, err := range f.All() {
		if n++; err != nil || e.Array.Len() != 2 {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	if n != 1 {
		t.Errorf("%d arrays, want 1", n)
	}
}
