package hdf5write

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/views"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// created returns a Writer for a new file, and the file's path.
func created(t *testing.T) (*Writer, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.h5")
	w, err := Create(path, CreateOptions{NoSync: true})
	must(t, err)
	t.Cleanup(w.Abort)
	return w, path
}

// counted returns an array whose elements are 0, 1, 2, … modulo 100.
func counted(t *testing.T, typ dtype.Type, shape ...int) storage.Array {
	t.Helper()
	elems := make([]float64, views.Of(shape...).Len())
	for i := range elems {
		elems[i] = float64(i % 100)
	}
	a, err := storage.Make(storage.CPU, typ, shape...)
	must(t, err)
	must(t, dtype.Convert(a.Data.(storage.Host).Bytes(), typ, dtype.Bytes(elems), dtype.Float64))
	return a
}

// python runs a script with the file's path as its argument and decodes its output as
// JSON. It skips the test if there is no h5py.
func python(t *testing.T, path, script string) (result map[string]any) {
	t.Helper()
	out := pythontest.Run(t, []string{"h5py", "numpy"}, "import sys, json, h5py, numpy as np\nf = h5py.File(sys.argv[1], 'r')\n"+script, path)
	must(t, json.Unmarshal([]byte(out), &result))
	return result
}

// TestH5pyReadsEveryType writes each type and lets h5py describe it.
func TestH5pyReadsEveryType(t *testing.T) {
	w, path := created(t)
	for _, typ := range dtype.All() {
		must(t, w.Write("/plain/"+typ.String(), counted(t, typ, 3, 50)))
		must(t, w.WriteWith("/packed/"+typ.String(), counted(t, typ, 3, 50), Layout{Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4)}}))
	}
	must(t, w.Close())
	got := python(t, path, `
out = {}
for group in f.values():
    for name, d in group.items():
        x = d[...].astype(np.float64 if d.dtype.kind != 'c' else complex).real.ravel()
        want = np.arange(150) % 100
        if name == 'bool': want = want != 0
        close = np.abs(x - want).max() if 'float8' in name else np.array_equal(x, want)
        out[d.name] = [str(d.dtype), list(d.shape), float(close)]
print(json.dumps(out))`)
	// h5py has no types for these and reads them as the next larger ones.
	larger := map[dtype.Type]string{dtype.BFloat16: "float32", dtype.Float8E4M3: "float16", dtype.Float8E5M2: "float16"}
	for _, typ := range dtype.All() {
		want := typ.String()
		if larger[typ] != "" {
			want = larger[typ]
		}
		for _, group := range []string{"/plain/", "/packed/"} {
			g := got[group+typ.String()].([]any)
			if g[0] != want {
				t.Errorf("%s%v: h5py sees %v, want %v", group, typ, g[0], want)
			}
			if exact := !typ.StorageOnly(); exact && g[2] != 1.0 || !exact && g[2].(float64) > 8 {
				t.Errorf("%s%v: h5py reads other values", group, typ)
			}
		}
	}
}

func TestH5pyReadsEveryAttribute(t *testing.T) {
	w, path := created(t)
	must(t, w.Group("/g/h"))
	must(t, w.Group("/g/h", Attr{"made", "by a group"}))
	values := map[string]any{
		"bool": true, "int": -7, "uint": uint(7), "int8": int8(-8), "uint16": uint16(16), "float32": float32(0.5), "float64": math.Pi,
		"complex128": complex(1, 2), "string": "hällo", "empty string": "", "null": nil,
		"ints": []int{1, 2, 3}, "floats": []float64{0.5, 1.5}, "bools": []bool{true, false}, "strings": []string{"a", "", "ö"},
		"no strings": []string{}, "no ints": []int{}, "array": counted(t, dtype.Int16, 2, 3),
		"long": strings.Repeat("0123456789", 20000), "many": make([]float64, 20000),
	}
	for name, value := range values {
		must(t, w.SetAttr("/g", name, "to be replaced"))
		must(t, w.SetAttr("/g", name, value))
	}
	must(t, w.SetAttr("/", "at the root", 1))
	must(t, w.Close())
	got := python(t, path, `
out = {}
for k, v in f['g'].attrs.items():
    if isinstance(v, h5py.Empty): out[k] = 'null ' + str(v.dtype)
    elif isinstance(v, str): out[k] = 'str %d %s' % (len(v), v[:10])
    else: out[k] = str(v.dtype) + ' ' + str(v.tolist() if v.size < 100 else v.shape)
out['root'] = int(f.attrs['at the root'])
out['made'] = f['g/h'].attrs['made']
print(json.dumps(out))`)
	want := map[string]any{
		"bool": "bool True", "int": "int64 -7", "uint": "uint64 7", "int8": "int8 -8", "uint16": "uint16 16", "float32": "float32 0.5",
		"float64": "float64 3.141592653589793", "complex128": "complex128 (1+2j)", "string": "str 5 hällo", "empty string": "str 0 ",
		"null": "null float32", "ints": "int64 [1, 2, 3]", "floats": "float64 [0.5, 1.5]", "bools": "bool [True, False]",
		"strings": "object ['a', '', 'ö']", "no strings": "object []", "no ints": "int64 []", "array": "int16 [[0, 1, 2], [3, 4, 5]]",
		"long": "str 200000 0123456789", "many": "float64 (20000,)", "root": 1.0, "made": "by a group",
	}
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: got %v, want %v", name, got[name], want[name])
		}
	}
}

