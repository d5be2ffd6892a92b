package sharded_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/hdf5"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/serialize/sharded"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// model are arrays of 24 and 8 bytes, two of which share their elements.
func model(yield func(serialize.Entry, error) bool) {
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	b := storage.From([]float32{7, 8}, 2)
	_ = yield(serialize.Entry{Name: "embedding", Array: a, Shared: "tied"}, nil) &&
		yield(serialize.Entry{Name: "bias", Array: b}, nil) &&
		yield(serialize.Entry{Name: "head", Array: a, Shared: "tied"}, nil)
}

// Example splits a checkpoint into files of 24 bytes of elements.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "model.safetensors.index.json")
	if err := sharded.Save(name, serialize.Contents{Entries: model}, sharded.Options{Size: 24}); err != nil {
		fmt.Println(err)
		return
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		fmt.Println(f.Name())
	}
	f, err := serialize.Open(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	for e, err := range f.All() {
		fmt.Println(e.Name, e.Array.Shape, err)
	}
	// Output:
	// model-00001-of-00002.safetensors
	// model-00002-of-00002.safetensors
	// model.safetensors.index.json
	// embedding [2 3] <nil>
	// head [2 3] <nil>
	// bias [2] <nil>
}

// TestShardsOfAnyFormat hold what was saved, tied weights and metadata.
func TestShardsOfAnyFormat(t *testing.T) {
	for _, base := range []string{"model.safetensors", "model.npz", "model.h5", "pytorch_model.bin"} {
		name := filepath.Join(t.TempDir(), base+sharded.Extension)
		meta := map[string]string{"format": "pt", "größe": "\"\n"}
		if err := sharded.Save(name, serialize.Contents{Entries: model, Meta: meta}, sharded.Options{Size: 24}); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Meta(); !maps.Equal(got, meta) {
			t.Errorf("%s: metadata %q, want %q", base, got, meta)
		}
		got := map[string]string{}
		shared := map[string]bool{}
		for e, err := range f.All() {
			elems, err2 := storage.Read[float32](e.Array)
			if err := errors.Join(err, err2); err != nil {
				t.Error(err)
			}
			got[e.Name] = fmt.Sprint(e.Array.Shape, elems)
			shared[e.Shared] = true
		}
		want := map[string]string{"embedding": "[2 3] [1 2 3 4 5 6]", "head": "[2 3] [1 2 3 4 5 6]", "bias": "[2] [7 8]"}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", base, got, want)
		}
		if base == "model.safetensors" && len(shared) != 2 {
			t.Errorf("tied weights share nothing: %v", shared)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOldShardsStayUntilAllAreWritten fails to write the last array. The old shards, of the
// same names, must be unchanged, and nothing else left.
func TestOldShardsStayUntilAllAreWritten(t *testing.T) {
	for _, base := range []string{"model.safetensors", "model.h5"} {
		dir := t.TempDir()
		name := filepath.Join(dir, base+sharded.Extension)
		save := func(x float32, last storage.Source) error {
			b := storage.From([]float32{x, x}, 2)
			if last != nil {
				b.Data = last
			}
			arrays := func(yield func(serialize.Entry, error) bool) {
				_ = yield(serialize.Entry{Name: "a", Array: storage.From([]float32{x, x}, 2)}, nil) && yield(serialize.Entry{Name: "b", Array: b}, nil)
			}
			return sharded.Save(name, serialize.Contents{Entries: arrays}, sharded.Options{Size: 8})
		}
		content := func() map[string]string {
			all := map[string]string{}
			files, err := os.ReadDir(dir)
			for _, f := range files {
				text, err2 := os.ReadFile(filepath.Join(dir, f.Name()))
				err = errors.Join(err, err2)
				all[f.Name()] = string(text)
			}
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if err := save(1, nil); err != nil {
			t.Fatal(err)
		}
		old := content()
		if len(old) != 3 {
			t.Fatalf("%s: files %v, want two shards and an index", base, slices.Collect(maps.Keys(old)))
		}
		if err := save(2, brokenSource{}); err == nil {
			t.Errorf("%s: no error", base)
		}
		if now := content(); !maps.Equal(now, old) {
			for k := range now {
				if now[k] != old[k] {
					t.Errorf("%s: a save that failed changed %s", base, k)
				}
			}
		}
		if err := save(2, nil); err != nil {
			t.Errorf("%s: %v", base, err)
		}
		if now := content(); len(now) != 3 || maps.Equal(now, old) {
			t.Errorf("%s: the files were not replaced; there are %v", base, slices.Collect(maps.Keys(now)))
		}
	}
}

type brokenSource struct{}

func (brokenSource) Len() int                                      { return 8 }
func (brokenSource) Device() storage.Device                        { return storage.File("broken") }
func (brokenSource) ReadView([]byte, dtype.Type, views.View) error { return errors.New("broken") }

// TestIndexesAreChecked: files elsewhere, arrays that are not where the index says, and
// shards that are missing are errors.
func TestIndexesAreChecked(t *testing.T) {
	dir := t.TempDir()
	one := func(name, array string) {
		err := serialize.Save(filepath.Join(dir, name), "", serialize.Contents{Entries: serialize.Arrays(maps.All(map[string]storage.Array{array: storage.From([]float32{1})}))})
		if err != nil {
			t.Fatal(err)
		}
	}
	one("a.safetensors", "w")
	one("b.npz", "w")
	one("c.npz", "x")
	two := func(name, other string) {
		entries := map[string]storage.Array{"w": storage.From([]float32{1}), other: storage.From([]float32{2})}
		if err := serialize.Save(filepath.Join(dir, name), "", serialize.Contents{Entries: serialize.Arrays(maps.All(entries))}); err != nil {
			t.Fatal(err)
		}
	}
	two("both.safetensors", "u")
	two("other.safetensors", "v")
	back := []byte(`{"weight_map":{"w":"cycle.index.json"}}`)
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "folder"), 0o777), os.WriteFile(filepath.Join(dir, "back.index.json"), back, 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666), os.Symlink("/dev/zero", filepath.Join(dir, "device")), os.Symlink("loop", filepath.Join(dir, "loop"))); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, reason string }{
		"elsewhere":       {`{"weight_map":{"w":"../a.safetensors"}}`, "not the name of a file"},
		"absolute":        {`{"weight_map":{"w":"/etc/passwd"}}`, "not the name of a file"},
		"folder":          {`{"weight_map":{"w":".."}}`, "not the name of a file"},
		"missing file":    {`{"weight_map":{"w":"c.safetensors"}}`, "no such file"},
		"missing array":   {`{"weight_map":{"v":"a.safetensors"}}`, `"v" is not in shard a.safetensors`},
		"wrong file":      {`{"weight_map":{"w":"c.npz","x":"a.safetensors"}}`, `"w" is in shard a.safetensors, but the index says c.npz`},
		"two files":       {`{"weight_map":{"w":"a.safetensors","v":"b.npz"}}`, `shard b.npz: duplicate name "w"`},
		"itself":          {`{"weight_map":{"w":"itself.index.json"}}`, "an index cannot be a shard"},
		"no map":          {`{"metadata":{"note":"a \"weight_map\" in a text"}}`, "without a weight_map"},
		"map of numbers":  {`{"weight_map":{"w":1}}`, "invalid JSON"},
		"map of lists":    {`{"weight_map":{"w":["a.safetensors"]}}`, "invalid JSON"},
		"in both shards":  {`{"weight_map":{"u":"both.safetensors","v":"other.safetensors"}}`, `duplicate name "w"`},
		"cycle":           {`{"weight_map":{"w":"back.index.json"}}`, "an index cannot be a shard"},
		"backslash":       {`{"weight_map":{"w":"..\\\\a.safetensors"}}`, "not the name of a file"},
		"zero byte":       {`{"weight_map":{"w":"a.safetensors\\u0000"}}`, "not the name of a file"},
		"two lines":       {`{"weight_map":{"w":"a\\nb.safetensors"}}`, "not the name of a file"},
		"screen control":  {`{"weight_map":{"w":"\\u001b[2Ja.safetensors"}}`, "not the name of a file"},
		"pipe":            {`{"weight_map":{"w":"pipe"}}`, "is a pipe"},
		"device":          {`{"weight_map":{"w":"device"}}`, "is a device"},
		"link to itself":  {`{"weight_map":{"w":"loop"}}`, "too many levels of symbolic links"},
		"deep":            {`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "more than 64 levels"},
		"empty name":      {`{"weight_map":{"w":""}}`, "not the name of a file"},
		"a folder":        {`{"weight_map":{"w":"folder"}}`, "folder"},
		"the same twice":  {`{"weight_map":{"w":"a.safetensors","w":"b.npz"}}`, "twice"},
		"text at the end": {`{"weight_map":{}} x`, "text after the end"},
	} {
		file := filepath.Join(dir, name+".index.json")
		if err := os.WriteFile(file, []byte(c.text), 0o666); err != nil {
			t.Fatal(err)
		}
		if f, err := serialize.Open(file, serialize.Options{Format: "sharded"}); err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: %v, %v; want an error because of %q", name, f, err, c.reason)
		}
	}
	text := `{"metadata":{"total_size":4},"weight_map":{"w":"a.safetensors"}}`
	if _, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "memory"); !errors.Is(err, storage.ErrState) {
		t.Errorf("an index without a folder: %v", err)
	}
	f, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "memory", serialize.Options{Follow: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if list, err := serialize.Collect(f); err != nil || len(list) != 1 {
		t.Errorf("with a folder: %v, %v", list, err)
	}
}

// TestLinkedShardsAreRead: the cache of Hugging Face has nothing but symbolic links.
func TestLinkedShardsAreRead(t *testing.T) {
	dir := t.TempDir()
	if err := sharded.Save(filepath.Join(dir, "m.safetensors.index.json"), serialize.Contents{Entries: model}, sharded.Options{}); err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	for _, name := range []string{"m.safetensors.index.json", "m-00001-of-00001.safetensors"} {
		if err := os.Symlink(filepath.Join(dir, name), filepath.Join(cache, name)); err != nil {
			t.Fatal(err)
		}
	}
	f := serializetest.Open(t, filepath.Join(cache, "m.safetensors.index.json"))
	if list, err := serialize.Collect(f); err != nil || len(list) != 3 {
		t.Errorf("%d arrays, %v", len(list), err)
	}
}

// TestVerifyReadsTheShards: damaged elements in a shard with checksums are found, and a size in
// the index that is not that of the arrays.
func TestVerifyReadsTheShards(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "m.h5dn.index.json")
	if err := sharded.Save(name, serialize.Contents{Entries: model}, sharded.Options{Size: 24}); err != nil {
		t.Fatal(err)
	}
	problems := func() (list []string) {
		f := serializetest.Open(t, name)
		for what, err := range f.(serialize.Verifier).Verify(t.Context()) {
			if err != nil {
				list = append(list, what+": "+err.Error())
			}
		}
		return list
	}
	if list := problems(); len(list) > 0 {
		t.Errorf("of a good file: %q", list)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(text, []byte(`"total_size": 32`), []byte(`"total_size": 33`), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if list := problems(); len(list) != 1 || !strings.Contains(list[0], "total_size of 33 bytes") {
		t.Errorf("with another size: %q", list)
	}
	shard := filepath.Join(dir, sharded.FileName("m.h5dn", 1, 2))
	b, err := os.ReadFile(shard)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte{0, 0, 0, 0x40}) // 2
	b[at] = 1
	if err := os.WriteFile(shard, b, 0o666); err != nil {
		t.Fatal(err)
	}
	if list := problems(); len(list) < 2 {
		t.Errorf("with damaged elements: %q", list)
	}
}

// TestSizeOfSharedElements: total_size counts what the shards store, of equal and of different
// views of shared elements, in formats that share and those that do not.
func TestSizeOfSharedElements(t *testing.T) {
	whole := storage.From([]float32{1, 2, 3, 4, 5, 6}, 6)
	part, err := whole.View.Slice(0, 2, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	slice := whole
	slice.View = part
	for _, base := range []string{"m.safetensors", "m.h5dn", "m.npz"} {
		name := filepath.Join(t.TempDir(), base+sharded.Extension)
		entries := func(yield func(serialize.Entry, error) bool) {
			_ = yield(serialize.Entry{Name: "slice", Array: slice, Shared: "s"}, nil) &&
				yield(serialize.Entry{Name: "whole", Array: whole, Shared: "s"}, nil) &&
				yield(serialize.Entry{Name: "again", Array: whole, Shared: "s"}, nil)
		}
		if err := sharded.Save(name, serialize.Contents{Entries: entries}, sharded.Options{}); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, err := range f.(serialize.Verifier).Verify(t.Context()) {
			if err != nil {
				t.Errorf("%s: %s: %v", base, what, err)
			}
		}
		f.Close()
	}
}

// TestNamesThatAreNoIndexes cannot be written.
func TestNamesThatAreNoIndexes(t *testing.T) {
	for _, name := range []string{"model.json", "model.npy.index.json", "model.index.json", "model.unknown.index.json"} {
		file := filepath.Join(t.TempDir(), name)
		if err := sharded.Save(file, serialize.Contents{Entries: model}, sharded.Options{Size: 24}); !errors.Is(err, serialize.ErrFormat) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is there: %v", name, err)
		}
	}
}

// TestOthersReadWhatIsWritten: every file of the index is a safetensors file that has the
// arrays the index says.
func TestOthersReadWhatIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "model.safetensors.index.json")
	if err := sharded.Save(name, serialize.Contents{Entries: model}, sharded.Options{Size: 24}); err != nil {
		t.Fatal(err)
	}
	out := pythontest.Run(t, []string{"torch", "safetensors"}, `
import json, os, sys
from safetensors import safe_open
index = json.load(open(sys.argv[1]))
names = []
for name, file in sorted(index["weight_map"].items()):
    with safe_open(os.path.join(os.path.dirname(sys.argv[1]), file), "pt") as f:
        alias = (f.metadata() or {}).get(name, name)
        names.append((name, f.get_tensor(alias).flatten().tolist()))
print(index["metadata"]["total_size"], names)
`, name)
	if want := "32 [('bias', [7.0, 8.0]), ('embedding', [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ('head', [1.0, 2.0, 3.0, 4.0, 5.0, 6.0])]\n"; out != want {
		t.Errorf("Python reads %q, want %q", out, want)
	}
}

// FuzzParseIndex reads indexes.
func FuzzParseIndex(f *testing.F) {
	f.Add(`{"metadata":{"total_size":4},"weight_map":{"w":"a.safetensors"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		index, err := sharded.ParseIndex(text)
		if err == nil && slices.ContainsFunc(index.Files, func(file string) bool { return filepath.Base(file) != file }) {
			t.Errorf("files %q", index.Files)
		}
	})
}

// FuzzOpen reads indexes of two shards that are there.
func FuzzOpen(f *testing.F) {
	folder := f.TempDir()
	name := filepath.Join(folder, "m.safetensors"+sharded.Extension)
	if err := sharded.Save(name, serialize.Contents{Entries: model}, sharded.Options{Size: 24}); err != nil {
		f.Fatal(err)
	}
	serializetest.AddSeeds(f, name)
	f.Add([]byte(`{"weight_map":{"bias":"m-00002-of-00002.safetensors"}}`))
	f.Fuzz(serializetest.FuzzTarget("sharded", folder))
}

// TestEveryTypeIsKept in every layout, in native files.
func TestEveryTypeIsKept(t *testing.T) {
	serializetest.TestTypes(t, "sharded", "model.h5dn.index.json")
}
