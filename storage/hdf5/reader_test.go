package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/views"
)

// openTestdata opens a file of testdata, which make.py wrote.
func openTestdata(t testing.TB, name string, options ...Options) *File {
	t.Helper()
	f, err := Open(filepath.Join("testdata", name), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// int32s visits the datasets of testdata with the elements 0, 1, 2, …, or -7 where nothing
// was written.
func int32s(t *testing.T, visit func(d *Dataset, want []int32)) {
	for _, name := range []string{"indexes_earliest.h5", "indexes_latest.h5", "pages_latest.h5", "userblock.h5", "compact.h5"} {
		for o, err := range openTestdata(t, name).Walk() {
			if err != nil {
				t.Fatal(err)
			}
			if o.Kind != KindDataset {
				continue
			}
			d, err := o.Dataset()
			if err != nil {
				t.Fatal(err)
			}
			n, _ := d.Len()
			want := make([]int32, n)
			for k := range want {
				if want[k] = int32(k); (strings.Contains(d.Path, "sparse") && k < n-1) || d.Path == "/unwritten" {
					want[k] = -7
				}
			}
			visit(d, want)
		}
	}
}

func read[T dtype.Go](t testing.TB, a storage.Array) []T {
	t.Helper()
	host, err := a.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	all := dtype.Cast[T](host.Data.(storage.Host).Bytes())
	return all[host.Offset:][:a.Len()]
}

func TestChunkIndexes(t *testing.T) {
	datasets := 0
	int32s(t, func(d *Dataset, want []int32) {
		datasets++
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		if got := read[int32](t, a); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", d.Path, head(got), head(want))
		}
	})
	t.Logf("%d datasets", datasets)
}

func head(x []int32) []int32 { return x[:min(len(x), 40)] }

// randomView applies a few random operations to a view.
func randomView(r *rand.Rand, v views.View) views.View {
	for range r.IntN(5) {
		if v.Rank() == 0 {
			return v
		}
		axis, w, err := r.IntN(v.Rank()), v, error(nil)
		size := v.Shape[axis]
		switch r.IntN(9) {
		case 0:
			w, err = v.Transpose(r.Perm(v.Rank())...)
		case 1:
			w, err = v.Flip(axis)
		case 2, 3:
			from := r.IntN(size + 1)
			w, err = v.Slice(axis, from, from+r.IntN(size-from+1), 1+r.IntN(3))
		case 4:
			w, _ = v.Broadcast(append([]int{1 + r.IntN(2)}, v.Shape...)...)
		case 5:
			w, err = v.Reshape(v.Len())
		case 6:
			w, err = v.Diagonal(0, min(1, v.Rank()-1), 0)
		case 7:
			w, err = v.SlidingWindow(axis, 1+r.IntN(max(1, size)), 1)
		case 8:
			w, err = v.Unsqueeze(axis)
		}
		if err == nil && w.Len() < 4000 {
			v = w
		}
	}
	return v
}

func TestRandomViews(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	int32s(t, func(d *Dataset, want []int32) {
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		for range 150 {
			v := randomView(r, a.View)
			if v.Len() > 100_000 {
				continue
			}
			dst := make([]int32, v.Len())
			if err := a.Data.(storage.Source).ReadView(dtype.Bytes(dst), dtype.Int32, v); err != nil {
				t.Fatalf("%s: %+v: %v", d.Path, v, err)
			}
			k := 0
			for at := range v.Positions() {
				if dst[k] != want[at] {
					t.Fatalf("%s: %+v: element %d is %d, want %d", d.Path, v, k, dst[k], want[at])
				}
				k++
			}
		}
	})
}

// TestWithoutCache reads without a cache of decoded chunks.
func TestWithoutCache(t *testing.T) {
	f := openTestdata(t, "indexes_latest.h5", Options{CacheBytes: -1})
	d, err := f.Dataset("/several_gzip")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	for row := range 9 {
		v, err := a.View.Slice(0, row, row+1, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := read[int32](t, a.With(v)); got[0] != int32(7*row) || got[6] != int32(7*row+6) {
			t.Errorf("row %d: got %v", row, got)
		}
	}
}

func TestTypes(t *testing.T) {
	for _, name := range []string{"types_earliest.h5", "types_latest.h5"} {
		f := openTestdata(t, name)
		for _, test := range []struct {
			path, dtype string
			value       any
		}{
			{"/i1le", "int8", "[0, 1, 2]"}, {"/i1be", "int8", "[0, 1, 2]"},
			{"/i2le", "int16", "[0, 1, 2]"}, {"/i2be", "int16", "[0, 1, 2]"},
			{"/i4le", "int32", "[0, 1, 2]"}, {"/i4be", "int32", "[0, 1, 2]"},
			{"/i8le", "int64", "[0, 1, 2]"}, {"/i8be", "int64", "[0, 1, 2]"},
			{"/u1le", "uint8", "[0, 1, 2]"}, {"/u1be", "uint8", "[0, 1, 2]"},
			{"/u2le", "uint16", "[0, 1, 2]"}, {"/u2be", "uint16", "[0, 1, 2]"},
			{"/u4le", "uint32", "[0, 1, 2]"}, {"/u4be", "uint32", "[0, 1, 2]"},
			{"/u8le", "uint64", "[0, 1, 2]"}, {"/u8be", "uint64", "[0, 1, 2]"},
			{"/f2le", "float16", "[0, 1, 2]"}, {"/f2be", "float16", "[0, 1, 2]"},
			{"/f4le", "float32", "[0, 1, 2]"}, {"/f4be", "float32", "[0, 1, 2]"},
			{"/f8le", "float64", "[0, 1, 2]"}, {"/f8be", "float64", "[0, 1, 2]"},
			{"/c8le", "complex64", "[(0+0i), (1+0i), (2+0i)]"}, {"/c8be", "complex64", "[(0+0i), (1+0i), (2+0i)]"},
			{"/c16le", "complex128", "[(0+0i), (1+0i), (2+0i)]"}, {"/c16be", "complex128", "[(0+0i), (1+0i), (2+0i)]"},
			{"/longdouble", "float64", "[0, 1, 2]"},
			{"/bool", "bool", "[false, true, true]"},
			{"/int24", "int32", "[-1, 0, 1]"},
			{"/int12", "int16", "[-1, 0, 1]"},
			{"/float8", "float8_e4m3fn", "[0, 1, 2]"},
			{"/bfloat16", "bfloat16", "[0, 1, 2]"},
			{"/float20", "float32", "[0, 1, 2]"},
			{"/bitfield", "uint16", "[0, 1, 2]"},
			{"/enum", "enum{BLUE: 2, GREEN: 1, RED: 0}", `["RED", "GREEN", "BLUE"]`},
			{"/elements", "int32[3 2]", "[[[0, 1], [2, 3], [4, 5]], [[6, 7], [8, 9], [10, 11]], [[12, 13], [14, 15], [16, 17]], [[18, 19], [20, 21], [22, 23]]]"},
			{"/compound", "compound{x: float32, name: S5, v: int16[2], z: complex64}",
				`[{x: 0, name: "zero", v: [0, 1], z: (0+0i)}, {x: 1, name: "one", v: [2, 3], z: (0+1i)}, {x: 2, name: "two", v: [4, 5], z: (2+0i)}]`},
			{"/fixed", "S4", `["ab", "", "abcd"]`},
			{"/text", "string", `["eins", "", "drei €"]`},
			{"/utf8", "S6", `["ä", "öü"]`},
			{"/chunked_text", "string", `["", "one", "", ""]`},
			{"/ragged", "sequence{int32}", "[[1, 2, 3], [], [4]]"},
			{"/opaque", "opaque2", "[0x0102, 0x0304]"},
			{"/reference", "reference", "[reference to /bool, reference to /]"},
			{"/region", "region reference", "[region of /i4le]"},
			{"/scalar", "int64", "[7]"},
			{"/scalar_text", "string", `["hello"]`},
		} {
			d, err := f.Dataset(test.path)
			if err != nil {
				t.Error(err)
				continue
			}
			if got := d.Type.String(); got != test.dtype {
				t.Errorf("%s: %s: type %s, want %s", name, test.path, got, test.dtype)
			}
			values, err := d.Values(d.View())
			if got := Format(values); err != nil || got != test.value {
				t.Errorf("%s: %s: got %s (%v), want %s", name, test.path, got, err, test.value)
			}
			numbersAgree(t, d, values)
		}
	}
}

// numbersAgree compares a dataset's array with its values, which other code reads.
func numbersAgree(t *testing.T, d *Dataset, values []any) {
	a, err := d.Array()
	if d.DType == dtype.Invalid {
		if !errors.Is(err, dtype.ErrType) {
			t.Errorf("%s: %v as an array: error %v, want wrong type", d.Path, d.Type, err)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	host, err := a.To(storage.CPU)
	if err != nil {
		t.Error(err)
		return
	}
	for k, want := range flat(values) {
		got := storage.GoValue(a.Type, host.Data.(storage.Host).Bytes()[k*a.Type.Size():][:a.Type.Size()])
		if _, named := want.(string); !named && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: element %d is %v in the array, %v as a value", d.Path, k, got, want)
		}
	}
}

func flat(values []any) (all []any) {
	for _, v := range values {
		if list, ok := v.([]any); ok {
			all = append(all, flat(list)...)
		} else {
			all = append(all, v)
		}
	}
	return all
}

func TestArrayElements(t *testing.T) {
	d, err := openTestdata(t, "types_latest.h5").Dataset("/elements")
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Shape, []int{4, 3, 2}) {
		t.Fatalf("shape %v, want [4 3 2]", a.Shape)
	}
	v, err := a.View.Transpose(2, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, err = v.Slice(1, 1, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := read[int32](t, a.With(v)), []int32{6, 8, 10, 12, 14, 16, 7, 9, 11, 13, 15, 17}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCompoundMembers(t *testing.T) {
	d, err := openTestdata(t, "types_earliest.h5").Dataset("/compound")
	if err != nil {
		t.Fatal(err)
	}
	x, err := d.Member("x")
	if err != nil {
		t.Fatal(err)
	}
	if got := read[float32](t, x); !slices.Equal(got, []float32{0, 1, 2}) {
		t.Errorf("x: %v", got)
	}
	v, err := d.Member("v")
	if err != nil {
		t.Fatal(err)
	}
	if got := read[int16](t, v); !slices.Equal(got, []int16{0, 1, 2, 3, 4, 5}) || !slices.Equal(v.Shape, []int{3, 2}) {
		t.Errorf("v: %v %v", v.Shape, got)
	}
	if _, err := d.Member("name"); !errors.Is(err, dtype.ErrType) {
		t.Errorf("name: %v, want wrong type", err)
	}
	if _, err := d.Member("nothing"); err == nil || !strings.Contains(err.Error(), `no member "nothing"`) {
		t.Errorf("nothing: %v", err)
	}
}

func TestWalk(t *testing.T) {
	for _, name := range []string{"structure_earliest.h5", "structure_latest.h5"} {
		var got []string
		for o, err := range openTestdata(t, name).Walk() {
			if err != nil {
				t.Error(err)
			}
			if !strings.HasPrefix(o.Path, "/many/") && !strings.HasPrefix(o.Path, "/a/links/") {
				got = append(got, fmt.Sprint(o.Path, " ", o.Kind, " ", o.TargetFile, o.Target))
			}
		}
		want := []string{"/ group ", "/a group ", "/a/b group ", "/a/b/numbers dataset ", "/a/b/up group ", "/a/links group ", "/a/same dataset ", "/a/soft soft b/numbers",
			"/dangling soft /nowhere", "/huge group ", "/many group ", "/outside external other.h5/x", "/relative soft soft/numbers",
			"/round soft /round", "/soft soft /a/b", "/type datatype ", "/typed dataset "}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, want)
		}
	}
}

func TestManyLinks(t *testing.T) {
	for name, want := range map[string]int{"structure_earliest.h5": 150, "structure_latest.h5": 1500} {
		links, err := openTestdata(t, name).Lookup("/a/links")
		if err != nil {
			t.Fatal(err)
		}
		names, err := links.Names()
		if err != nil || len(names) != want {
			t.Errorf("%s: %d names (%v), want %d", name, len(names), err, want)
		}
		for k := range want {
			if _, found := slices.BinarySearch(names, fmt.Sprintf("a link with the number %d", k)); !found {
				t.Errorf("%s: link %d is missing", name, k)
			}
		}
	}
}

func TestLookup(t *testing.T) {
	f := openTestdata(t, "structure_latest.h5")
	for _, test := range []struct{ path, fails string }{
		{"/a/b/numbers", ""}, {"a/b/numbers", ""}, {"/a/b/up/b/up/same", ""}, {"/soft/numbers", ""}, {"/relative", ""},
		{"/many/member39", ""}, {"/", ""}, {".", ""}, {"/a//b/./numbers", ""},
		{"/dangling", `no member "nowhere"`}, {"/round", "more than 16 links"}, {"/outside", `file "other.h5"`},
		{"/outside/y", "other files are not opened"}, {"/A", `did you mean /a?`}, {"/a/b/numbers/x", "a dataset has no members"},
	} {
		o, err := f.Lookup(test.path)
		if test.fails == "" && err != nil {
			t.Errorf("%s: %v", test.path, err)
		}
		if test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)) {
			t.Errorf("%s: %v, want %q (%v)", test.path, err, test.fails, o)
		}
	}
}

func TestAttributes(t *testing.T) {
	for _, name := range []string{"structure_earliest.h5", "structure_latest.h5"} {
		f := openTestdata(t, name)
		root, err := f.Root()
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			name string
			want string
		}{
			{"number", "42"}, {"list", "[[0, 1, 2], [3, 4, 5]]"}, {"text", `"schön"`}, {"texts", `["one", "two", ""]`},
			{"fixed", `"abc"`}, {"empty", "<nil>"}, {"flag", "true"}, {"root", "reference to /"},
		} {
			a, err := root.Attribute(test.name)
			if err != nil {
				t.Error(err)
				continue
			}
			if got, err := a.Value(); err != nil || Format(got) != test.want {
				t.Errorf("%s: %s: %s (%v), want %s", name, test.name, Format(got), err, test.want)
			}
		}
		many, err := f.Lookup("/many")
		if err != nil {
			t.Fatal(err)
		}
		all, err := many.Attributes()
		if err != nil || len(all) != 40 {
			t.Fatalf("%s: %d attributes (%v), want 40", name, len(all), err)
		}
		for k, a := range all {
			if v, err := a.Value(); err != nil || v != int64(k) || a.Name != fmt.Sprintf("attribute%02d", k) {
				t.Errorf("%s: %s is %v (%v), want %d", name, a.Name, v, err, k)
			}
		}
	}
	huge, err := openTestdata(t, "structure_latest.h5").Lookup("/huge")
	if err != nil {
		t.Fatal(err)
	}
	large, err := huge.Attribute("large")
	if err != nil {
		t.Fatal(err)
	}
	a, err := large.Array()
	if err != nil {
		t.Fatal(err)
	}
	if all := read[int32](t, a); len(all) != 20000 || all[19999] != 19999 {
		t.Errorf("large: %d elements, the last %d", len(all), all[len(all)-1])
	}
}

