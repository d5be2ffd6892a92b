package arrow_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/arrow"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Example reads a column of a table.
func Example() {
	f, err := serialize.Open("testdata/zstd.feather")
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

// TestFilesOfPyarrow: files and streams, one batch and several, both compressions, nulls,
// dictionaries, and messages as they were before version 0.15.
func TestFilesOfPyarrow(t *testing.T) {
	for _, name := range []string{"one.arrow", "batches.arrow", "lz4.arrow", "zstd.feather", "stream.arrows", "legacy.arrow"} {
		serializetest.TestTable(t, filepath.Join("testdata", name))
	}
}

// TestDictionariesChange: a stream adds to a dictionary, and replaces it.
func TestDictionariesChange(t *testing.T) {
	f := serializetest.Open(t, "testdata/deltas.arrows")
	e, err := serialize.Lookup(f, "words")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Elements.Values(e.Elements.View); err != nil || fmt.Sprint(got) != "[b a c a x x]" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestColumnsThatAreNotRead are listed with the name of their type, and those after them
// are right.
func TestColumnsThatAreNotRead(t *testing.T) {
	f := serializetest.Open(t, "testdata/odd.arrow")
	for name, typ := range map[string]string{
		"fixed": "fixed_size_binary", "sparse": "union", "dense": "union", "runs": "run_end_encoded", "list view": "list_view",
	} {
		e, err := serialize.Lookup(f, name)
		if !errors.Is(err, dtype.ErrType) || !strings.Contains(err.Error(), "type "+typ+" ") || !slices.Equal(e.Shape(), []int{2}) {
			t.Errorf("%s: %v, %v", name, e.Shape(), err)
		}
	}
	serializetest.CheckColumns(t, "odd.arrow", f, map[string][]any{"null": {nil, nil}, "binary": {"x", "y"}, "dictionary of binary": {"x", "y"}})
	e, err := serialize.Lookup(f, "decimal")
	if err != nil || e.Elements == nil {
		t.Fatalf("decimal: %v, %v", e, err)
	}
	if got, err := e.Elements.Values(e.Elements.View); err != nil || !slices.Equal(got, []any{"1.00", "2.00"}) {
		t.Errorf("decimal: %q, %v", got, err)
	}
	a, err := serialize.Find(f, "x")
	if got, wrong := storage.Read[int64](a); err != nil || wrong != nil || !slices.Equal(got, []int64{1, 2}) {
		t.Errorf("x: %v, %v, %v", got, err, wrong)
	}
	a, err = serialize.Find(f, "integer gaps")
	if got, wrong := storage.Read[float64](a); err != nil || wrong != nil || a.Type != dtype.Float64 || len(got) != 2 || got[0] != 1 || math.Float64bits(got[1]) != 0x7ff8<<48 {
		t.Errorf("missing integers: %v %v, %v, %v", a.Type, got, err, wrong)
	}
}

// TestListsAndStructs: members of structs are columns, lists of one length arrays of two axes,
// and others values and offsets.
func TestListsAndStructs(t *testing.T) {
	for _, table := range []string{"nested", "hidden"} {
		for _, extension := range []string{".feather", "_zstd.feather", ".arrows"} {
			serializetest.TestNested(t, "../internal/column/testdata/"+table+extension, "../internal/column/testdata/"+table+".json")
		}
	}
}

// TestRepeatedNames: each column of a name is there.
func TestRepeatedNames(t *testing.T) {
	serializetest.TestRepeatedNames(t, "../internal/column/testdata/repeated.feather", "arrow")
	serializetest.TestRepeatedNames(t, "../internal/column/testdata/repeated.arrows", "arrow-stream")
}

// TestTablesAreWritten and read again, here and by pyarrow, as files and as streams.
func TestTablesAreWritten(t *testing.T) {
	for format, extension := range map[string]string{"arrow": ".arrow", "arrow-stream": ".arrows"} {
		b := serializetest.Rewritten(t, "testdata/batches.arrow", format, map[string]string{"author": "größe"})
		f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "table")
		if err != nil {
			t.Fatal(err)
		}
		serializetest.CheckTable(t, "written", f)
		if f.Meta()["author"] != "größe" {
			t.Errorf("metadata %q", f.Meta())
		}
		t.Run(format, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "table"+extension)
			if err := os.WriteFile(name, b, 0o666); err != nil {
				t.Fatal(err)
			}
			const script = `
import json, math, sys
import pyarrow as pa
source = pa.memory_map(sys.argv[1])
reader = pa.ipc.open_file(source) if sys.argv[1].endswith(".arrow") else pa.ipc.open_stream(source)
table, want = reader.read_all(), json.load(open(sys.argv[2]))
table.validate(full=True)
assert table.schema.metadata[b"author"].decode() == "größe", table.schema.metadata
names = {"float16": "halffloat", "float32": "float", "float64": "double"}
for name, values in want.items():
    got = table[name].to_pylist()
    for a, b in zip(got, values, strict=True):
        assert a == b or b is None and (a == "" or math.isnan(a)), (name, a, b)
    typ = str(table.schema.field(name).type)
    if "int" in name or "float" in name or name == "bool":
        assert typ == names.get(name, name), table.schema
    for chunk in table[name].chunks:
        assert all(b is None or b.address % 64 == 0 for b in chunk.buffers()), name
print("read", table.num_rows)
`
			if got := pythontest.Run(t, []string{"pyarrow"}, script, name, "testdata/expected.json"); got != "read 40\n" {
				t.Errorf("pyarrow prints %q", got)
			}
		})
	}
}

