package kerasfile_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestEveryTypeIsKept writes weights of every type in every layout: in .h5 under their names, and in
// files of Keras 3 as the kernels of a model, which has a layer for each.
func TestEveryTypeIsKept(t *testing.T) {
	serializetest.TestTypes(t, "keras-h5", "model.keras.h5")
	list := serializetest.EveryType(dtype.All())
	var layers []string
	for i, e := range list {
		layer := strings.ReplaceAll(e.Name, "/", " ")
		layers = append(layers, fmt.Sprintf(`{"class_name": "Dense", "config": {"name": %q, "units": 1, "use_bias": false}}`, layer))
		list[i].Name = layer + "/kernel"
	}
	meta := map[string]string{
		"keras_version": "3.15.0",
		"model_config":  fmt.Sprintf(`{"class_name": "Sequential", "config": {"name": "m", "layers": [%s]}}`, strings.Join(layers, ", ")),
	}
	contents := serialize.Contents{Meta: meta, Entries: serialize.Entries(list...)}
	for _, format := range []string{"keras", "keras-weights"} {
		known, err := serialize.ByName(format)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "model"+known.Extensions[0])
		if err := serialize.Save(name, format, contents); err != nil {
			t.Fatal(err)
		}
		f := serializetest.Open(t, name)
		for _, want := range list {
			name := want.Name
			unnamed := format == "keras-weights" && want.Array.Rank() != 2 // which has numbers, and this is not a kernel
			if unnamed {
				name = strings.TrimSuffix(name, "kernel") + "0"
			}
			got, err := serialize.Lookup(f, name)
			if unnamed && err != nil { // that says so
				err = nil
			}
			if err != nil || got.Array.Type != want.Array.Type || fmt.Sprint(got.Array.Shape) != fmt.Sprint(want.Array.Shape) || !equal(t, got.Array, want.Array) {
				t.Errorf("%s: %q is %v%v, %v; want %v%v", format, want.Name, got.Array.Type, got.Array.Shape, err, want.Array.Type, want.Array.Shape)
			}
		}
	}
}
