package kerasfile_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// A member is a file of an archive.
type member struct {
	name, text string
	method     uint16
}

func archive(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m.name, Method: m.method})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	about  = `{"keras_version": "3.0.0", "date_saved": "2024-01-01@00:00:00"}`
	dense1 = `{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "Dense", "config": {"name": "d", "units": 2}}]}}`
)

// TestHostileArchivesAreRefused holds that .keras files which Keras does not write are
// refused, with the reason.
func TestHostileArchivesAreRefused(t *testing.T) {
	weights, err := os.ReadFile("testdata/keras3_cnn.weights.h5")
	if err != nil {
		t.Fatal(err)
	}
	valid := []member{{"metadata.json", about, zip.Store}, {"config.json", dense1, zip.Store}, {"model.weights.h5", string(weights), zip.Store}}
	with := func(extra ...member) []member { return append(append([]member{}, valid...), extra...) }
	lambda := `{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "Dense", "config": {"name": 7}}]}}`
	deep := strings.Repeat(`{"class_name": "Sequential", "config": {"name": "m", "layers": [`, 40) + strings.Repeat(`]}}`, 40)
	for _, c := range []struct {
		members []member
		want    string
	}{
		{with(member{"../evil", "", zip.Store}), "leads out of it"},
		{with(member{"config.json", dense1, zip.Store}), "twice"},
		{[]member{valid[0], {"config.json", dense1, zip.Deflate}, valid[2]}, "compressed"},
		{valid[:2], "no model.weights.h5"},
		{append(append([]member{}, valid[:2]...), member{"model.weights.npz", "", zip.Store}), "pickled"},
		{[]member{valid[0], {"config.json", `{"config": {}}`, zip.Store}, valid[2]}, "no class"},
		{[]member{valid[0], {"config.json", `[]`, zip.Store}, valid[2]}, "model configuration"},
		{[]member{valid[0], {"config.json", lambda, zip.Store}, valid[2]}, `has the name ""`},
		{[]member{valid[0], {"config.json", deep, zip.Store}, valid[2]}, "nested deeper"},
		{[]member{valid[0], valid[1], {"model.weights.h5", "no HDF5 at all", zip.Store}}, "HDF5"},
	} {
		text := archive(t, c.members...)
		f, err := serialize.OpenReader(bytes.NewReader(text), int64(len(text)), "m.keras", serialize.Options{Format: "keras"})
		if err == nil {
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v; want one with %q", err, c.want)
		}
	}
}

// TestHostileFilesAreRefused holds that links, other files and lists that lie are refused.
func TestHostileFilesAreRefused(t *testing.T) {
	dir := t.TempDir()
	for i, c := range []struct {
		fill func(w *hdf5write.Writer) error
		want string
	}{
		{func(w *hdf5write.Writer) error { return w.SoftLink("/d/d/kernel", "/secret") }, "soft"},
		{func(w *hdf5write.Writer) error { return nil }, "there is no dataset"},
		{func(w *hdf5write.Writer) error { return w.SetAttr("/", "model_config", `{"class_name": 3}`) }, "model configuration"},
		{func(w *hdf5write.Writer) error { return w.SetAttr("/", "model_config", []string{"a", "b"}) }, "holds 2 strings"},
		{func(w *hdf5write.Writer) error { return w.SetAttr("/", "layer_names", hdf5write.Bytes{"d", "gone"}) }, "no group /gone"},
		{func(w *hdf5write.Writer) error { return w.SetAttr("/d", "weight_names", []float64{1, 2}) }, "weight_names"},
	} {
		name := filepath.Join(dir, fmt.Sprint(i, ".h5"))
		w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range []error{
			w.Group("/d"), w.SetAttr("/", "layer_names", hdf5write.Bytes{"d"}), w.SetAttr("/d", "weight_names", hdf5write.Bytes{"d/kernel"}),
			w.Write("/secret", storage.From([]float32{1}, 1)), c.fill(w), w.Close(),
		} {
			if step != nil {
				t.Fatal(step)
			}
		}
		f, err := serialize.Open(name)
		if err == nil {
			for _, failed := range f.All() {
				if failed != nil {
					err = failed
				}
			}
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("file %d: error %v; want one with %q", i, err, c.want)
		}
	}
}