// TestManyRows: strings in several batches, and bools that end within a byte.
func TestManyRows(t *testing.T) {
	const n = 150_001
	bools, words := make([]uint8, n), make([]any, n)
	for i := range n {
		bools[i] = uint8(i % 3 & 1)
		words[i] = fmt.Sprint(i % 1000)
	}
	v := views.Of(n)
	list := []serialize.Entry{
		{Name: "b", Array: storage.Array{Data: storage.Wrap(bools), Type: dtype.Bool, View: v}},
		{Name: "s", Elements: &serialize.Elements{View: v, Type: "string", Values: func(v views.View) (out []any, err error) {
			for at := range v.Positions() {
				out = append(out, words[at])
			}
			return out, nil
		}}},
	}
	name := filepath.Join(t.TempDir(), "rows.feather")
	err := serialize.Save(name, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		_ = yield(list[0], nil) && yield(list[1], nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	f := serializetest.Open(t, name)
	a, err := serialize.Find(f, "b")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[uint8](a); err != nil || !slices.Equal(got, bools) {
		t.Errorf("bools differ: %v", err)
	}
	e, err := serialize.Lookup(f, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := e.Elements.Values(e.Elements.View); err != nil || !slices.Equal(got, words) {
		t.Errorf("strings differ: %v", err)
	}
}

// TestContentsThatAreNoTable are errors.
func TestContentsThatAreNoTable(t *testing.T) {
	for name, list := range map[string][]storage.Array{
		"two axes": {storage.From([]int32{1, 2}, 1, 2)}, "no axes": {storage.From([]int32{1})}, "lengths": {storage.From([]int32{1, 2}, 2), storage.From([]int32{1}, 1)},
		"type": {storage.From([]complex64{1}, 1)}, "none": {},
	} {
		err := serialize.Write(new(bytes.Buffer), "arrow", serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
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

// TestAttacks changes one thing in a file each.
func TestAttacks(t *testing.T) {
	meta := map[string]string{"author": "größe"}
	file, stream := serializetest.Rewritten(t, "testdata/one.arrow", "arrow", meta), serializetest.Rewritten(t, "testdata/one.arrow", "arrow-stream", meta)
	zstd, err := os.ReadFile("testdata/zstd.feather")
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	// bodyOf returns where the body of the message at a position begins, and its size.
	end := func(b []byte, at int) int { return at + 8 + int(le.Uint32(b[at+4:])) }
	batch := end(stream, 0) // the record batch follows the schema, which has no body
	body := end(stream, batch)
	rows := func(b []byte, from, to uint64) { // replaces an integer of the metadata of the batch
		old := le.AppendUint64(nil, from)
		at := bytes.Index(b[batch:body], old)
		if at < 0 {
			t.Fatal("no such integer")
		}
		le.PutUint64(b[batch+at:], to)
	}
	footer := len(file) - 10 - int(le.Uint32(file[len(file)-10:]))
	attacks := []struct {
		name, format, reason string
		b                    []byte
		change               func(b []byte) []byte
	}{
		{"truncated", "arrow", "may be truncated", file, func(b []byte) []byte { return b[:len(b)-100] }},
		{"truncated stream", "arrow-stream", "may be truncated", stream, func(b []byte) []byte { return b[:body+10] }},
		{"large footer", "arrow", "may be truncated", file, func(b []byte) []byte { le.PutUint32(b[len(b)-10:], 1<<31); return b }},
		{"empty footer", "arrow", "the metadata are damaged", file, func(b []byte) []byte { le.PutUint32(b[len(b)-10:], 0); return b }},
		{"large message", "arrow-stream", "may be truncated", stream, func(b []byte) []byte { le.PutUint32(b[batch+4:], 1<<31); return b }},
		{"root outside", "arrow-stream", "the metadata are damaged", stream, func(b []byte) []byte { le.PutUint32(b[8:], 1<<31); return b }},
		{"root outside of the footer", "arrow", "the metadata are damaged", file, func(b []byte) []byte { le.PutUint32(b[footer:], 1<<31); return b }},
		{"no schema", "arrow-stream", "instead of a schema", stream, func(b []byte) []byte { return b[batch:] }},
		{"two schemas", "arrow-stream", "kind 1", stream, func(b []byte) []byte { return append(b[:batch:batch], b...) }},
		{"many rows", "arrow-stream", "in a batch of", stream, func(b []byte) []byte { rows(b, 40, 1<<40); return b }},
		{"negative rows", "arrow-stream", "a batch of -1 rows", stream, func(b []byte) []byte { rows(b, 40, 1<<64-1); return b }},
		{"buffer outside", "arrow-stream", "in a body of", stream, func(b []byte) []byte { rows(b, 64, 1<<62); return b }},
		{"offsets outside", "arrow-stream", "a string from byte", stream, func(b []byte) []byte {
			offsets := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), 1), 8) // of "a", "größe"
			at := bytes.Index(b[body:], offsets)
			if at < 0 {
				t.Fatal("no strings")
			}
			le.PutUint32(b[body+at+8:], 1<<31)
			return b
		}},
		{"bomb", "arrow", "beyond the limit", zstd, func(b []byte) []byte {
			frame := []byte{0x28, 0xb5, 0x2f, 0xfd}
			for at := 8; at < len(b)-4; at++ { // the size is before the frame
				if bytes.Equal(b[at:at+4], frame) {
					le.PutUint64(b[at-8:], 1<<50)
				}
			}
			return b
		}},
		{"another size", "arrow", "instead of", zstd, func(b []byte) []byte {
			frame := []byte{0x28, 0xb5, 0x2f, 0xfd}
			for at := 8; at < len(b)-4; at++ {
				if bytes.Equal(b[at:at+4], frame) {
					b[at-8]++
				}
			}
			return b
		}},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "attack.arrow")
			if err := os.WriteFile(name, a.change(bytes.Clone(a.b)), 0o666); err != nil {
				t.Fatal(err)
			}
			serializetest.TestAttack(t, a.format, name, a.reason)
		})
	}
}

