package gguf_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/gguf"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

// Example opens a model with quantized weights.
func Example() {
	f, err := serialize.Open("testdata/types.gguf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	e, err := serialize.Lookup(f, "q4_0")
	fmt.Println(e.Array.Type, e.Array.Shape, err, f.Meta()["general.architecture"], f.Meta()["a.tokens"])
	// Output: float32 [3 64] <nil> llama ["<s>", "a\"b", "ü"]
}

// TestFilesOfLlamaCpp compares what testdata/make.py wrote with the values of its library.
func TestFilesOfLlamaCpp(t *testing.T) {
	for name, arrays := range serializetest.Expected[map[string]map[string]serializetest.Values](t) {
		f := serializetest.Open(t, filepath.Join("testdata", name))
		serializetest.CheckArrays(t, f, "", arrays)
		for key, want := range map[string]string{
			"a.uint32": "4294967295", "a.int8": "-5", "a.float32": "0.1", "a.bool": "true", "a.text": "größe", "a.scores": "[0.5, -1]",
			"a.uint64": "18446744073709551615", "a.float64": "1e+300", "a.uint16": "65535",
		} {
			if got := f.Meta()[key]; got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
	}
}

// TestViewsOfQuantizedElements reads any part of them, mapped or not.
func TestViewsOfQuantizedElements(t *testing.T) {
	mapped := serializetest.Open(t, "testdata/types.gguf")
	b, err := os.Open("testdata/types.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	info, _ := b.Stat()
	read, err := serialize.OpenReader(b, info.Size(), "types.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	for _, f := range []serialize.File{mapped, read} {
		for _, name := range []string{"q8_0", "q4_0", "bfloat16"} {
			a, err := serialize.Find(f, name)
			if err != nil {
				t.Fatal(err)
			}
			whole, err := a.To(storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			storagetest.TestSource(t, a, whole)
		}
	}
	if e, err := serialize.Lookup(mapped, "iq1_s"); !errors.Is(err, dtype.ErrType) || e.Elements == nil || e.Elements.Type != "IQ1_S" {
		t.Errorf("IQ1_S: %v, %v", e, err)
	}
}

// TestQuantizedTypes compares random blocks with what the library of llama.cpp makes of them.
func TestQuantizedTypes(t *testing.T) {
	f, n := serializetest.Open(t, "testdata/quantized.gguf"), 0
	for e, err := range f.All() {
		if err != nil {
			t.Errorf("%s: %v", e.Name, err)
			continue
		}
		name, isWanted := strings.CutSuffix(e.Name, ".want")
		if !isWanted {
			continue
		}
		n++
		a, err := serialize.Find(f, name)
		if err != nil || a.Type != dtype.Float32 || !slices.Equal(a.Shape, e.Array.Shape) {
			t.Errorf("%s: %v, %v; want %v", name, a, err, e.Array)
		} else if !bytes.Equal(serializetest.Bytes(t, a), serializetest.Bytes(t, e.Array)) {
			t.Errorf("%s differs from what the library of llama.cpp reads", name)
		}
		column, err := a.Slice(1, 250, 300, 7)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(serializetest.Bytes(t, a.With(column)), serializetest.Bytes(t, e.Array.With(column))) {
			t.Errorf("%s: a part differs", name)
		}
	}
	if n != 13 {
		t.Errorf("%d types, want 13", n)
	}
}

func TestAttacks(t *testing.T) {
	serializetest.TestAttacks(t, "gguf", "testdata/attacks", map[string]string{
		"many_tensors": "1099511627776 tensors", "many_values": "1152921504606846976 values", "long_name": "4611686018427387904 bytes are declared",
		"beyond_file": "4000 bytes at offset", "offset_beyond_file": "is at offset 1099511627776", "offset_overflows": "is at offset 18446744073709551584",
		"offset_unaligned": "not a multiple of 32", "huge_shape": "overflows", "negative_size": "a size of 18446744073709551615", "many_axes": "100 axes",
		"row_of_half_a_block": "rows are of 32 elements each", "name_twice": "duplicate name", "unknown_type": "unknown (999)", "unknown_value": "a value of type 77",
		"value_twice": `duplicate key "k"`, "nested_arrays": "nested more than 4 deep", "long_array": "are declared and 0 are left", "alignment": `"3", which is not a power of two`,
		"same_elements": `the elements of "w" overlap those of "v"`, "overlap": `the elements of "w" overlap those of "v"`,
		"alignment_0": `"0", which is not a power of two`, "version_1": "version 1 of GGUF", "truncated": "bytes are declared",
	})
}

// TestNameTwice: no array of a duplicate name is read, and the others are.
func TestNameTwice(t *testing.T) {
	f := serializetest.Open(t, "testdata/attacks/name_twice.gguf")
	if a, err := serialize.Find(f, "w"); err == nil || !strings.Contains(err.Error(), "duplicate name") {
		t.Errorf("w: %v, %v", a, err)
	}
	if a, err := serialize.Find(f, "other"); err != nil || a.Len() != 4 {
		t.Errorf("other: %v, %v", a, err)
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.gguf", "testdata/attacks/*.gguf")
	f.Fuzz(serializetest.FuzzTarget("gguf"))
}
