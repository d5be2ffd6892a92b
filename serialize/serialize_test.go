package serialize_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "model.npz")

	weights := map[string]storage.Array{"hidden.weight": storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)}
	err = serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(maps.All(weights)), Meta: map[string]string{"epoch": "3"}})
	if err != nil {
		panic(err)
	}

	f, err := serialize.Open(name)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for e, err := range f.All() {
		if err != nil {
			panic(err)
		}
		second, err := e.Array.Index("[1]") // nothing is read yet
		if err != nil {
			panic(err)
		}
		elems, err := storage.Read[float32](second)
		fmt.Println(e.Name, e.Array.Type, e.Array.Shape, elems, err)
	}
	fmt.Println(f.Meta())
	// Output:
	// hidden.weight float32 [2 3] [4 5 6] <nil>
	// map[epoch:3]
}

func TestFormatsAreFoundByNameAndExtension(t *testing.T) {
	for name, want := range map[string]string{"a.npy": "npy", "A.NPZ": "npz", "a.b.npz": "npz"} {
		if f, err := serialize.ByExtension(name); err != nil || f.Name != want {
			t.Errorf("%s: %q, %v; want %s", name, f.Name, err, want)
		}
	}
	for _, err := range []error{
		func() error { _, err := serialize.ByExtension("npy"); return err }(),
		func() error { _, err := serialize.ByName(".npy"); return err }(),
		func() error { _, err := serialize.Open("serialize_test.go"); return err }(),
		serialize.Save(filepath.Join(t.TempDir(), "x.doc"), "", serialize.Contents{}),
	} {
		if !errors.Is(err, serialize.ErrFormat) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: want one line, ErrFormat", err)
		}
	}
	if _, err := serialize.Open("."); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	if _, err := serialize.Open("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v: want that it does not exist", err)
	}
}

// TestTheBestMatchIsChosen among formats that share a container. Two that fit equally well
// are an error that names both, until the format is named.
func TestTheBestMatchIsChosen(t *testing.T) {
	t.Cleanup(serialize.KeepFormats())
	for name, c := range map[string]func(head string) serialize.Confidence{
		"some container": func(string) serialize.Confidence { return serialize.ContainerMatch },
		"content one": func(head string) serialize.Confidence {
			return map[bool]serialize.Confidence{true: serialize.ContentMatch}[head != "plain"]
		},
		"content two": func(head string) serialize.Confidence {
			return map[bool]serialize.Confidence{true: serialize.ContentMatch}[head == "tied."]
		},
		"the exact": func(head string) serialize.Confidence {
			return map[bool]serialize.Confidence{true: serialize.ExactMatch}[head == "exact"]
		},
	} {
		serialize.Register(serialize.Format{
			Name: name,
			Match: func(r io.ReaderAt, size int64) serialize.Confidence {
				var magic, head [5]byte
				if _, err := r.ReadAt(magic[:], 0); err != nil || string(magic[:]) != "match" {
					return serialize.NoMatch
				}
				if _, err := r.ReadAt(head[:], 5); err != nil {
					return serialize.NoMatch
				}
				return c(string(head[:]))
			},
			Open: func(serialize.Input) (serialize.File, error) { return nil, errors.New(name) },
		})
	}
	for head, want := range map[string]string{"plain": "some container", "conte": "content one", "exact": "the exact"} {
		r := strings.NewReader("match" + head)
		if f, err := serialize.Detect(r, r.Size()); err != nil || f.Name != want {
			t.Errorf("%s: detected as %q, %v; want %q", head, f.Name, err, want)
		}
	}
	r := strings.NewReader("matchtied.")
	_, err := serialize.Detect(r, r.Size())
	if !errors.Is(err, serialize.ErrFormat) || !strings.Contains(err.Error(), "content one") || !strings.Contains(err.Error(), "content two") {
		t.Errorf("two that fit equally well: %v", err)
	}
	if _, err := serialize.OpenReader(r, r.Size(), "x", serialize.Options{Format: "content two"}); err == nil || !strings.HasSuffix(err.Error(), "content two") {
		t.Errorf("opened as named: %v", err)
	}
}

// half is a file of which one of two entries can be read.
type half struct{ serialize.File }

var errDamaged = errors.New("damaged")

func (half) All() iter.Seq2[serialize.Entry, error] {
	return func(yield func(serialize.Entry, error) bool) {
		_ = yield(serialize.Entry{Name: "a"}, errDamaged) && yield(serialize.Entry{Name: "b", Array: storage.From([]float32{1}, 1)}, nil)
	}
}

// TestEntriesThatCannotBeReadAreErrors of whoever wants all entries, or one after them.
func TestEntriesThatCannotBeReadAreErrors(t *testing.T) {
	if list, err := serialize.Collect(half{}); !errors.Is(err, errDamaged) || list != nil {
		t.Errorf("collected %v, %v", list, err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := serialize.Find(half{}, name); !errors.Is(err, errDamaged) {
			t.Errorf("found %s: %v", name, err)
		}
	}
}

// TestFormatsWithoutTheirPackage: errors about a usual format that the program does not know
// name the package to import.
func TestFormatsWithoutTheirPackage(t *testing.T) {
	const want = `import _ "github.com/h5dnn/h5dnn/serialize/gguf", or serialize/all`
	_, byName := serialize.ByName("gguf")
	_, byExtension := serialize.ByExtension("model.gguf")
	_, opened := serialize.OpenReader(strings.NewReader("unknown"), 7, "model.gguf")
	for _, err := range []error{byName, byExtension, opened} {
		if !errors.Is(err, serialize.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s in it", err, want)
		}
	}
	if _, err := serialize.ByExtension("model.xyz"); err == nil || strings.Contains(err.Error(), "import") {
		t.Errorf("error %v of an extension that no package has", err)
	}
}

// TestUnknownFilesSayWhatToDo: an error about a file of no known format says what it begins
// with, and which file to open instead.
func TestUnknownFilesSayWhatToDo(t *testing.T) {
	for name, want := range map[string]string{
		"m.data-00000-of-00002": `it begins with the text "weights"; data of a TensorFlow checkpoint is read by its index, m.index`,
		"checkpoint":            "a TensorFlow checkpoint is read by its index",
		"saved_model.pb":        "the variables of a SavedModel are in variables/variables.index",
		"notes.txt":             `not a file of a known format: it begins with the text "weights"`,
	} {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, []byte("weights"), 0o666); err != nil {
			t.Fatal(err)
		}
		_, byContent := serialize.FormatOf(name)
		_, opened := serialize.Open(name)
		for _, err := range []error{byContent, opened} {
			if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, serialize.ErrFormat) {
				t.Errorf("%s: %v, want %q", filepath.Base(name), err, want)
			}
		}
	}
}

// TestUnknownFormatsNameTheirPackage: an error about a format that is not registered says what to import, and that is there.
func TestUnknownFormatsNameTheirPackage(t *testing.T) {
	for name, folder := range serialize.Hints {
		if _, err := os.Stat(folder); err != nil {
			t.Errorf("the package of %s: %v", name, err)
		}
	}
	for name, folder := range map[string]string{"a.mat": "matlab", "a.h5ad": "anndata", "a.h5": "hdf5", "a.png": "png", "a.feather": "arrow", "a.INDEX": "tfbundle"} {
		want := `import _ "github.com/h5dnn/h5dnn/serialize/` + folder + `"`
		if _, err := serialize.ByExtension(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", name, err, want)
		}
	}
}