func TestDamagedFilesAreErrorsOrData(t *testing.T) {
	serializetest.TestDamage(t, "arrow", "testdata/one.arrow", "testdata/zstd.feather", "testdata/odd.arrow")
	serializetest.TestDamage(t, "arrow-stream", "testdata/deltas.arrows")
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.arrow", "testdata/*.arrows", "testdata/*.feather")
	file, stream := serializetest.FuzzTarget("arrow"), serializetest.FuzzTarget("arrow-stream")
	f.Fuzz(func(t *testing.T, b []byte) {
		file(t, b)
		stream(t, b)
	})
}

// TestTimesAreInt64: dates, timestamps, durations and times of the day are int64 with the
// type that NumPy has for them, and missing ones NaT.
func TestTimesAreInt64(t *testing.T) {
	const missing = math.MinInt64
	for _, file := range []string{"times.arrow", "times_zstd.arrow"} {
		f := serializetest.Open(t, "testdata/"+file)
		for name, want := range map[string]struct {
			descr string
			elems []int64
		}{
			"date32": {"<M8[D]", []int64{1, missing, -3}}, "s": {"<M8[s]", []int64{1, missing, -3}}, "ms": {"<M8[ms]", []int64{1, missing, -3}},
			"us": {"<M8[us]", []int64{1, missing, -3}}, "ns": {"<M8[ns]", []int64{1, missing, -3}}, "time s": {"<m8[s]", []int64{1, missing, 3}},
			"time ms": {"<m8[ms]", []int64{1, missing, 3}}, "time us": {"<m8[us]", []int64{1, missing, 3}}, "time ns": {"<m8[ns]", []int64{1, missing, 3}},
			"date64": {"<M8[ms]", []int64{86400000, missing, 0}}, "duration": {"<m8[us]", []int64{1, missing, -3}}, "seconds": {"<m8[s]", []int64{1, missing, -3}},
			"coded times": {"<M8[ms]", []int64{5, missing, 5}},
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
		for _, name := range []string{"words", "views"} {
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

// TestLongCompressedColumns reads columns of more than a MiB in one batch, which are decompressed
// as streams, and with missing elements of each kind.
func TestLongCompressedColumns(t *testing.T) {
	for name, rows := range map[string]int{"long/zstd.arrow": 35_000, "long/lz4.arrow": 150_000} {
		f := serializetest.Open(t, "testdata/"+name)
		for e, err := range f.All() {
			if err != nil {
				t.Fatal(name, e.Name, err)
			}
			kind, _, gaps := strings.Cut(e.Name, " ")
			for _, v := range []views.View{views.Of(rows), views.Of(rows).Narrow(0, rows/3, rows-5), views.Of(rows).Narrow(0, 3, 100)} {
				values, err := valuesOf(e, v)
				if err != nil {
					t.Fatal(name, e.Name, err)
				}
				k := 0
				for i := range v.Positions() {
					var want any = fmt.Sprintf("word %d is longer than twelve bytes, so that views refer to it", i%10)
					missing := any("")
					switch kind {
					case "number", "small", "day":
						want, missing = float64(i%10), math.NaN()
					case "bool":
						want, missing = float64(1-min(i%3, 1)), math.NaN()
					}
					if gaps && i%7 == 3 {
						want = missing
					}
					if fmt.Sprint(values[k]) != fmt.Sprint(want) {
						t.Fatalf("%s: %q, row %d: %v, want %v", name, e.Name, i, values[k], want)
					}
					k++
				}
			}
		}
	}
}

// valuesOf returns the elements of a column that v selects, numbers as float64s.
func valuesOf(e serialize.Entry, v views.View) ([]any, error) {
	if e.Elements != nil {
		return e.Elements.Values(v)
	}
	elems, err := blocks.Read(e.Array.With(v))
	if err != nil {
		return nil, err
	}
	var values []any
	for _, x := range blocks.Float64s(e.Array.Type, elems) {
		values = append(values, x)
	}
	return values, nil
}