// TestHostileFoldersAreRefused: pipes are not waited for, and files are beside the configuration.
func TestHostileFoldersAreRefused(t *testing.T) {
	weights, err := os.ReadFile("testdata/keras3_cnn.weights.h5")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		fill func(folder string) error
		want string
	}{
		"metadata.json is a pipe":   {func(folder string) error { return syscall.Mkfifo(filepath.Join(folder, "metadata.json"), 0o666) }, "is a pipe"},
		"metadata.json is a folder": {func(folder string) error { return os.Mkdir(filepath.Join(folder, "metadata.json"), 0o777) }, "is a folder"},
		"metadata.json is missing":  {func(string) error { return nil }, "no such file"},
		"metadata.json is no JSON": {func(folder string) error {
			return os.WriteFile(filepath.Join(folder, "metadata.json"), []byte("{"), 0o666)
		}, "metadata.json"},
		"model.weights.h5 is a pipe": {func(folder string) error {
			os.Remove(filepath.Join(folder, "model.weights.h5"))
			return syscall.Mkfifo(filepath.Join(folder, "model.weights.h5"), 0o666)
		}, "is a pipe"},
		"model.weights.h5 is missing": {func(folder string) error { return os.Remove(filepath.Join(folder, "model.weights.h5")) }, "are not beside it"},
	} {
		folder := t.TempDir()
		for file, text := range map[string]string{"config.json": dense1, "model.weights.h5": string(weights)} {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.fill(folder); err != nil {
			t.Fatal(err)
		}
		if err := serializetest.Drain(folder); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v; want one with %q", name, err, c.want)
		}
	}
	for _, text := range []string{"../w.weights.h5", "/tmp/w.weights.h5", "a/w.weights.h5", "w.h5"} {
		file := filepath.Join(t.TempDir(), "m.weights.json")
		if err := os.WriteFile(file, []byte(`{"weight_map": {"/layers/d/vars": ["m.weights.h5", "`+text+`"]}}`), 0o666); err != nil {
			t.Fatal(err)
		}
		serializetest.TestAttack(t, "keras-weights", file, "want one ending in .weights.h5 beside it")
	}
}

// FuzzKeras reads damaged files as each of the layouts.
func FuzzKeras(f *testing.F) {
	for _, name := range []string{"keras3_cnn.keras", "keras2_cnn.h5", "keras3_cnn.weights.h5", "keras2_cnn_only.h5", "keras3_graph.weights.json"} {
		serializetest.AddSeeds(f, "testdata/"+name)
	}
	hdf5test.WithoutChecksums(f)
	archive, legacy, weights := serializetest.FuzzTarget("keras"), serializetest.FuzzTarget("keras-h5"), serializetest.FuzzTarget("keras-weights")
	f.Fuzz(func(t *testing.T, b []byte) {
		archive(t, b)
		legacy(t, b)
		weights(t, b)
	})
}

// TestVerifyComparesTheChecksumsOfArchives changes one bit of the weights, each time of another
// byte: the archive still opens, or not, and no change is passed over.
func TestVerifyComparesTheChecksumsOfArchives(t *testing.T) {
	text, err := os.ReadFile("testdata/keras3_mlp.keras")
	if err != nil {
		t.Fatal(err)
	}
	find := func(text []byte) (problems []error) {
		f, err := serialize.OpenReader(bytes.NewReader(text), int64(len(text)), "m.keras", serialize.Options{Format: "keras"})
		if err != nil {
			return []error{err}
		}
		defer f.Close()
		for _, err := range f.(serialize.Verifier).Verify(t.Context()) {
			if err != nil {
				problems = append(problems, err)
			}
		}
		return problems
	}
	if problems := find(text); len(problems) > 0 {
		t.Fatalf("the archive as Keras wrote it: %v", problems)
	}
	z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	checksums := 0
	for _, m := range z.File {
		at, err := m.DataOffset()
		if err != nil {
			t.Fatal(err)
		}
		for k := uint64(0); k < m.UncompressedSize64; k += m.UncompressedSize64/50 + 1 {
			text[at+int64(k)] ^= 0x10
			problems := find(text)
			if len(problems) == 0 {
				t.Errorf("%s: byte %d was changed, and no problem found", m.Name, k)
			} else if errors.Is(problems[0], serialize.ErrChecksum) {
				checksums++
			}
			text[at+int64(k)] ^= 0x10
		}
	}
	if checksums < 20 {
		t.Errorf("%d changes were found by their checksum; want most of those in the weights", checksums)
	}
}