func TestH5pyReadsEveryLayout(t *testing.T) {
	w, path := created(t)
	layouts := map[string]Layout{
		"contiguous": {}, "chunks": {Chunks: []int{7, 3}}, "wide chunks": {Chunks: []int{1000, 1000}},
		"deflate": {Filters: []filter.Filter{filter.Deflate(9)}}, "all": {Chunks: []int{10, 20}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(1), filter.Fletcher32()}},
		"growing": {MaxShape: []int{-1, 50}}, "growing both ways": {MaxShape: []int{-1, -1}, Chunks: []int{8, 8}, Filters: []filter.Filter{filter.Deflate(4)}},
	}
	flipped := counted(t, dtype.Int32, 50, 33)
	flipped.View, _ = flipped.Transpose(1, 0)
	for name, layout := range layouts {
		must(t, w.WriteWith("/"+name, flipped, layout))
	}
	noise := make([]uint8, 5000) // which no filter makes smaller
	for i := range noise {
		noise[i] = uint8(rand.Uint32())
	}
	must(t, w.Write("/noise", storage.From(noise, 5000)))
	must(t, w.WriteWith("/noise kept", storage.From(noise, 5000), Layout{Chunks: []int{999}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4), filter.Fletcher32()}}))
	must(t, w.WriteStrings("/strings", []string{"a", "bc", "", "ü", "e", "f"}, 2, 3))
	must(t, w.WriteStrings("/one string", []string{"alone"}))
	must(t, w.WriteStrings("/no strings", nil, 0))
	must(t, w.Write("/scalar", counted(t, dtype.Float32)))
	must(t, w.Write("/empty", counted(t, dtype.Float32, 0, 3)))
	must(t, w.SoftLink("/soft", "/strings"))
	must(t, w.Close())
	got := python(t, path, `
want = (np.arange(50*33) % 100).reshape(50, 33).T
out = {n: [bool(np.array_equal(d[...], want)), d.chunks, d.compression, d.shuffle, d.fletcher32, d.maxshape, d.id.get_offset()]
       for n, d in f.items() if d.shape == want.shape}
out['strings'] = f['soft'].asstr()[...].tolist()
out['one string'] = f['one string'].asstr()[()]
out['shapes'] = [f[n].shape for n in ('no strings', 'scalar', 'empty')]
out['noise'] = bool((f['noise'][...] == f['noise kept'][...]).all())
out['order'] = list(f)[-6:]
print(json.dumps(out))`)
	for name, want := range map[string]string{
		"contiguous":        "[true <nil> <nil> false false [33 50] *]",
		"chunks":            "[true [7 3] <nil> false false [33 50] <nil>]",
		"wide chunks":       "[true [33 50] <nil> false false [33 50] <nil>]",
		"deflate":           "[true [33 50] gzip false false [33 50] <nil>]",
		"all":               "[true [10 20] gzip true true [33 50] <nil>]",
		"growing":           "[true [1310 50] <nil> false false [<nil> 50] <nil>]",
		"growing both ways": "[true [8 8] gzip false false [<nil> <nil>] <nil>]",
		"strings":           "[[a bc ] [ü e f]]", "one string": "alone", "noise": "true", "shapes": "[[0] [] [0 3]]",
		"order": "[strings one string no strings scalar empty soft]",
	} {
		g := fmt.Sprint(got[name])
		if name == "contiguous" { // its offset only has to be aligned
			if offset := got[name].([]any)[6].(float64); math.Mod(offset, 4096) != 0 {
				t.Errorf("contiguous data lies at %v, no multiple of 4096", offset)
			}
			want = strings.Replace(want, "*", fmt.Sprint(got[name].([]any)[6]), 1)
		}
		if g != want {
			t.Errorf("%s: got %v, want %v", name, g, want)
		}
	}
}

