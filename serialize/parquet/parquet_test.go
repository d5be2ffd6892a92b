package parquet_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/parquet"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Example reads a column of a table.
func Example() {
	f, err := serialize.Open("testdata/snappy.parquet")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	a, err := serialize.Find(f, "int16")
	if err != nil {
		fmt.Println(err)
		return
	}
	elements, err := storage.Read[int16](a)
	fmt.Println(a.Type, a.Shape, elements[:5], err, f.Meta()["author"])
	// Output: int16 [40] [0 7 14 21 5] <nil> größe
}

// TestFilesOfPyarrow: every compression, dictionaries or not, both versions of pages.
func TestFilesOfPyarrow(t *testing.T) {
	for _, name := range []string{"none", "snappy", "gzip", "zstd", "lz4", "plain", "version2"} {
		serializetest.TestTable(t, filepath.Join("testdata", name+".parquet"))
	}
}

// TestEncodings of version 2 of the format, and integers and bools some of which are missing.
func TestEncodings(t *testing.T) {
	text, err := os.ReadFile("testdata/encodings.json")
	if err != nil {
		t.Fatal(err)
	}
	var want map[string][]any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	f := serializetest.Open(t, "testdata/encodings.parquet")
	if len(want) != 11 {
		t.Errorf("%d columns", len(want))
	}
	serializetest.CheckColumns(t, "encodings.parquet", f, want)
}

// TestOldTimes are those of Spark and Hive: 12 bytes.
func TestOldTimes(t *testing.T) {
	f := serializetest.Open(t, "testdata/int96.parquet")
	e, err := serialize.Lookup(f, "int96")
	if err != nil || e.Attrs["numpy.descr"] != "<M8[ns]" {
		t.Fatalf("%v, %v", e.Attrs, err)
	}
	if got, err := storage.Read[int64](e.Array); err != nil || !slices.Equal(got, []int64{1, math.MinInt64, -1e18}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestCompressionsThatAreNotRead are errors before any element is read, so that the other
// columns are converted.
func TestCompressionsThatAreNotRead(t *testing.T) {
	f := serializetest.Open(t, "testdata/brotli.parquet")
	e, err := serialize.Lookup(f, "x")
	if !errors.Is(err, dtype.ErrType) || !strings.Contains(err.Error(), "BROTLI") || !slices.Equal(e.Shape(), []int{2}) {
		t.Errorf("%v, %v", e.Shape(), err)
	}
}

// TestListsAndStructs: members of structs are columns, lists of one length arrays of two axes,
// and others values and offsets.
func TestListsAndStructs(t *testing.T) {
	for _, name := range []string{"nested1.parquet", "nested2.parquet"} {
		serializetest.TestNested(t, "../internal/column/testdata/"+name, "../internal/column/testdata/nested.json")
	}
}

// TestRepeatedNames: each column of a name is there.
func TestRepeatedNames(t *testing.T) {
	serializetest.TestRepeatedNames(t, "../internal/column/testdata/repeated.parquet", "parquet")
}

// TestColumnsOfOtherTypes: those after them are right.
func TestColumnsOfOtherTypes(t *testing.T) {
	f := serializetest.Open(t, "testdata/odd.parquet")
	for name, want := range map[string][]int64{"x": {1, 2}, "time": {1, 2}, "struct.a": {1, 3}, "list/offsets": {0, 2, 3}} {
		a, err := serialize.Find(f, name)
		if got, wrong := storage.Read[int64](a); err != nil || wrong != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v, %v", name, got, err, wrong)
		}
	}
	a, err := serialize.Find(f, "integer gaps")
	if got, wrong := storage.Read[float64](a); err != nil || wrong != nil || a.Type != dtype.Float64 || len(got) != 2 || got[0] != 1 || math.Float64bits(got[1]) != 0x7ff8<<48 {
		t.Errorf("missing integers: %v %v, %v, %v", a.Type, got, err, wrong)
	}
}

// TestTablesAreWritten and read again, here and by pyarrow.
func TestTablesAreWritten(t *testing.T) {
	b := serializetest.Rewritten(t, "testdata/none.parquet", "parquet", map[string]string{"author": "größe"})
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "table.parquet")
	if err != nil {
		t.Fatal(err)
	}
	serializetest.CheckTable(t, "written", f)
	if f.Meta()["author"] != "größe" {
		t.Errorf("metadata %q", f.Meta())
	}
	name := filepath.Join(t.TempDir(), "table.parquet")
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	const script = `
import json, math, sys
import pyarrow.parquet as pq
table, want = pq.read_table(sys.argv[1]), json.load(open(sys.argv[2]))
assert table.schema.metadata[b"author"].decode() == "größe", table.schema.metadata
for name, values in want.items():
    got = table[name].to_pylist()
    for a, b in zip(got, values, strict=True):
        assert a == b or b is None and (a == "" or math.isnan(a)), (name, a, b)
    if name in ("float32", "float64", "bool"): name = {"float32": "float", "float64": "double"}.get(name, name)
    assert " " in name or name == "größe" or name == "gaps" or str(table.schema.field({"float": "float32", "double": "float64"}.get(name, name)).type) == name, table.schema
print("read", table.num_rows)
`
	if got := pythontest.Run(t, []string{"pyarrow"}, script, name, "testdata/expected.json"); got != "read 40\n" {
		t.Errorf("pyarrow prints %q", got)
	}
}