func TestAfterClose(t *testing.T) {
	for _, path := range []string{"/fixed", "/fixed_gzip", "/unwritten"} {
		f := openTestdata(t, "indexes_latest.h5")
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		_, err = a.To(storage.CPU)
		if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "indexes_latest.h5") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s after Close: %v, want one that names file and dataset", path, err)
		}
	}
}

func TestTruncatedWhileOpen(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "indexes_earliest.h5"))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "short.h5")
	for _, path := range []string{"/fixed", "/fixed_gzip", "/deep"} {
		must(t, os.WriteFile(name, whole, 0o600))
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.StoredSize(); err != nil {
			t.Fatal(err)
		}
		a, err := d.Array()
		if err != nil {
			t.Fatal(err)
		}
		must(t, os.Truncate(name, 100))
		if _, err := a.To(storage.CPU); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s of a file cut short: error %v", path, err)
		}
		f.Close()
	}
}

// TestChunkOfWrongSize reads an index with a chunk of the wrong size.
func TestChunkOfWrongSize(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "indexes_earliest.h5"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := openTestdata(t, "indexes_earliest.h5").Dataset("/fixed")
	if err != nil {
		t.Fatal(err)
	}
	const prefix = 8 + 2*8 // of a B-tree's node, before its first key
	whole[d.layout.address+prefix]--
	name := filepath.Join(t.TempDir(), "chunk.h5")
	must(t, os.WriteFile(name, whole, 0o600))
	f, err := Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if d, err = f.Dataset("/fixed"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.StoredSize(); err == nil || !strings.Contains(err.Error(), "chunk of 23 bytes, want 24") {
		t.Errorf("a chunk one byte short: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile(filepath.Join("testdata", "structure_latest.h5"))
	if err != nil {
		t.Fatal(err)
	}
	const flags = 11 // of a superblock of version 3
	writing := slices.Clone(whole)
	writing[flags] = 1
	const checked = 12 + 4*8 // bytes before the checksum
	binary.LittleEndian.PutUint32(writing[checked:], format.Lookup3(writing[:checked]))
	damaged := slices.Clone(whole)
	damaged[bytes.Index(whole, []byte("OHDR"))+20]++
	for _, test := range []struct {
		name, fails string
		content     []byte
	}{
		{"empty.h5", "not an HDF5 file", nil},
		{"text.h5", "not an HDF5 file", []byte("hello, this is no HDF5 file")},
		{"half.h5", "truncated", whole[:len(whole)/2]},
		{"writing.h5", "open for writing", writing},
		{"damaged.h5", "checksum", damaged},
	} {
		name := filepath.Join(dir, test.name)
		must(t, os.WriteFile(name, test.content, 0o600))
		f, err := Open(name)
		if err == nil {
			_, err = f.Root()
			f.Close()
		}
		if err == nil || !strings.Contains(err.Error(), test.fails) || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("%s: %v, want %q", test.name, err, test.fails)
		}
	}
	if _, err := Open(dir); err == nil {
		t.Error("opened a folder")
	}
	f := openTestdata(t, "external.h5")
	for _, path := range []string{"/raw", "/virtual"} {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Array()
		if err == nil {
			_, err = a.To(storage.CPU)
		}
		if err == nil || !strings.Contains(err.Error(), "other files are not opened") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