// TestWriteInParts writes an array in parts, in different orders, and compares with the
// whole.
func TestWriteInParts(t *testing.T) {
	w, path := created(t)
	whole := counted(t, dtype.Float32, 40, 30)
	rows := func(from, to int) storage.Array {
		return whole.With(subview(whole.View, []int{from, 0}, []int{to - from, 30}))
	}
	for name, layout := range map[string]Layout{
		"contiguous": {}, "chunks": {Chunks: []int{7, 4}}, "deflate": {Chunks: []int{16, 9}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(4)}},
	} {
		d, err := w.CreateDataset("/appended "+name, dtype.Float32, []int{40, 30}, layout)
		must(t, err)
		must(t, errors.Join(d.Append(rows(0, 1)), d.Append(rows(1, 20)), d.Append(rows(20, 39))))
		last := rows(39, 40)
		last.Shape, last.Stride = last.Shape[1:], last.Stride[1:]
		must(t, d.Append(last))

		d, err = w.CreateDataset("/scattered "+name, dtype.Float32, []int{40, 30}, layout)
		must(t, err)
		for i := 39; i >= 0; i-- {
			for _, j := range []int{20, 0, 10} {
				must(t, d.WriteAt([]int{i, j}, whole.With(subview(whole.View, []int{i, j}, []int{1, 10}))))
			}
			if i%5 == 0 { // as if there were too many partial chunks
				d.mu.Lock()
				must(t, d.flush())
				d.mu.Unlock()
			}
		}
	}
	d, err := w.CreateDataset("/grown", dtype.Float32, []int{0, 30}, Layout{MaxShape: []int{-1, 30}, Chunks: []int{7, 7}, Filters: []filter.Filter{filter.Deflate(1)}})
	must(t, err)
	for i := range 40 {
		must(t, d.Append(rows(i, i+1)))
	}
	must(t, w.Close())
	for name, ok := range python(t, path, `
want = (np.arange(40*30) % 100).reshape(40, 30)
print(json.dumps({n: bool(np.array_equal(d[...], want)) for n, d in f.items()}))`) {
		if ok != true {
			t.Errorf("%s: elements differ", name)
		}
	}
}

// TestFileAppearsOnClose lists the folder at every stage.
func TestFileAppearsOnClose(t *testing.T) {
	w, path := created(t)
	must(t, os.WriteFile(path, []byte("old"), 0o640))
	must(t, w.Write("/x", counted(t, dtype.Float64, 100, 100)))
	if old, _ := os.ReadFile(path); string(old) != "old" {
		t.Error("the old file changed before Close")
	}
	w.Abort()
	if names := listing(t, path); !slices.Equal(names, []string{"new.h5"}) {
		t.Errorf("after Abort the folder has %v", names)
	}
	if err := w.Close(); !errors.Is(err, storage.ErrState) {
		t.Errorf("Close after Abort: got %v, want an ErrState", err)
	}
	if err := w.Write("/y", counted(t, dtype.Float64, 2)); !errors.Is(err, storage.ErrState) {
		t.Errorf("Write after Abort: got %v, want an ErrState", err)
	}
	w, err := Create(path, CreateOptions{})
	must(t, err)
	must(t, w.Write("/x", counted(t, dtype.Float64, 3)))
	must(t, w.Close())
	w.Abort()
	if names := listing(t, path); !slices.Equal(names, []string{"new.h5"}) {
		t.Errorf("after Close the folder has %v", names)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the new file has mode %v, want the old one's 0640 (%v)", info.Mode(), err)
	}
}

