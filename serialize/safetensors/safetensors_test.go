package safetensors_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/safetensors"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

func TestFormat(t *testing.T) { serializetest.TestFormat(t, "safetensors", "a/b", "\"quoted\"\n") }

// Example saves two names of one array.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "model.safetensors")
	weight := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	err := serialize.Save(name, "", serialize.Contents{
		Entries: func(yield func(serialize.Entry, error) bool) {
			_ = yield(serialize.Entry{Name: "embedding.weight", Array: weight, Shared: "tied"}, nil) &&
				yield(serialize.Entry{Name: "head.weight", Array: weight, Shared: "tied"}, nil)
		},
		Meta: map[string]string{"format": "pt"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := serialize.Open(name)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	fmt.Println(f.Meta())
	for e, err := range f.All() {
		fmt.Println(e.Name, e.Array.Type, e.Array.Shape, e.Shared, err)
	}
	// Output:
	// map[format:pt]
	// embedding.weight float32 [2 3] 0 <nil>
	// head.weight float32 [2 3] 0 <nil>
}

// TestFilesOfTheReferenceImplementation are read, each type with the numbers from 0 to 5.
func TestFilesOfTheReferenceImplementation(t *testing.T) {
	f := serializetest.Open(t, "testdata/types.safetensors")
	held, _ := serialize.ByName("safetensors")
	for _, typ := range held.Types {
		e, err := serialize.Lookup(f, typ.String())
		if err != nil || e.Array.Type != typ {
			t.Errorf("%v: %v, %v", typ, e.Array, err)
			continue
		}
		want := []float64{0, 1, 2, 3, 4, 5}
		if typ == dtype.Bool {
			want = []float64{0, 1, 1, 1, 1, 1}
		}
		if got, err := storage.Read[complex128](e.Array); err != nil || fmt.Sprint(got) != fmt.Sprint(complexes(want)) {
			t.Errorf("%v: %v, %v; want %v", typ, got, err, want)
		}
	}
	for name, shape := range map[string][]int{"scalar": {}, "empty": {0, 3}, "größe": {2}} {
		if e, err := serialize.Lookup(f, name); err != nil || !slices.Equal(e.Array.Shape, shape) {
			t.Errorf("%s: %v, %v", name, e.Array, err)
		}
	}
	if meta := f.Meta(); !maps.Equal(meta, map[string]string{"format": "pt"}) {
		t.Errorf("metadata %v", meta)
	}
}

func complexes(list []float64) []complex128 {
	out := make([]complex128, len(list))
	for i, x := range list {
		out[i] = complex(x, 0)
	}
	return out
}

// TestTiedWeightsHaveBothNames: the reference implementation stores them once and names
// the other in the metadata.
func TestTiedWeightsHaveBothNames(t *testing.T) {
	f := serializetest.Open(t, "testdata/tied.safetensors")
	a, err1 := serialize.Lookup(f, "embedding.weight")
	b, err2 := serialize.Lookup(f, "head.weight")
	if err := errors.Join(err1, err2); err != nil || a.Shared != b.Shared || !a.SameElements(b) {
		t.Errorf("%v and %v, %v", a, b, err)
	}
	if meta := f.Meta(); !maps.Equal(meta, map[string]string{"format": "pt"}) {
		t.Errorf("metadata %v", meta)
	}
}

// TestAttacks: what the format forbids is refused.
func TestAttacks(t *testing.T) {
	serializetest.TestAttacks(t, "safetensors", "testdata/attacks", map[string]string{
		"overlap": "neither overlap", "same_bytes": "neither overlap", "gap": "nor leave gaps", "hole_at_start": "nor leave gaps", "backwards": "neither overlap",
		"trailing_bytes": "4 bytes after the last array", "truncated": "the file is truncated",
		"size_differs": "takes 12 bytes, not 8", "huge_shape": "too large", "overflowing_shape": "too large",
		"negative_shape": "not negative", "fraction_in_shape": "want an integer", "huge_offset": "a number that is too large",
		"three_offsets": "3 data_offsets", "half_a_byte": "whole byte", "name_twice": `key "a" twice`, "dtype_twice": `key "dtype" twice`,
		"no_shape": "no dtype, shape", "metadata_number": "invalid JSON", "metadata_nested": "invalid JSON", "not_utf8": "UTF-8",
		"text_after_header": "text after the end", "deep": "invalid JSON", "header_beyond_file": "truncated",
		"header_of_exabytes": "at most 100000000", "header_of_negative_length": "at most 100000000", "header_above_limit": "at most 100000000",
		"unknown_type": "elements of type F4 are not read",
	})
}

// TestWrittenFiles are laid out as the reference implementation does: wider types first,
// then by name, and aligned.
func TestWrittenFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.safetensors")
	list := map[string]storage.Array{
		"b": storage.From(make([]uint8, 3), 3), "a": storage.From(make([]uint8, 5), 5),
		"w": storage.From(make([]float32, 1<<15), 1<<15), "d": storage.From(make([]float64, 2), 2), "f": storage.From(make([]dtype.BF16, 3), 3),
	}
	if err := serialize.Save(name, "", serialize.Contents{Entries: serialize.Arrays(maps.All(list))}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	data := 8 + binary.LittleEndian.Uint64(b)
	if data%4096 != 0 || b[data-1] != ' ' {
		t.Errorf("elements begin at %d", data)
	}
	var order []string
	f := serializetest.Open(t, name)
	for e := range f.All() {
		order = append(order, e.Name)
	}
	if got := strings.Join(order, " "); got != "d w f a b" {
		t.Errorf("order %s", got)
	}
}

// TestMetadataThatNamesAnArray is no other name of it when it is read again.
func TestMetadataThatNamesAnArray(t *testing.T) {
	w := storage.From([]float32{1})
	entries := []serialize.Entry{{Name: "w", Array: w, Shared: "w"}, {Name: "tied", Array: w, Shared: "w"}, {Name: "note", Array: w, Shared: "w"}}
	for _, meta := range []map[string]string{{"note": "w"}, {"comment": "w", "format": "pt"}} {
		name := filepath.Join(t.TempDir(), "a.safetensors")
		all := serialize.Entries(entries...)
		if err := serialize.Save(name, "", serialize.Contents{Entries: all, Meta: meta}); err != nil {
			t.Fatal(err)
		}
		f := serializetest.Open(t, name)
		list, err := serialize.Collect(f)
		if err != nil || len(list) != 3 || !maps.Equal(f.Meta(), meta) {
			t.Errorf("%d arrays, metadata %q, want %q; %v", len(list), f.Meta(), meta, err)
		}
	}
}

// TestReservedNames are refused.
func TestReservedNames(t *testing.T) {
	for _, reserved := range []string{"__metadata__", "\xff"} {
		err := serialize.Save(filepath.Join(t.TempDir(), "a.safetensors"), "", serialize.Contents{
			Entries: serialize.Arrays(maps.All(map[string]storage.Array{reserved: storage.From([]float32{1})})),
		})
		if !errors.Is(err, storage.ErrState) {
			t.Errorf("%q is saved: %v", reserved, err)
		}
	}
}

// TestReferenceImplementationReadsWhatIsWritten, values and metadata.
func TestReferenceImplementationReadsWhatIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.safetensors")
	f := serializetest.Open(t, "testdata/types.safetensors")
	if err := serialize.Save(name, "", serialize.Contents{Entries: f.All(), Meta: map[string]string{"format": "pt", "a": "\"\n\x01ä"}}); err != nil {
		t.Fatal(err)
	}
	out := pythontest.Run(t, []string{"torch", "safetensors.torch"}, `
import sys, torch
from safetensors import safe_open
from safetensors.torch import load_file
a, b = load_file(sys.argv[1]), load_file(sys.argv[2])
assert a.keys() == b.keys(), (a.keys(), b.keys())
for k in a:
    assert a[k].dtype == b[k].dtype and a[k].shape == b[k].shape, k
    assert torch.equal(a[k].reshape(-1).view(torch.uint8), b[k].reshape(-1).view(torch.uint8)), k
print(len(b), sorted(safe_open(sys.argv[2], "pt").metadata().items()))
`, "testdata/types.safetensors", name)
	if want := "19 [('a', '\"\\n\\x01ä'), ('format', 'pt')]\n"; out != want {
		t.Errorf("Python reads %q, want %q", out, want)
	}
}

// TestManyAliases: names of one array take no quadratic time.
func TestManyAliases(t *testing.T) {
	const n = 200_000
	var meta, list strings.Builder
	for i := range n {
		fmt.Fprintf(&meta, `"alias %d":"w",`, i)
		fmt.Fprintf(&list, `\"alias %d\",`, i)
	}
	header := fmt.Sprintf(`{"__metadata__":{%s"h5dnn.aliases":"[%s]"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`, meta.String(), strings.TrimSuffix(list.String(), ","))
	b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	b = append(b, 0, 0, 0, 0)
	before := storagetest.CPUTime(t)
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	if all, err := serialize.Collect(f); err != nil || len(all) != n+1 {
		t.Errorf("%d arrays, %v", len(all), err)
	}
	if took := storagetest.CPUTime(t) - before; took > 10*time.Second { // 20,000,000,000 comparisons take a minute
		t.Errorf("%d aliases took %v of the processor", n, took)
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.safetensors", "testdata/attacks/*.safetensors")
	f.Fuzz(serializetest.FuzzTarget("safetensors"))
}

// FuzzHeader reads files of any header, whose length is right, and 64 bytes of elements.
func FuzzHeader(f *testing.F) {
	f.Add(`{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"b":{"dtype":"U8","shape":[40],"data_offsets":[24,64]}}`)
	f.Add(`{"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},"e":{"dtype":"I64","shape":[0,7],"data_offsets":[2,2]},"c":{"dtype":"BOOL","shape":[62],"data_offsets":[2,64]}}`)
	target := serializetest.FuzzTarget("safetensors")
	f.Fuzz(func(t *testing.T, header string) {
		b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		target(t, append(append(b, header...), make([]byte, 64)...))
	})
}

// TestSalvage cuts a file at every byte: exactly the arrays that are there whole are read, with
// their elements, and a file without its whole header is refused.
func TestSalvage(t *testing.T) {
	var entries []serialize.Entry
	for i := range 5 {
		x := make([]float32, 3*i)
		for k := range x {
			x[k] = float32(10*i + k)
		}
		entries = append(entries, serialize.Entry{Name: strconv.Itoa(i), Array: storage.From(x, 3, i)})
	}
	whole := filepath.Join(t.TempDir(), "whole.safetensors")
	if err := serialize.Save(whole, "safetensors", serialize.Contents{Entries: serialize.Entries(entries...)}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	header := 8 + int(binary.LittleEndian.Uint64(text))
	name := filepath.Join(t.TempDir(), "cut.safetensors")
	for size := header - 1; size < len(text); size++ {
		if err := os.WriteFile(name, text[:size], 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Salvage(name, "safetensors")
		if size < header {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("without its whole header: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		left := size - header
		for e, err := range f.All() {
			i, _ := strconv.Atoi(e.Name)
			left -= 4 * 3 * i
			if left < 0 {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("%d bytes: %s: %v; want an error", size, e.Name, err)
				}
				continue
			}
			got, err2 := storage.Read[float32](e.Array)
			want, _ := storage.Read[float32](entries[i].Array)
			if err != nil || err2 != nil || !slices.Equal(got, want) {
				t.Fatalf("%d bytes: %s is %v, %v, %v; want %v", size, e.Name, got, err, err2, want)
			}
		}
		f.Close()
	}
}
