package kerasfile_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// written are the extensions of the formats that files are written in, weights only for keras-h5 at the end.
var written = []struct{ extension, format string }{
	{".keras", "keras"}, {".weights.h5", "keras-weights"}, {".h5", "keras-h5"}, {".only.h5", "keras-h5"},
}

// rewrite writes the content of a file of Keras in another layout.
func rewrite(t *testing.T, from, to, format string) {
	t.Helper()
	f := serializetest.Open(t, from)
	meta := f.Meta()
	entries := func(yield func(serialize.Entry, error) bool) {
		for e, err := range f.All() {
			if strings.HasPrefix(e.Name, "metrics/") || strings.Contains(e.Name, "seed_generator") || strings.HasSuffix(to, ".only.h5") && strings.HasPrefix(e.Name, "optimizer/") {
				continue // .h5 files have no place for them
			}
			if !yield(e, err) {
				return
			}
		}
	}
	if strings.HasSuffix(to, ".only.h5") {
		delete(meta, "model_config")
		delete(meta, "training_config")
	}
	if err := serialize.Save(to, format, serialize.Contents{Entries: entries, Meta: meta}); err != nil {
		t.Fatalf("%s: %v", filepath.Base(to), err)
	}
}

// whole lists the fixtures that are whole models, one for each model.
func whole(t *testing.T, version string) []string {
	t.Helper()
	var names []string
	for npz, files := range fixtures(t) {
		if !strings.HasPrefix(npz, "testdata/"+version) {
			continue
		}
		for _, name := range files {
			if filepath.Ext(name) == map[string]string{"keras2": ".h5", "keras3": ".keras"}[version] && !strings.Contains(name, "_only") && !strings.Contains(name, ".weights.") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestWrittenFilesAreReadAsTheyWere writes every model in every layout and reads it again.
func TestWrittenFilesAreReadAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	for _, from := range append(whole(t, "keras2"), whole(t, "keras3")...) {
		want := serializetest.Open(t, from)
		for _, layout := range written {
			to := filepath.Join(dir, strings.TrimSuffix(filepath.Base(from), filepath.Ext(from))+layout.extension)
			rewrite(t, from, to, layout.format)
			got := serializetest.Open(t, to)
			if f, err := serialize.FormatOf(to); err != nil || f.Name != layout.format {
				t.Errorf("%s is taken for %s (%v); want %s", to, f.Name, err, layout.format)
			}
			if layout.extension == ".weights.h5" {
				continue // without the names of layers in old versions; Keras itself reads it below
			}
			var a, b []string
			for e, err := range got.All() {
				if err != nil {
					t.Errorf("%s: %v", e.Name, err)
				}
				w, err := serialize.Lookup(want, e.Name)
				if err != nil && layout.extension == ".keras" && e.Name == "optimizer/learning_rate" {
					continue // of the configuration, for Keras 3
				}
				a = append(a, e.Name)
				if err != nil || !slices.Equal(w.Array.Shape, e.Array.Shape) || w.Array.Type != e.Array.Type || !equal(t, w.Array, e.Array) {
					t.Errorf("%s: %s differs from what was written (%v)", to, e.Name, err)
				}
			}
			for e := range want.All() {
				if !strings.HasPrefix(e.Name, "metrics/") && !strings.Contains(e.Name, "seed_generator") && (layout.extension != ".only.h5" || !strings.HasPrefix(e.Name, "optimizer/")) {
					b = append(b, e.Name)
				}
			}
			slices.Sort(a)
			slices.Sort(b)
			if !slices.Equal(a, b) {
				t.Errorf("%s has %v; want %v", to, a, b)
			}
			if meta := got.Meta(); layout.extension != ".only.h5" && (meta["model_config"] == "" || meta["keras_version"] != want.Meta()["keras_version"]) {
				t.Errorf("%s: metadata %v", to, slices.Sorted(maps.Keys(meta)))
			}
		}
	}
}

// TestKerasLoadsWhatIsWritten has Keras 3 load what is written of models of Keras 3, and
// Keras 2 that of Keras 2, and compares predictions and the optimizer's count of updates.
func TestKerasLoadsWhatIsWritten(t *testing.T) {
	for _, c := range []struct{ version, variable, module string }{
		{"keras3", pythontest.Variable, "keras"}, {"keras2", "H5DNN_PYTHON_KERAS2", "tensorflow"},
	} {
		t.Run(c.version, func(t *testing.T) {
			t.Setenv("KERAS_BACKEND", "torch") // for Keras 3
			interpreter := pythontest.Interpreter(t, c.variable, c.module)
			dir := t.TempDir()
			for _, from := range whole(t, c.version) {
				for _, layout := range written {
					if c.version == "keras2" && (layout.extension == ".weights.h5" || layout.extension == ".keras") {
						continue // the first needs the .keras of the model, which is for Keras 3
					}
					base := strings.TrimSuffix(filepath.Base(from), filepath.Ext(from))
					rewrite(t, from, filepath.Join(dir, base+layout.extension), layout.format)
				}
			}
			examined(t, interpreter, dir)
		})
	}
}

// TestKeras3LoadsModelsOfKeras2 has Keras 3 load the .keras that are written of models of
// Keras 2, most of which it does not load as they were.
func TestKeras3LoadsModelsOfKeras2(t *testing.T) {
	t.Setenv("KERAS_BACKEND", "torch")
	interpreter := pythontest.Interpreter(t, pythontest.Variable, "keras")
	dir := t.TempDir()
	for _, from := range whole(t, "keras2") {
		base := strings.TrimSuffix(filepath.Base(from), filepath.Ext(from))
		rewrite(t, from, filepath.Join(dir, base+".keras"), "keras")
	}
	examined(t, interpreter, dir)
}

// examined compares the predictions of the files in dir.
func examined(t *testing.T, interpreter, dir string) {
	t.Helper()
	out := pythontest.Command(t, exec.Command(interpreter, "testdata/examine.py", "testdata", dir))
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(out) {
		var name string
		var worst float64
		var steps int
		if n, _ := fmt.Sscan(line, &name, &worst, &steps); n != 3 || !strings.Contains(line, "keras") {
			continue
		}
		seen++
		t.Logf("%-32s %.1e %d", name, worst, steps)
		if !(worst < 1e-5) {
			t.Errorf("%s: predictions differ by %v", name, worst)
		}
		if steps != 4 && (steps >= 0 || !strings.HasSuffix(name, ".h5")) && !strings.Contains(name, ".only.") && !strings.Contains(name, ".weights.") {
			t.Errorf("%s: the optimizer has made %d updates; want 4", name, steps)
		}
	}
	if seen != len(files) {
		t.Errorf("%d of %d files examined:\n%s", seen, len(files), out)
	}
}

// TestAttentionOfKeras2 writes weights whose description, model.to_json() of Keras 2, says the
// version: the layers within an attention are private attributes there.
func TestAttentionOfKeras2(t *testing.T) {
	f := serializetest.Open(t, "testdata/keras2_transformer.keras")
	meta := f.Meta()
	meta["model_config"] = strings.Replace(meta["model_config"], "{", `{"keras_version": "2.15.0", `, 1)
	delete(meta, "keras_version")
	to := filepath.Join(t.TempDir(), "m.weights.h5")
	entries := func(yield func(serialize.Entry, error) bool) {
		for e, err := range f.All() {
			if !strings.HasPrefix(e.Name, "metrics/") && !yield(e, err) {
				return
			}
		}
	}
	if err := serialize.Save(to, "keras-weights", serialize.Contents{Entries: entries, Meta: meta}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(to)
	if err != nil || !strings.Contains(string(text), "_query_dense") {
		t.Errorf("no group _query_dense: %v", err)
	}
}

// TestVersionOfConfig writes models whose description alone says the version of Keras: files
// keep it, as hard_sigmoid has another slope in another version.
func TestVersionOfConfig(t *testing.T) {
	for name, want := range map[string]string{"keras2_graph.keras": "2.15.0", "keras3_graph.keras": "3.0.0"} {
		f := serializetest.Open(t, "testdata/"+name)
		text := f.Meta()["model_config"]
		if want == "2.15.0" { // as model.to_json() says it
			text = strings.Replace(text, "{", `{"keras_version": "2.15.0", `, 1)
		}
		entries := func(yield func(serialize.Entry, error) bool) {
			for e, err := range f.All() {
				other := strings.HasPrefix(e.Name, "metrics/") || strings.HasPrefix(e.Name, "optimizer/") || strings.Contains(e.Name, "seed_generator")
				if !other && !yield(e, err) {
					return
				}
			}
		}
		for _, w := range written[:3] {
			if w.format == "keras-weights" { // says no version
				continue
			}
			to := filepath.Join(t.TempDir(), "m"+w.extension)
			if err := serialize.Save(to, w.format, serialize.Contents{Entries: entries, Meta: map[string]string{"model_config": text}}); err != nil {
				t.Fatal(err)
			}
			got := serializetest.Open(t, to)
			if version := got.Meta()["keras_version"]; version != want {
				t.Errorf("%s as %s: version %q; want %q", name, w.format, version, want)
			}
		}
	}
}

// TestUnknownOptimizersAreNotNumbered writes the state of an optimizer of a class that is not
// known: formats that number its variables refuse it, as Keras would read it in another order.
func TestUnknownOptimizersAreNotNumbered(t *testing.T) {
	f := serializetest.Open(t, "testdata/keras2_cnn.h5")
	meta := f.Meta()
	meta["training_config"] = regexp.MustCompile(`"class_name": "(Custom>)?Adam"`).ReplaceAllString(meta["training_config"], `"class_name": "Mine"`)
	if !strings.Contains(meta["training_config"], "Mine") {
		t.Fatalf("not compiled with Adam: %s", meta["training_config"])
	}
	for _, w := range written[:3] {
		err := serialize.Save(filepath.Join(t.TempDir(), "m"+w.extension), w.format, serialize.Contents{Entries: f.All(), Meta: meta})
		if numbers := w.extension != ".h5"; numbers != (err != nil) || numbers && !strings.Contains(err.Error(), "order of the optimizer's variables, such as momentum/") {
			t.Errorf("%s: error %v; want one only if variables are numbered", w.extension, err)
		}
	}
}
