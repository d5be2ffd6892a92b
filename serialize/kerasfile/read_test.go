package kerasfile_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// fixtures lists the files that Keras wrote of each model, by the .npz with its weights.
func fixtures(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	all, err := filepath.Glob("testdata/keras[0-9]_*.npz")
	if err != nil || len(all) < 14 {
		t.Fatalf("%d files of weights, %v; want 14", len(all), err)
	}
	for _, npz := range all {
		base := strings.TrimSuffix(npz, ".npz")
		files, err := filepath.Glob(base + "[._]*[a-z0-9]")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if name != npz && !strings.Contains(name, "_0000") {
				found[npz] = append(found[npz], name)
			}
		}
	}
	return found
}

// weightsOf returns the weights that the framework had in a model.
func weightsOf(t *testing.T, npz string) map[string]storage.Array {
	t.Helper()
	want := map[string]storage.Array{}
	for e, err := range serializetest.Open(t, npz).All() {
		if err != nil {
			t.Fatal(err)
		}
		if name, ok := strings.CutPrefix(e.Name, "w/"); ok {
			want[name] = e.Array
		}
	}
	return want
}

// TestEveryLayoutHasTheWeightsOfTheModel compares files of Keras 2 and 3 in all layouts
// with the weights that the framework itself reports.
func TestEveryLayoutHasTheWeightsOfTheModel(t *testing.T) {
	for npz, files := range fixtures(t) {
		want := weightsOf(t, npz)
		for _, name := range files {
			t.Run(filepath.Base(name), func(t *testing.T) {
				seen := 0
				for e, err := range serializetest.Open(t, name).All() {
					if err != nil {
						t.Errorf("%s: %v", e.Name, err)
						continue
					}
					entry := e.Name
					if strings.Contains(name, ".weights.") && strings.HasPrefix(name, "testdata/keras2") {
						entry = numberedNames(entry, want)
					}
					w, ok := want[entry]
					if !ok {
						if !strings.HasPrefix(e.Name, "optimizer/") && !strings.HasPrefix(e.Name, "metrics/") && !strings.Contains(e.Name, "seed_generator") {
							t.Errorf("%s: no such weight in the model", e.Name)
						}
						continue
					}
					seen++
					if !slices.Equal(e.Array.Shape, w.Shape) || e.Array.Type != w.Type || !equal(t, e.Array, w) {
						t.Errorf("%s: %v%v differs from the %v%v of the model", e.Name, e.Array.Type, e.Array.Shape, w.Type, w.Shape)
					}
				}
				if seen != len(want) {
					t.Errorf("%d of %d weights", seen, len(want))
				}
			})
		}
	}
}

// numberedNames returns the name of the weight that a .weights.h5 file of Keras 2 has, in
// which layers have no names: depthwise_conv2d/kernel for depthwise/kernel.
func numberedNames(entry string, want map[string]storage.Array) string {
	names := map[string]string{
		"conv2d": "stem", "conv2d_1": "shortcut", "depthwise_conv2d": "depthwise",
		"sequential/dense": "inner/d1", "sequential/dense_1": "inner/d2", "dense": "first", "dense_1": "second",
	}
	if _, ok := want[entry]; ok {
		return entry
	}
	at := strings.LastIndexByte(entry, '/')
	return names[entry[:at]] + entry[at:]
}

