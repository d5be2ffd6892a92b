package tfbundle_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/serialize/tfbundle"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Example reads a variable of TensorFlow 1.
func Example() {
	f, err := serialize.Open("testdata/v1.index")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, err := serialize.Find(f, "dense/kernel")
	if err != nil {
		fmt.Println(err)
		return
	}
	elements, err := storage.Read[float32](a)
	fmt.Println(a.Shape, elements, err)
	// Output: [2 3] [0 1 2 3 4 5] <nil>
}

// TestFilesOfTensorFlow compares what testdata/make.py wrote.
func TestFilesOfTensorFlow(t *testing.T) {
	f := serializetest.Open(t, "testdata/types.index")
	serializetest.CheckArrays(t, f, "model/", serializetest.Expected[map[string]serializetest.Values](t))
	for name, shape := range map[string][]int{"model/scalar": {}, "model/empty": {0, 3}} {
		if a, err := serialize.Find(f, name); err != nil || !slices.Equal(a.Shape, shape) {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if _, err := serialize.Lookup(f, "_CHECKPOINTABLE_OBJECT_GRAPH"); err == nil {
		t.Error("the graph of Python objects is listed")
	}
	e, err := serialize.Lookup(f, "model/text")
	if err != nil {
		t.Fatal(err)
	}
	if values, err := e.Elements.Values(e.Elements.View); err != nil || !reflect.DeepEqual(values, []any{"a", "größe"}) {
		t.Errorf("strings: %v, %v", values, err)
	}
}

// TestSlicesAreJoined: a partitioned variable is one array. Any view of it can be read.
func TestSlicesAreJoined(t *testing.T) {
	f := serializetest.Open(t, "testdata/slices.index")
	var got []string
	for e, err := range f.All() {
		if got = append(got, fmt.Sprint(e.Name, e.Shape())); err != nil {
			t.Fatal(err)
		}
		n := e.Array.Len()
		want, err := storage.Empty(e.Array.Type, e.Array.Shape...)
		if err != nil {
			t.Fatal(err)
		}
		count := make([]int32, n)
		for i := range count {
			count[i] = int32(i)
		}
		if err := storage.From(count, e.Array.Shape...).CopyTo(want); err != nil {
			t.Fatal(err)
		}
		same := func(what string, v views.View) {
			a, b := e.Array, want
			a.View, b.View = v, v
			if equal, err := blocks.Equal(t.Context(), a, b); !equal || err != nil {
				t.Errorf("%s%s: equal %v, %v", e.Name, what, equal, err)
			}
		}
		same("", want.View)
		transposed, err := want.View.Transpose()
		if err != nil {
			t.Fatal(err)
		}
		same(".T", transposed)
		last := len(want.Shape) - 1
		for axis, size := range want.Shape {
			part, err := want.View.Slice(axis, 1, size, max(1, size-2))
			if err != nil {
				t.Fatal(err)
			}
			same(fmt.Sprintf(", part of axis %d", axis), part)
			if part, err = part.Slice(last, 0, 1, 1); err != nil {
				t.Fatal(err)
			}
			same(fmt.Sprintf(", first column of part of axis %d", axis), part)
		}
	}
	if want := []string{"columns[2 3 5]", "rows[200 2]"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestTablesWithManyBlocks: names share beginnings, and blocks may be compressed.
func TestTablesWithManyBlocks(t *testing.T) {
	for _, name := range []string{"v1.index", "snappy.index"} {
		f := serializetest.Open(t, filepath.Join("testdata", name))
		for i := range 200 {
			a, err := serialize.Find(f, fmt.Sprintf("dense/with_a_long_name_%04d", i))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := storage.Read[int32](a); err != nil || !slices.Equal(got, []int32{int32(i)}) {
				t.Errorf("%s: variable %d is %v, %v", name, i, got, err)
			}
		}
	}
}

// TestOtherIndicesAreNotTaken: an index of shards ends in .index.json.
func TestOtherIndicesAreNotTaken(t *testing.T) {
	if f, err := serialize.ByExtension("model.index"); err != nil || f.Name != "tfbundle" {
		t.Errorf("%v, %v", f.Name, err)
	}
	if _, err := serialize.Detect(strings.NewReader(strings.Repeat("x", 100)), 100); err == nil {
		t.Error("a file without a footer is a table")
	}
}

func TestAttacks(t *testing.T) {
	reasons := map[string]string{
		"checksum_of_elements": "want 00000007", "beyond_file": "bytes 0 to 16 of 8", "offset_beyond_file": "bytes 4611686018427387904 to", "offset_overflows": "at offset 18446744073709551612",
		"size_differs": "takes 12 bytes, but there are 8", "huge_shape": "overflows", "negative_size": "negative size", "unknown_shard": "data file 5 of 1",
		"shard_missing": "shard_missing.data-00000-of-00001, which has the elements, is not beside the index", "unknown_type": "unknown (99)", "slices": "its slices are missing",
		"slices_with_a_gap": "its slices have 1 of its 2 elements; read them one by one as w/START:END", "slices_that_overlap": "its slices overlap",
		"slices_beyond_the_shape": "its slices do not fit its shape [3]", "slices_of_another_type": "its slices are not all arrays of float32",
		"many_strings": "1099511627776 strings in 8 bytes", "string_lengths": "the length of string 0", "name_twice": "comes after", "out_of_order": `"w" comes after "x"`,
		"no_header": "no header", "saver_of_v1": "the format of TensorFlow before 0.12 (V1), which is not read; restore it and save it", "many_shards": "1099511627776 data files", "restarts": "restarts", "shared_key": "an entry of 5+1", "long_value": "an entry of 0+1 and 2097151 bytes",
		"damaged_block": "block at 0: checksum", "handle_outside": "a block of 9 bytes at 1099511627776", "compression": "compression 9", "snappy_bomb": "a block of 134217728 bytes",
		"block_twice": "begins before the end of another", "blocks_backwards": "block at 0 begins before the end of another", "two_headers": "two headers",
		"same_elements": `the elements of "w" overlap those of "v"`, "overlap": `the elements of "w" overlap those of "v"`,
	}
	for name, reason := range reasons {
		serializetest.TestAttack(t, "tfbundle", filepath.Join("testdata/attacks", name+".index"), reason)
	}
	files, err := filepath.Glob("testdata/attacks/*.index")
	if err != nil || len(files) != len(reasons) {
		t.Errorf("%d attacks and %d reasons, %v", len(files), len(reasons), err)
	}
}

// TestNamesFitTheBudget: keys share beginnings, so that some KiB of an index can have GiB of
// names.
func TestNamesFitTheBudget(t *testing.T) {
	b := tfbundle.LongNames(60_000, 1000)
	before := serializetest.Allocated()
	_, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "long.index", serialize.Options{Budget: storage.NewBudget(1 << 20)})
	if used := serializetest.Allocated() - before; !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "names: ") || used > 8<<20 {
		t.Errorf("60 MB of names in %d bytes: %v, after %d bytes of memory", len(b), err, used)
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.index", "testdata/attacks/*.index")
	tfbundle.WithoutChecksums(f)
	f.Fuzz(serializetest.FuzzTarget("tfbundle", "testdata"))
}