// TestContentsThatAreNoTable are errors.
func TestContentsThatAreNoTable(t *testing.T) {
	for name, list := range map[string][]storage.Array{
		"two axes": {storage.From([]int32{1, 2}, 1, 2)}, "no axes": {storage.From([]int32{1})}, "lengths": {storage.From([]int32{1, 2}, 2), storage.From([]int32{1}, 1)},
		"type": {storage.From([]complex64{1}, 1)}, "none": {},
	} {
		err := serialize.Write(new(bytes.Buffer), "parquet", serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
			for i, a := range list {
				if !yield(fmt.Sprint(i), a) {
					return
				}
			}
		})})
		if !errors.Is(err, views.ErrShape) && !errors.Is(err, dtype.ErrType) && !errors.Is(err, storage.ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDamagedFilesAreErrorsOrData(t *testing.T) {
	serializetest.TestDamage(t, "parquet", "testdata/none.parquet", "testdata/snappy.parquet", "testdata/plain.parquet")
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.parquet")
	f.Fuzz(serializetest.FuzzTarget("parquet"))
}

// TestTimesAreInt64: dates, timestamps, durations and times of the day are int64 with the
// type that NumPy has for them, and missing ones NaT.
func TestTimesAreInt64(t *testing.T) {
	const missing = math.MinInt64
	for _, file := range []string{"times.parquet"} {
		f := serializetest.Open(t, "testdata/"+file)
		for name, want := range map[string]struct {
			descr string
			elems []int64
		}{
			"date32": {"<M8[D]", []int64{1, missing, -3}}, "s": {"<M8[ms]", []int64{1000, missing, -3000}}, "ms": {"<M8[ms]", []int64{1, missing, -3}},
			"us": {"<M8[us]", []int64{1, missing, -3}}, "ns": {"<M8[ns]", []int64{1, missing, -3}}, "time s": {"<m8[ms]", []int64{1000, missing, 3 * 1000}},
			"time ms": {"<m8[ms]", []int64{1, missing, 3}}, "time us": {"<m8[us]", []int64{1, missing, 3}}, "time ns": {"<m8[ns]", []int64{1, missing, 3}},
		} {
			e, err := serialize.Lookup(f, name)
			if err != nil {
				t.Error(err)
				continue
			}
			elems, err := storage.Read[int64](e.Array)
			if err != nil || e.Array.Type != dtype.Int64 || !slices.Equal(elems, want.elems) || e.Attrs["numpy.descr"] != want.descr {
				t.Errorf("%s: %s: %v %v of %v, %v; want %v of %s", file, name, e.Array.Type, elems, e.Attrs, err, want.elems, want.descr)
			}
		}
		for _, name := range []string{"words"} {
			e, err := serialize.Lookup(f, name)
			if err != nil {
				t.Error(err)
				continue
			}
			got, err := e.Elements.Values(e.Elements.View)
			if want := []any{"a string of more than twelve bytes", "", "größe"}; err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %s: %q, %v; want %q", file, name, got, err, want)
			}
		}
	}
}

// TestDecimalsAreStrings of their digits, with the point: as integers, as bytes, and in the files of
// DuckDB, by a dictionary or as differences, and with missing ones.
func TestDecimalsAreStrings(t *testing.T) {
	for _, test := range []struct {
		file, name string
		want       []any
	}{
		{"decimal", "small decimal", []any{"1.25", "2.50"}},
		{"odd", "decimal", []any{"1.00", "2.00"}},
		{"duckdb", "dec9", []any{"-0.25", "", "12.00", "-0.25"}},
		{"duckdb", "dec18", []any{"-0.250", "", "123456789012345.678", "-0.250"}},
		{"duckdb_deltas", "dec9", []any{"-0.25", "", "12.00", "-0.25"}},
		{"duckdb_deltas", "dec18", []any{"-0.250", "", "123456789012345.678", "-0.250"}},
		{"duckdb", "dec38", []any{"-1", "", "12345678901234567890123456789012345678", "-1"}},
	} {
		f := serializetest.Open(t, "testdata/"+test.file+".parquet")
		e, err := serialize.Lookup(f, test.name)
		if err != nil || e.Elements == nil {
			t.Errorf("%s: %v, %v", test.name, e, err)
			continue
		}
		if got, err := e.Elements.Values(e.Elements.View); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v; want %q", test.name, got, err, test.want)
		}
	}
}
