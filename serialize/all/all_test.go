package all_test

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/all"
	"github.com/h5dnn/h5dnn/storage"
)

// Example converts a file between formats that it does not know.
func Example() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	in, out := path.Join(dir, "in.npy"), path.Join(dir, "out.safetensors")
	contents := serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "in", Array: storage.From([]float32{1, 2, 3}, 3)})}
	if err := serialize.Save(in, "", contents); err != nil {
		fmt.Println(err)
		return
	}
	f, err := serialize.Open(in)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	if err := serialize.Save(out, "", serialize.Contents{Entries: f.All()}); err != nil {
		fmt.Println(err)
		return
	}
	format, err := serialize.FormatOf(out)
	fmt.Println(format.Name, err)
	// Output: safetensors <nil>
}

// TestEveryFormatIsImported: the imports are the folders of package serialize, but for those that are
// no formats.
func TestEveryFormatIsImported(t *testing.T) {
	noFormats := []string{"all", "diff", "internal", "serializetest", "transform"}
	file, err := parser.ParseFile(token.NewFileSet(), "all.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var imported, folders []string
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		imported = append(imported, path.Base(name))
	}
	list, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.IsDir() && !slices.Contains(noFormats, f.Name()) {
			folders = append(folders, f.Name())
		}
	}
	if slices.Sort(imported); !slices.Equal(imported, folders) {
		t.Errorf("imported are %q, want %q", imported, folders)
	}
}

// TestFormatsLinkWhatTheyNeed: formats that are not HDF5 files do not link its reader.
func TestFormatsLinkWhatTheyNeed(t *testing.T) {
	const module = "github.com/h5dnn/h5dnn/"
	for _, name := range []string{"arrow", "csv", "gguf", "native", "npy", "onnx", "parquet", "png", "raw", "safetensors", "sharded", "tfbundle", "torch"} {
		out, err := exec.Command("go", "list", "-deps", module+"serialize/"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(string(out), module+"storage/hdf5") {
			t.Errorf("%s links the reader of HDF5", name)
		}
	}
}

// TestSameContentsAreTheSameBytes saves them twice, at times that files tell apart.
func TestSameContentsAreTheSameBytes(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	saveSamples(t, first)
	time.Sleep(1100 * time.Millisecond)
	saveSamples(t, second)
	files, err := os.ReadDir(first)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		a, err := os.ReadFile(path.Join(first, f.Name()))
		b, err2 := os.ReadFile(path.Join(second, f.Name()))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s: the same contents are %d bytes, and %d others later; %v", f.Name(), len(a), len(b), err)
		}
	}
}

// saveSamples saves a file of each format but those that need a model.
func saveSamples(t *testing.T, folder string) {
	t.Helper()
	images := []serialize.Entry{
		{Name: "in/group/a", Array: storage.From([]uint8{1, 2, 3}, 1, 3)},
		{Name: "b", Array: storage.From([]uint8{4, 5, 6}, 1, 3)},
	}
	columns := []serialize.Entry{{Name: "a", Array: storage.From([]float32{1, 2, 3}, 3)}}
	for _, format := range serialize.Writable() {
		if format == "keras" || format == "keras-weights" {
			continue
		}
		f, err := serialize.ByName(format)
		if err != nil {
			t.Fatal(err)
		}
		name := path.Join(folder, format+f.Extensions[0])
		if format == "sharded" {
			name = path.Join(folder, "x.safetensors"+f.Extensions[0])
		}
		for _, entries := range [][]serialize.Entry{images, images[:1], columns} {
			if err = serialize.Save(name, format, serialize.Contents{Entries: serialize.Entries(entries...)}); err == nil {
				break
			}
		}
		if err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}
