package all_test

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

const notATime = math.MinInt64

// TestTablesKeepTimesAndMissingElements writes times, and integers and bools of which some are
// missing, more than there are in a part or page. Parquet has no seconds, and no differences of times.
func TestTablesKeepTimesAndMissingElements(t *testing.T) {
	const rows = 1<<17 + 3
	times := func(typ, zone string) serialize.Entry {
		x := make([]int64, rows)
		for i := range x {
			if x[i] = int64(i) - 7; i%5 == 3 {
				x[i] = notATime
			}
		}
		e := serialize.Entry{Name: typ + zone, Array: storage.From(x, rows), Attrs: map[string]any{"numpy.descr": typ}}
		if zone != "" {
			e.Attrs["timezone"] = zone
		}
		return e
	}
	missing := func(typ dtype.Type) serialize.Entry {
		x := make([]float64, rows)
		for i := range x {
			if x[i] = float64(i % 2); i%3 == 1 {
				x[i] = math.Float64frombits(0x7ff8 << 48) // as dtype.NaN
			}
		}
		return serialize.Entry{Name: typ.String(), Array: storage.From(x, rows), Attrs: map[string]any{"arrow.type": typ.String()}}
	}
	large := func(typ, text string) serialize.Entry {
		values := func(v views.View) (list []any, err error) {
			for at := range v.Positions() {
				list = append(list, []any{text, "", "5"}[at%3])
			}
			return list, nil
		}
		return serialize.Entry{Name: "large " + typ, Elements: &serialize.Elements{View: views.Of(rows), Type: "string", Values: values}, Attrs: map[string]any{"arrow.type": typ}}
	}
	entries := []serialize.Entry{times("<M8[ms]", ""), times("<M8[us]", "UTC"), times("<M8[ns]", ""), times("<M8[D]", ""),
		large("int64", "-9007199254740993"), large("uint64", "18446744073709551615")}
	for _, typ := range []dtype.Type{dtype.Bool, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Int32, dtype.Uint32, dtype.Int64, dtype.Uint64} {
		entries = append(entries, missing(typ))
	}
	onlyArrow := []serialize.Entry{times("<M8[s]", "Europe/Berlin"), times("<m8[s]", ""), times("<m8[ms]", ""), times("<m8[ns]", "")}
	for format, want := range map[string][]serialize.Entry{"parquet": entries, "arrow": append(onlyArrow, entries...), "arrow-stream": append(onlyArrow, entries...)} {
		name := filepath.Join(t.TempDir(), "x")
		if err := serialize.Save(name, format, serialize.Contents{Entries: serialize.Entries(want...)}); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		defer f.Close()
		for _, e := range want {
			got := find(t, f, e.Name)
			if !maps.Equal(got.Attrs, e.Attrs) {
				t.Errorf("%s: %s: attributes %v; want %v", format, e.Name, got.Attrs, e.Attrs)
			}
			if !slices.Equal(elementsOf(t, got), elementsOf(t, e)) {
				t.Errorf("%s: the elements of %s differ", format, e.Name)
			}
		}
	}
}

func find(t *testing.T, f serialize.File, name string) serialize.Entry {
	t.Helper()
	for e, err := range f.All() {
		if e.Name == name {
			if err != nil {
				t.Error(err)
			}
			return e
		}
	}
	t.Fatalf("%s is missing", name)
	return serialize.Entry{}
}

// elementsOf returns the bits of numbers, or texts.
func elementsOf(t *testing.T, e serialize.Entry) []any {
	t.Helper()
	if e.Elements != nil {
		list, err := e.Elements.Values(e.Elements.View)
		if err != nil {
			t.Error(err)
		}
		return list
	}
	a, err := e.Array.To(storage.CPU)
	if err != nil {
		t.Error(err)
		return nil
	}
	b, _ := a.Bytes()
	return []any{a.Type, string(b)}
}

// TestElementsThatAreNotOfTheTypeAreRefused: attributes may be of any file.
func TestElementsThatAreNotOfTheTypeAreRefused(t *testing.T) {
	for _, c := range []struct {
		attr, typ string
		a         storage.Array
		want      string
	}{
		{"arrow.type", "int8", storage.From([]float64{1, 128}, 2), "row 1 is 128"},
		{"arrow.type", "uint8", storage.From([]float64{1, -1}, 2), "row 1 is -1"},
		{"arrow.type", "bool", storage.From([]float64{1, 0.5}, 2), "row 1 is 0.5"},

		{"arrow.type", "int64", storage.From([]float64{math.Inf(1), 0}, 2), "row 0 is +Inf"},
		{"numpy.descr", "<M8[D]", storage.From([]int64{1, 1 << 31}, 2), "day 2147483648"},
	} {
		for _, format := range []string{"arrow", "parquet"} {
			e := serialize.Entry{Name: "x", Array: c.a, Attrs: map[string]any{c.attr: c.typ}}
			err := serialize.Save(filepath.Join(t.TempDir(), "x"), format, serialize.Contents{Entries: serialize.Entries(e)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s as %s: %v; want %q", format, c.typ, err, c.want)
			}
		}
	}
}

// TestTypesThatAreLostAreRefused: a column that a table has again by an attribute is not written as what it was
// read as without a word, be it times, or integers of which some are missing.
func TestTypesThatAreLostAreRefused(t *testing.T) {
	for _, e := range []serialize.Entry{
		{Name: "x", Array: storage.From([]float64{1, math.NaN()}, 2), Attrs: map[string]any{"arrow.type": "int32"}},
		{Name: "x", Array: storage.From([]int64{1, 2}, 2), Attrs: map[string]any{"numpy.descr": "<M8[ms]", "timezone": "UTC"}},
	} {
		for _, format := range []string{"csv", "npz", "safetensors", "torch"} {
			err := serialize.Save(filepath.Join(t.TempDir(), "x"), format, serialize.Contents{Entries: serialize.Entries(e)})
			for name := range e.Attrs {
				kept := format == "npz" && name == "numpy.descr"
				if err == nil || strings.Contains(err.Error(), name) == kept {
					t.Errorf("%s in %s: %v", name, format, err)
				}
			}
		}
	}
}
