package all_test

import (
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