func listing(t *testing.T, path string) (names []string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// failing is a source that cannot be read.
type failing struct{}

func (failing) Len() int                                      { return 4000 }
func (failing) Device() storage.Device                        { return storage.File("broken.h5") }
func (failing) ReadView([]byte, dtype.Type, views.View) error { return errors.New("cannot be read") }

func TestCloseFailsAfterPartialWrite(t *testing.T) {
	w, path := created(t)
	if err := w.Write("/x", storage.Array{Data: failing{}, Type: dtype.Float32, View: views.Of(1000)}); err == nil {
		t.Error("Write of an unreadable array: no error")
	}
	if err := w.Close(); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("Close: got %v, want the reason", err)
	}
	if names := listing(t, path); len(names) != 0 {
		t.Errorf("files are left: %v", names)
	}
}

func TestWrongArguments(t *testing.T) {
	w, path := created(t)
	x := counted(t, dtype.Float32, 4, 3)
	must(t, w.Write("/x", x))
	d, err := w.CreateDataset("/d", dtype.Float32, []int{4, 3}, Layout{Chunks: []int{2, 2}})
	must(t, err)
	attr := func(v any) error { return w.SetAttr("/x", "a", v) }
	create := func(shape []int, l Layout) error {
		_, err := w.CreateDataset("/e", dtype.Float32, shape, l)
		return err
	}
	for i, c := range []struct {
		err  error
		kind error
		say  string
	}{
		{w.Write("/x", x), nil, "exist"},
		{w.Write("relative", x), nil, "does not begin with /"},
		{w.Write("/a//b", x), nil, "empty or a dot"},
		{w.Write("/a/./b", x), nil, "empty or a dot"},
		{w.Write("/a\x00b", x), nil, "zero byte"},
		{w.Write("/\xff", x), nil, "UTF-8"},
		{w.Write("/x/y", x), nil, "libhdf5"},
		{w.Write("/z", storage.Array{}), dtype.ErrType, ""},
		{attr("a\x00b"), nil, "zero byte"},
		{attr(struct{}{}), dtype.ErrType, "struct {}"},
		{w.SetAttr("/x", "", 1), nil, "name"},
		{w.SetAttr("/nothing", "a", 1), nil, "exist"},
		{w.Group("/x"), nil, "exist"},
		{w.WriteStrings("/s", []string{"a"}, 2), views.ErrShape, ""},
		{d.WriteAt([]int{1, 0}, x), views.ErrShape, "[1 0]"},
		{d.WriteAt([]int{0}, x), views.ErrShape, ""},
		{d.WriteAt([]int{-1, 0}, x), views.ErrShape, ""},
		{d.WriteAt([]int{0, 0}, counted(t, dtype.Float64, 1, 1)), dtype.ErrType, "float64"},
		{d.Append(counted(t, dtype.Float32, 5, 3)), views.ErrShape, "at most"},
		{d.Append(counted(t, dtype.Float32, 1, 2)), views.ErrShape, ""},
		{d.Extend(2, 3), views.ErrShape, ""},
		{create([]int{-1}, Layout{}), views.ErrShape, ""},
		{create([]int{math.MaxInt, 2}, Layout{}), views.ErrShape, "large"},
		{create(nil, Layout{Filters: []filter.Filter{filter.Deflate(1)}}), views.ErrShape, "scalar"},
		{create([]int{4}, Layout{Chunks: []int{0}}), views.ErrShape, ""},
		{create([]int{4}, Layout{Chunks: []int{2, 2}}), views.ErrShape, ""},
		{create([]int{4}, Layout{MaxShape: []int{3}}), views.ErrShape, ""},
		{create([]int{4}, Layout{MaxShape: []int{-1}, Chunks: []int{1 << 31}}), views.ErrShape, "4 GiB"},
		{create([]int{4}, Layout{Filters: []filter.Filter{{ID: filter.SzipID}}}), nil, "cannot be written"},
		{create([]int{4}, Layout{Filters: []filter.Filter{filter.Deflate(10)}}), nil, "level"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.say) || c.kind != nil && !errors.Is(c.err, c.kind) {
			t.Errorf("case %d: got %v, want %q of kind %v", i, c.err, c.say, c.kind)
		}
		if c.err != nil && strings.Contains(c.err.Error(), "\n") {
			t.Errorf("case %d: more than one line: %v", i, c.err)
		}
	}
	must(t, w.Close()) // the errors did not affect the file
	if _, err := Create(filepath.Join(path, "below a file"), CreateOptions{}); err == nil {
		t.Error("Create below a file: no error")
	}
	if _, err := Create(filepath.Dir(path), CreateOptions{}); err == nil {
		t.Error("Create over a folder: no error")
	}
}