func equal(t *testing.T, a, b storage.Array) bool {
	t.Helper()
	x, err := storage.Read[float64](a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := storage.Read[float64](b)
	if err != nil {
		t.Fatal(err)
	}
	return slices.EqualFunc(x, y, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// TestOptimizerStateIsNamedByWeight holds the names of the optimizer's buffers, whatever
// the version of Keras and the layout.
func TestOptimizerStateIsNamedByWeight(t *testing.T) {
	for npz, files := range fixtures(t) {
		want := weightsOf(t, npz)
		for _, name := range files {
			if strings.Contains(name, ".weights.") || strings.Contains(name, "_only") {
				continue
			}
			f := serializetest.Open(t, name).(*kerasfile.File)
			trained := 0
			for e, err := range f.All() {
				rest, ok := strings.CutPrefix(e.Name, "optimizer/")
				if !ok || err != nil || rest == "iteration" || rest == "learning_rate" {
					continue
				}
				buffer, weight, _ := strings.Cut(rest, "/")
				w, ok := want[weight]
				if !ok || buffer != "momentum" && buffer != "velocity" || !slices.Equal(w.Shape, e.Array.Shape) {
					t.Errorf("%s: %s of %v belongs to no weight", name, e.Name, e.Array.Shape)
				}
				trained++
			}
			if trained == 0 {
				t.Errorf("%s: no buffers of the optimizer", name)
			}
			o := f.Model().Optimizer
			if o == nil || o.Step != 4 {
				t.Errorf("%s: optimizer %+v; want 4 updates", name, o)
			}
		}
	}
}

// TestModelsHaveTheirWeights holds what conversions use: the layers with their weights and
// the optimizer's buffers.
func TestModelsHaveTheirWeights(t *testing.T) {
	f := serializetest.Open(t, "testdata/keras3_graph.keras").(*kerasfile.File)
	m := f.Model()
	if m.Class != "Functional" || m.Name != "graph" || m.Version != "3.15.1" || len(m.Inputs) != 2 || len(m.Outputs) != 2 {
		t.Errorf("model %s %s of Keras %s with inputs %v and outputs %v", m.Class, m.Name, m.Version, m.Inputs, m.Outputs)
	}
	inner := m.Layer("inner")
	if inner == nil || inner.Model == nil || len(inner.Calls) != 2 || inner.Calls[1][0].Layer != "inner" || inner.Calls[1][0].Node != 0 {
		t.Fatalf("inner: %+v", inner)
	}
	w, ok := inner.Model.Layer("d1").Weight("kernel")
	if !ok || w.Path != "inner/d1/kernel" || !slices.Equal(w.Array.Shape, []int{3, 4}) || !slices.Equal(w.Slots["velocity"].Shape, []int{3, 4}) {
		t.Errorf("inner/d1/kernel: %+v", w)
	}
	old := serializetest.Open(t, "testdata/keras2_graph.h5").(*kerasfile.File).Model().Layer("inner")
	if len(old.Calls) != 2 || old.Calls[1][0].Layer != "inner" || old.Calls[1][0].Node != 0 {
		t.Errorf("calls of a nested model in Keras 2: %v", old.Calls)
	}
}

// TestWeightsTakeTheNamesOfAModel reads files of weights only with the model of another
// file, of the same names and of others.
func TestWeightsTakeTheNamesOfAModel(t *testing.T) {
	for _, c := range []struct{ weights, model string }{
		{"keras3_recurrent.weights.h5", "keras3_recurrent.keras"},
		{"keras3_graph.weights.json", "keras3_graph.keras"},
		{"keras2_graph.weights.h5", "keras3_graph.keras"},
		{"keras2_graph_only.h5", "keras2_graph.keras"},
		{"keras2_cnn_only.h5", "keras3_cnn.keras"},
	} {
		f := serializetest.Open(t, "testdata/"+c.weights).(*kerasfile.File)
		base := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(c.weights, ".h5"), ".json"), ".weights")
		want := weightsOf(t, "testdata/"+strings.TrimSuffix(base, "_only")+".npz")
		if err := f.SetModel(serializetest.Open(t, "testdata/"+c.model).(*kerasfile.File).Model()); err != nil {
			t.Errorf("%s: %v", c.weights, err)
			continue
		}
		seen := 0
		for path, l := range f.Model().All() {
			for _, w := range l.Weights {
				seen++
				if stored, ok := want[path+"/"+w.Name]; !ok || !equal(t, stored, w.Array) {
					t.Errorf("%s: %s/%s differs from that of the model", c.weights, path, w.Name)
				}
			}
		}
		if seen != len(want) {
			t.Errorf("%s: %d weights; want %d", c.weights, seen, len(want))
		}
	}
	f := serializetest.Open(t, "testdata/keras2_cnn_only.h5").(*kerasfile.File)
	if err := f.SetModel(serializetest.Open(t, "testdata/keras3_graph.keras").(*kerasfile.File).Model()); err == nil {
		t.Error("weights of one model are taken for those of another")
	}
}

// TestSharedLayersAreReadWhereTheyAreStored: a Dense that is also within a TimeDistributed has its
// weights there.
func TestSharedLayersAreReadWhereTheyAreStored(t *testing.T) {
	names, elements := contents(t, serializetest.Open(t, "testdata/shared.keras"))
	if want := []string{"each/kernel", "each/bias", "shared/kernel", "shared/bias"}; !slices.Equal(names, want) {
		t.Fatalf("%v; want %v", names, want)
	}
	if !slices.Equal(elements[0], elements[2]) || !slices.Equal(elements[1], elements[3]) || len(elements[0]) != 12 {
		t.Errorf("%v; want the same twice", elements)
	}
}

// TestOpaqueBfloat16 reads elements of bfloat16 whose type no attribute names, as in an .h5 of Keras.
func TestOpaqueBfloat16(t *testing.T) {
	e, err := serialize.Lookup(serializetest.Open(t, "testdata/bfloat16.h5"), "d/bias")
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read[float32](e.Array)
	if err != nil || e.Array.Type != dtype.BFloat16 || got[0] != 1 || got[1] != -3 || !math.IsInf(float64(got[2]), 1) {
		t.Errorf("%v of %v (%v); want 1, -3 and infinity of bfloat16", got, e.Array.Type, err)
	}
}
