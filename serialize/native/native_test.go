package native_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/native"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func TestFormat(t *testing.T) {
	serializetest.TestFormat(t, "native", "", "a/b", "\"quoted\"\n\t\x01", "../x")
}

// Example saves an array and its transpose, which are stored once.
func Example() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "model.h5dn")
	weight := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	turned, _ := weight.Transpose()
	err := serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		_ = yield(serialize.Entry{Name: "encoder.weight", Array: weight, Shared: "w"}, nil) &&
			yield(serialize.Entry{Name: "decoder.weight", Array: weight.With(turned), Shared: "w"}, nil)
	}})
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
	for e, err := range f.All() {
		fmt.Println(e.Name, e.Array.Type, e.Array.Shape, e.Array.Stride, "storage", e.Shared, err)
	}
	// Output:
	// encoder.weight float32 [2 3] [3 1] storage 0 <nil>
	// decoder.weight float32 [3 2] [1 3] storage 0 <nil>
}

// TestFilesOfAnotherImplementation are read: testdata/native.py wrote them from the
// specification.
func TestFilesOfAnotherImplementation(t *testing.T) {
	f := serializetest.Open(t, "testdata/views.h5dn")
	for name, want := range map[string]string{
		"row-major": "[0 1 2 3 4 5]", "transposed": "[0 3 1 4 2 5]", "column": "[1 4]", "broadcast": "[0 1 2 0 1 2 0 1 2 0 1 2]",
		"größe": "[-7]", "empty": "[]",
	} {
		e, err := serialize.Lookup(f, name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := storage.Read[float64](e.Array); err != nil || fmt.Sprint(got) != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
	if e, err := serialize.Lookup(f, "four bits"); !errors.Is(err, dtype.ErrType) || e.Elements == nil || e.Elements.Type != "uint4" {
		t.Errorf("four bits: %+v, %v", e, err)
	}
	e, _ := serialize.Lookup(f, "größe")
	if e.Attrs["unit"] != "m/s" || fmt.Sprint(e.Attrs["axes"]) != "[x y]" || !maps.Equal(f.Meta(), map[string]string{"epoch": "3"}) {
		t.Errorf("attributes %v, metadata %v", e.Attrs, f.Meta())
	}
}

// TestAnotherImplementationReadsWhatIsWritten, to the byte: it writes the header again.
func TestAnotherImplementationReadsWhatIsWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.h5dn")
	if err := os.WriteFile(name, sample(t), 0o666); err != nil {
		t.Fatal(err)
	}
	out := pythontest.Run(t, []string{"json"}, `
import sys
sys.argv, path = ["native.py", "read", sys.argv[2]], sys.argv[1]
exec(open(path).read())
`, "testdata/native.py", name)
	f := serializetest.Open(t, name)
	want := "{\"epoch\": \"3\", \"note\": \"\\\"\\n\\u0001\\u00e4\"}\n"
	for e, err := range f.All() {
		var b bytes.Buffer
		if _, err2 := e.Array.WriteTo(&b); errors.Join(err, err2) != nil {
			t.Fatal(err, err2)
		}
		want += fmt.Sprintf("%s %v %s %x\n", e.Name, e.Array.Type, strings.ReplaceAll(fmt.Sprint(e.Array.Shape), " ", ", "), b.Bytes())
	}
	if out != want {
		t.Errorf("Python reads\n%s, want\n%s", out, want)
	}
}

// sample returns a file of several types, sizes and views.
func sample(t *testing.T) []byte {
	t.Helper()
	big := storage.From(make([]float32, 1<<14+1), 1<<14+1)
	for i := range storage.Elements[float32](big) {
		storage.Elements[float32](big)[i] = float32(i)
	}
	small := storage.From([]int64{1, -2, 3, -4, 5, -6}, 3, 2)
	turned, err := small.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = serialize.Write(&b, "native", serialize.Contents{Meta: map[string]string{"epoch": "3", "note": "\"\n\x01ä"}, Entries: func(yield func(serialize.Entry, error) bool) {
		_ = yield(serialize.Entry{Name: "small", Array: small, Shared: "s"}, nil) &&
			yield(serialize.Entry{Name: "big", Array: big}, nil) &&
			yield(serialize.Entry{Name: "turned", Array: small.With(turned), Shared: "s"}, nil) &&
			yield(serialize.Entry{Name: "scalar", Array: storage.From([]uint8{9})}, nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAttacks(t *testing.T) {
	serializetest.TestAttacks(t, "native", "testdata/attacks", map[string]string{
		"reaches_outside": "reach outside of 6 elements", "offset_outside": "reach outside", "strides_outside": "reach outside",
		"negative_stride": "want an integer that is not negative", "strides_missing": "1 strides for a shape of 2 axes",
		"huge_shape": "shape", "shape_bomb": "beyond the limit", "huge_stride": "reach outside", "no_such_storage": "storage 1 of 1",
		"unknown_dtype": `unknown elements "float31"`, "partial_element": "not a whole number of elements", "storage_beyond_end": "reaches outside of the file",
		"storage_offset_overflow": "reaches outside of the file", "storage_misaligned": "not a multiple of 64", "unknown_key": `unknown key "compression"`,
		"overlap": "before the end of the one before it", "backwards": "before the end of the one before it", "name_twice": `key "w" twice`,
		"long_name": "a name of 5000 bytes", "metadata_number": "invalid JSON", "no_tensors": "are missing", "deep": "invalid JSON",
		"version": "version 2", "alignment": "alignment 96", "header_of_exabytes": "at most 100000000", "truncated": "h5dnn repair saves its intact arrays",
		"truncated_header": "truncated", "truncated_preamble": "unexpected EOF", "trailing_bytes": "1 bytes after the end",
		"damaged_preamble": "preamble: checksum", "damaged_header": "header: checksum", "damaged_elements": "storage 0 (w): checksum",
		"damaged_checksum": "storage 0 (w): checksum", "damaged_end": "end marker", "line_ends": "does not begin",
	})
}

// TestTruncatedFilesGiveBackWhatIsWhole: cut anywhere, a file is never opened as if it were
// whole, and what is salvaged from it is as it was written.
func TestTruncatedFilesGiveBackWhatIsWhole(t *testing.T) {
	whole := sample(t)
	want := map[string][]byte{}
	open, err := serialize.OpenReader(bytes.NewReader(whole), int64(len(whole)), "whole", serialize.Options{Format: "native"})
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range open.All() {
		var b bytes.Buffer
		if _, err2 := e.Array.WriteTo(&b); errors.Join(err, err2) != nil {
			t.Fatal(err, err2)
		}
		want[e.Name] = b.Bytes()
	}
	format, err := serialize.ByName("native")
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for n := range whole {
		if n > 1000 && n < len(whole)-600 && n%997 != 0 {
			continue
		}
		cut := whole[:n]
		if f, err := serialize.OpenReader(bytes.NewReader(cut), int64(n), "cut", serialize.Options{Format: "native"}); err == nil {
			f.Close()
			t.Fatalf("opened with %d of %d bytes", n, len(whole))
		}
		f, err := format.Salvage(serialize.Input{ReaderAt: bytes.NewReader(cut), Size: int64(n), Name: "cut"})
		if err != nil {
			if most > 0 {
				t.Errorf("%d bytes: %v, but %d arrays are intact", n, err, most)
			}
			continue
		}
		salvaged := 0
		for e, err := range f.All() {
			if err != nil {
				continue
			}
			var b bytes.Buffer
			if _, err := e.Array.WriteTo(&b); err != nil || !bytes.Equal(b.Bytes(), want[e.Name]) {
				t.Errorf("%d bytes: %s differs: %v", n, e.Name, err)
			}
			salvaged++
		}
		if salvaged < most {
			t.Errorf("%d bytes: %d arrays are salvaged, and %d of fewer bytes", n, salvaged, most)
		}
		most = max(most, salvaged)
		f.Close()
	}
	if most != len(want) {
		t.Errorf("at most %d of %d arrays were salvaged", most, len(want))
	}
}

// TestEveryBitCounts: a change of any byte is found by opening or verifying the file.
func TestEveryBitCounts(t *testing.T) {
	whole := sample(t)
	for i := range whole {
		if i > 600 && i < len(whole)-600 && i%101 != 0 {
			continue
		}
		damaged := slices.Clone(whole)
		damaged[i] ^= 1 << (i % 8)
		f, err := serialize.OpenReader(bytes.NewReader(damaged), int64(len(damaged)), "damaged", serialize.Options{Format: "native"})
		if err != nil {
			continue
		}
		for _, e := range f.(serialize.Verifier).Verify(context.Background()) {
			err = errors.Join(err, e)
		}
		if !errors.Is(err, serialize.ErrChecksum) {
			t.Errorf("byte %d of %d changed: %v", i, len(whole), err)
		}
		f.Close()
	}
	f, err := serialize.OpenReader(bytes.NewReader(whole), int64(len(whole)), "whole")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, err := range f.(serialize.Verifier).Verify(context.Background()) {
		if names = append(names, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "big scalar small turned" {
		t.Errorf("verified %s", got)
	}
}

// TestStoragesAreAligned to pages, or to 64 bytes if they are small.
func TestStoragesAreAligned(t *testing.T) {
	b := sample(t)
	at := bytes.Index(b, []byte("\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40")) - 4 // 0, 1, 2, 3
	if at%4096 != 0 || at < 0 {
		t.Errorf("the large array begins at %d", at)
	}
	if at := bytes.Index(b, []byte("\x01\x00\x00\x00\x00\x00\x00\x00\xfe")); at%64 != 0 || at < 0 {
		t.Errorf("the small array begins at %d", at)
	}
}

// TestNamesAndMetadataMustBeText that JSON has.
func TestNamesAndMetadataMustBeText(t *testing.T) {
	w := storage.Array{Data: storage.Wrap(make([]byte, 4)), Type: dtype.Float32, View: views.Of(1)}
	for what, c := range map[string]serialize.Contents{
		"name":      {Entries: serialize.Arrays(maps.All(map[string]storage.Array{"\xff": w}))},
		"long name": {Entries: serialize.Arrays(maps.All(map[string]storage.Array{strings.Repeat("n", 5000): w}))},
		"metadata":  {Entries: serialize.Arrays(maps.All(map[string]storage.Array{"w": w})), Meta: map[string]string{"a": "\xff"}},
	} {
		if err := serialize.Write(io.Discard, "native", c); !errors.Is(err, storage.ErrState) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.h5dn", "testdata/attacks/*.h5dn")
	f.Fuzz(serializetest.FuzzTarget("native"))
}

// FuzzHeader puts headers into files whose checksums are right.
func FuzzHeader(f *testing.F) {
	f.Add([]byte(`{"metadata":{},"storages":[{"dtype":"float32","offset":0,"nbytes":24}],"tensors":{"w":{"storage":0,"shape":[2,3],"strides":[1,2],"offset":0,"attributes":{"a":"b","c":["d"],"e":{"dtype":"uint8","shape":[1],"elements":"AA=="}}}}}`))
	target := serializetest.FuzzTarget("native")
	f.Fuzz(func(t *testing.T, header []byte) { target(t, native.FileOf(header, make([]byte, 256))) })
}
