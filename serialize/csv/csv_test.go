package csv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/csv"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func Example() {
	if err := csv.Write(os.Stdout, storage.From([]float32{1, 2.5, 3, 1e-7}, 2, 2)); err != nil {
		panic(err)
	}
	// Output:
	// 1.0,2.5
	// 3.0,1e-07
}

func TestTextsAreQuoted(t *testing.T) {
	texts := []any{"a", `b "c"`, "d,e"}
	e := serialize.Entry{Name: "names", Elements: &serialize.Elements{View: views.Of(3), Type: "string", Values: func(v views.View) ([]any, error) { return texts[:v.Len()], nil }}}
	var out bytes.Buffer
	err := serialize.Write(&out, "csv", serialize.Contents{Entries: serialize.Entries(e)})
	if want := "names\na\n\"b \"\"c\"\"\"\n\"d,e\"\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v; want %q", out.String(), err, want)
	}
}

// TestZeroBytesAreErrors, because readers take a file with one for something else than text.
func TestZeroBytesAreErrors(t *testing.T) {
	e := serialize.Entry{Name: "names", Elements: &serialize.Elements{View: views.Of(1), Type: "string", Values: func(views.View) ([]any, error) { return []any{"a\x00b"}, nil }}}
	for _, entries := range [][]serialize.Entry{{e}, {e, {Name: "x", Array: storage.From([]int32{1}, 1)}}} {
		if err := serialize.Write(new(bytes.Buffer), "csv", serialize.Contents{Entries: serialize.Entries(entries...)}); !errors.Is(err, dtype.ErrType) {
			t.Errorf("%d columns: %v", len(entries), err)
		}
	}
}

func TestTablesHaveTwoAxes(t *testing.T) {
	err := csv.Write(new(bytes.Buffer), storage.From(make([]int32, 8), 2, 2, 2))
	if err == nil {
		t.Error("an array of three axes became a table")
	}
	for name, second := range map[string]storage.Array{"lengths": storage.From([]int32{2}, 1), "axes": storage.From([]int32{2, 3}, 2, 1)} {
		err = serialize.Write(new(bytes.Buffer), "csv", serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
			_ = yield("a", storage.From([]int32{1, 2}, 2)) && yield("b", second)
		})})
		if !errors.Is(err, views.ErrShape) {
			t.Errorf("columns of different %s: %v", name, err)
		}
	}
}

// table is the text of a table with a column of each kind.
const table = "id,weight,name,large,beyond,code\n1,0.5,\"a, b\",18446744073709551615,18446744073709551616,007\n-2,,größe,0,1,-7\n"

func read(t *testing.T, text string) serialize.File {
	t.Helper()
	f, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "table.csv")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestColumnsAreRead as the narrowest kind of number that has every cell as it is.
func TestColumnsAreRead(t *testing.T) {
	f := read(t, table)
	numbers := func(name string, typ dtype.Type, want ...float64) {
		a, err := serialize.Find(f, name)
		if err != nil || a.Type != typ {
			t.Errorf("%s: %v, %v; want %v", name, a, err, typ)
			return
		}
		got, _ := storage.Read[float64](a)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	numbers("id", dtype.Int64, 1, -2)
	numbers("weight", dtype.Float64, 0.5, math.NaN())
	numbers("code", dtype.Int64, 7, -7)
	large, err := serialize.Find(f, "large")
	if err != nil {
		t.Fatal(err)
	}
	if elems, err := storage.Read[uint64](large); err != nil || elems[0] != math.MaxUint64 {
		t.Errorf("large: %v, %v", elems, err)
	}
	for name, want := range map[string]string{"name": "[a, b größe]", "beyond": "[18446744073709551616 1]"} {
		e, err := serialize.Lookup(f, name)
		if err != nil || e.Elements == nil {
			t.Fatalf("%s: %v, %v", name, e, err)
		}
		if values, err := e.Elements.Values(e.Elements.View); err != nil || fmt.Sprint(values) != want {
			t.Errorf("%s: %v, %v; want %s", name, values, err, want)
		}
	}
	var out bytes.Buffer
	if err := serialize.Write(&out, "csv", serialize.Contents{Entries: f.All()}); err != nil {
		t.Fatal(err)
	}
	if want := strings.NewReplacer(",,", ",nan,", "007", "7").Replace(table); out.String() != want {
		t.Errorf("written again: %q, want %q", out.String(), want)
	}
}

// TestTablesWithoutNamesAreOneArray of two axes.
func TestTablesWithoutNamesAreOneArray(t *testing.T) {
	a, err := serialize.Find(read(t, "1;2;3\n4;5;6\n"), "table")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[int64](a); err != nil || fmt.Sprint(a.Shape, got) != "[2 3] [1 2 3 4 5 6]" {
		t.Errorf("%v %v, %v", a.Shape, got, err)
	}
}

// TestTextsAreNotTablesOfNumbers: there is no signature to go by.
func TestTextsAreNotTablesOfNumbers(t *testing.T) {
	for text, want := range map[string]bool{
		table: true, "1,2\n3,4\n": true, "a\tb\n1\t2\n": true, "1\n2\n": true,
		"": false, "1": false, "one line\n": false, "# Title\n\nText, and more.\n": false, "a,b\nc,d\n": false, "{\"a\": 1,\n\"b\": 2}\n": false, "\x00,1\n2,3\n": false,
	} {
		f, err := serialize.Detect(strings.NewReader(text), int64(len(text)))
		if (err == nil) != want || err == nil && f.Name != "csv" {
			t.Errorf("%q: %s, %v", text, f.Name, err)
		}
	}
}

// TestUnevenTablesAreErrors: lines of several lengths, and no lines.
func TestUnevenTablesAreErrors(t *testing.T) {
	for _, text := range []string{"", "a,b\n1\n", "a\n\"1\n"} {
		if f, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "x.csv", serialize.Options{Format: "csv"}); err == nil {
			t.Errorf("%q: %v", text, f)
		}
	}
}

// TestAttacks: each table is refused with its reason in one line.
func TestAttacks(t *testing.T) {
	for name, attack := range map[string]struct{ text, reason string }{
		"many columns":      {strings.Repeat(",", 1<<17) + "\n", "beyond the limit"},
		"many names":        {strings.Repeat("a,", 1<<17) + "a\n", "beyond the limit"},
		"columns added":     {"a,b\n1,2\n" + strings.Repeat(",", 1<<16) + "\n", "line 3 has 65537 cells, and line 1 has 2"},
		"quote within":      {"a,b\n1,2\"\n", "bare"},
		"quote without end": {"a,b\n1,\"2\n3,4\n", "cell that begins on line 2 has no end"},
		"nothing":           {"\n\n\n", "the table has no line"},
	} {
		_, err := serialize.OpenReader(strings.NewReader(attack.text), int64(len(attack.text)), "x.csv", serialize.Options{Format: "csv", Budget: storage.NewBudget(16 << 20)})
		if err == nil || !strings.Contains(err.Error(), attack.reason) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want it refused because of %q", name, err, attack.reason)
		}
	}
}

// TestDecimalPoint: a comma between digits is a decimal point, if the cell is a number then.
func TestDecimalPoint(t *testing.T) {
	for cell, want := range map[string]string{
		"1,5": "1.5", "-0,25": "-0.25", ",5": ".5", "1,5e3": "1.5e3", "12": "12", "1.5": "1.5",
		"1,": "1,", "1,e5": "1,e5", "1.234,5": "1.234,5", "1,2,3": "1,2,3", "a,5": "a,5", "1,5a": "1,5a", "": "", ",": ",",
	} {
		if got := csv.DecimalPoint(cell); got != want {
			t.Errorf("%q: %q, want %q", cell, got, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, text := range []string{table, "1;2\n3;4\n", "a\tb\n1\t2\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(serializetest.FuzzTarget("csv"))
}

// TestTextOfOtherPrograms: byte order marks, comments, a single column, and integers that floats do not have.
func TestTextOfOtherPrograms(t *testing.T) {
	long := strings.Repeat("x", 10000)
	for text, want := range map[string]map[string]string{
		"\ufeffa,b\n1,2\n":                     {"a": "int64", "b": "int64"},
		"a,b,c\n1_000,0x1p-2,1e3\n2,3,.5\n":    {"a": "string", "b": "string", "c": "float64"},
		"# made by x\n# on Monday\na,b\n1,2\n": {"a": "int64", "b": "int64"},
		"# made by x\n# a,b\n1.5,2\n":          {"a": "float64", "b": "int64"},
		"#id,b\n1,2\n":                         {"#id": "int64", "b": "int64"},
		"x\n1\n2\n":                            {"x": "int64"},
		"a,b\nyes,no\n":                        {"a": "string", "b": "string"},
		"a,b\n9007199254740993,1\n,2\n":        {"a": "string", "b": "int64"},
		"a,b\n9007199254740993,1\n0.5,2\n":     {"a": "string", "b": "int64"},
		"a,b\n18446744073709551615,1\n0.5,2\n": {"a": "string", "b": "int64"},
		"a,b\n9007199254740992,1\n,2\n":        {"a": "float64", "b": "int64"},
		"a,b\n9223372036854775807,1\n-1,2\n":   {"a": "int64", "b": "int64"},
		"a," + long + "\n1,2\n":                {"a": "int64", long: "int64"},
		"a;b\n1,5;2\n":                         {"a": "float64", "b": "int64"},
		"a,b\n\"" + long + "\n\",2\n":          {"a": "string", "b": "int64"},
	} {
		f, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "table.csv")
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		count := 0
		for e, err := range f.All() {
			typ := e.Array.Type.String()
			if e.Elements != nil {
				typ = e.Elements.Type
			}
			if count++; err != nil || want[e.Name] != typ {
				t.Errorf("%.40q: %.40s is %s, %v", text, e.Name, typ, err)
			}
		}
		if count != len(want) {
			t.Errorf("%.40q: %d columns, want %d", text, count, len(want))
		}
	}
	for text, want := range map[string]string{
		"a,b,c\n1,2,3\n4,5\n": "line 3", "a,b\n\"x,1\n": "line 2", "\xff\xfea\x00,\x00b\x00": "UTF-16 text; iconv", "a,b\r1,2\r": "CR alone; tr", "sep=;\na;b\n1;2\n": "\"sep=;\", is for Excel", "a,b\n\xe4,1\n": "not UTF-8; iconv", "a,b\n1\x00": "is zero",
	} {
		if _, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "table.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "table"); !errors.Is(err, serialize.ErrFormat) {
			t.Errorf("%q without an extension: %v", text, err)
		}
	}
}

// describe returns the columns of a table: their names and values.
func describe(t *testing.T, text string) string {
	t.Helper()
	f, err := serialize.OpenReader(strings.NewReader(text), int64(len(text)), "table.csv")
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	var columns []string
	for e, err := range f.All() {
		if err != nil {
			return err.Error()
		}
		values := ""
		if e.Elements != nil {
			list, err := e.Elements.Values(e.Elements.View)
			values = fmt.Sprintf("%q", list)
			if err != nil {
				return err.Error()
			}
		} else {
			list, err := storage.Read[float64](e.Array)
			values = fmt.Sprint(list)
			if e.Array.Type != dtype.Float64 {
				values = e.Array.Type.String() + fmt.Sprint(list)
			}
			if err != nil {
				return err.Error()
			}
			if len(e.Array.Shape) == 2 {
				values = fmt.Sprint(e.Array.Shape, values)
			}
		}
		columns = append(columns, e.Name+" "+values)
	}
	return strings.Join(columns, "; ")
}

// TestDialects: separators, decimal commas, words for missing values, and headers, as pandas writes them.
func TestDialects(t *testing.T) {
	for text, want := range map[string]string{
		"a|b\n1|2\n3|4\n":                        "a int64[1 3]; b int64[2 4]",
		"a\tb\tc\n1\t\t3\n4\t5\t\n":              "a int64[1 4]; b [NaN 5]; c [3 NaN]",
		"T, °C;p, hPa\n1,5;1013,25\n-2,0;1000\n": "T, °C [1.5 -2]; p, hPa [1013.25 1000]",
		"\"a;b\",c\n1,2\n":                       "a;b int64[1]; c int64[2]",
		"1;2,5\n3;4,25\n":                        "table [2 2][1 2.5 3 4.25]",
		"a;b\n1,5;0.5\n":                         "a [\"1,5\"]; b [0.5]", // which of both is decimal?
		"a;b\n1,5;1.234\n":                       "a [\"1,5\"]; b [1.234]",
		"a,b\n\"1,234\",2\n":                     "a [\"1,234\"]; b int64[2]",
		"a;b\n1.234,5;2\n":                       "a [\"1.234,5\"]; b int64[2]",
		"1.0 2.5\n3.0 4.0\n":                     "table [2 2][1 2.5 3 4]",
		"# x y\n1.0 2.5\n3.0 4.0\n":              "table [2 2][1 2.5 3 4]",
		"first word\n1\n2\n":                     "first word int64[1 2]",
		"a,b\n1,NA\n2,3\nnull,#N/A\n":            "a [1 2 NaN]; b [NaN 3 NaN]",
		"a,b\nNA,1\nNA,2\n":                      "a [\"NA\" \"NA\"]; b int64[1 2]",
		"a,b\nNaN,-inf\nnan,Infinity\n":          "a [NaN NaN]; b [-Inf +Inf]",
		"a,b\nTrue,1\nFALSE,0\n":                 "a bool[1 0]; b int64[1 0]",
		"a,b\nTrue,1\n,0\n":                      "a [\"True\" \"\"]; b int64[1 0]",
		"True,False\nFalse,True\n":               "table [2 2]bool[1 0 0 1]",
		"a,b\n1 ,2 \n 3,4.5 \n":                  "a int64[1 3]; b [2 4.5]",
		",0,1\n0,5,6\n1,7,8\n":                   "column 1 int64[0 1]; 0 int64[5 7]; 1 int64[6 8]",
		",2019,2020\nFrance,1,2\nPeru,3,4\n":     "column 1 [\"France\" \"Peru\"]; 2019 int64[1 3]; 2020 int64[2 4]",
		"0,1,2\n0.5,1.0,\n1.5,2.0,3.5\n":         "0 [0.5 1.5]; 1 [1 2]; 2 [NaN 3.5]",
		"x,y,x,x.1,x\n1,2,3,4,5\n":               "x int64[1]; y int64[2]; x.2 int64[3]; x.1 int64[4]; x.3 int64[5]",
		"0,1,2\n3,4,5\n":                         "table [2 3]int64[0 1 2 3 4 5]",
		"\"1\",\"2\"\n3,4\n":                     "1 int64[3]; 2 int64[4]",
		"\"1\",\"2\"\n\"3\",\"4\"\n":             "table [2 2]int64[1 2 3 4]",
		"1,18446744073709551615\n2,3\n":          "table [2 2]uint64[1 1.8446744073709552e+19 2 3]",
		"9007199254740993,0.5\n1,2\n":            "column 1 int64[9.007199254740992e+15 1]; column 2 [0.5 2]",
		"a,b\n\"x\ny\",2\n\n3,4\n":               "a [\"x\\ny\" \"3\"]; b int64[2 4]",
		"x\n1\n2\n\n":                            "x int64[1 2]",
		"x\n\n1\n2\n":                            "x int64[1 2]",
		"x\n1\n\"\"\n2\n":                        "x [1 NaN 2]",
		"a,b\n":                                  "a int64[]; b int64[]",
	} {
		if got := describe(t, text); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"# c\nx\n1\n\n2\n":         "line 4 is blank",
		"# c\na,b\n1,2\n3\n":       "line 4 has 1 cell, and line 2 has 2",
		"a,b\n\"x\ny\",2\n3,4,5\n": "line 4 has 3 cells",
		"x\n1,5\n":                 "line 2 has 2 cells, and line 1 has 1",
		"a,b\n1,5\" 2\n":           "line 2, byte 4: a bare quote",
	} {
		if got := describe(t, text); !strings.Contains(got, want) {
			t.Errorf("%q: %s; want an error with %q", text, got, want)
		}
	}
}

// TestHeadersAreWritten for every column that has a name, so that it is read again: names that
// are numbers, begin as a comment, or are like words for values are quoted.
func TestHeadersAreWritten(t *testing.T) {
	for _, names := range [][]string{{"x"}, {"2"}, {"# x"}, {"sep=;"}, {"nan"}, {"True"}, {"a \"b\"\nc"}, {"0", "1"}, {"1,5", "2"}, {"#", "x"}} {
		var out bytes.Buffer
		arrays := serialize.Arrays(func(yield func(string, storage.Array) bool) {
			for _, name := range names {
				if !yield(name, storage.From([]float32{0.5, 1}, 2)) {
					return
				}
			}
		})
		if err := serialize.Write(&out, "csv", serialize.Contents{Entries: arrays}); err != nil {
			t.Fatal(err)
		}
		want := ""
		for i, name := range names {
			if i > 0 {
				want += "; "
			}
			want += name + " [0.5 1]"
		}
		if got := describe(t, out.String()); got != want {
			t.Errorf("%q is read as %s, want %s", out.String(), got, want)
		}
	}
}

// TestEmptyCellsOfOneColumnAreWritten: readers skip blank lines.
func TestEmptyCellsOfOneColumnAreWritten(t *testing.T) {
	texts := []any{"", "a", ""}
	e := serialize.Entry{Name: "x", Elements: &serialize.Elements{View: views.Of(3), Type: "string", Values: func(v views.View) ([]any, error) { return texts[:v.Len()], nil }}}
	var out bytes.Buffer
	err := serialize.Write(&out, "csv", serialize.Contents{Entries: serialize.Entries(e)})
	if got := describe(t, out.String()); err != nil || got != `x ["" "a" ""]` {
		t.Errorf("%q is read as %s, %v", out.String(), got, err)
	}
}

// TestLongTablesAreReadInAnyOrder: numbers and strings of more bytes than are kept in memory.
func TestLongTablesAreReadInAnyOrder(t *testing.T) {
	const rows = 200_000
	text := []byte("n,x,word\n")
	for i := range rows {
		text = fmt.Appendf(text, "%d,%d.5,word %d\n", i, i, i)
	}
	f := read(t, string(text))
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		for _, start := range []int{0, 150_000, 70_000, rows - 3} {
			v := views.View{Offset: start, Shape: []int{3}, Stride: []int{1}}
			var got any
			want := fmt.Sprintf("[word %d word %d word %d]", start, start+1, start+2)
			switch e.Name {
			case "word":
				got, err = e.Elements.Values(v)
			case "n":
				got, err = storage.Read[int64](e.Array.With(v))
				want = strings.ReplaceAll(want, "word ", "")
			default:
				x, wrong := storage.Read[float64](e.Array.With(v))
				for i := range x {
					x[i] -= 0.5 + float64(start+i)
				}
				got, err, want = x, wrong, "[0 0 0]"
			}
			if err != nil || fmt.Sprint(got) != want {
				t.Errorf("%s: %v, %v; want %s", e.Name, got, err, want)
			}
		}
	}
	e, err := serialize.Lookup(f, "word")
	a, wrong := serialize.Find(f, "n")
	if err := errors.Join(err, wrong, f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Elements.Values(views.Of(1)); !errors.Is(err, storage.ErrState) {
		t.Errorf("strings of a closed table: %v", err)
	}
	if _, err := storage.Read[int64](a); !errors.Is(err, storage.ErrState) {
		t.Errorf("numbers of a closed table: %v", err)
	}
}

// TestZeroBytesAreRefused, with their place.
func TestZeroBytesAreRefused(t *testing.T) {
	texts := func(name string) serialize.Entry {
		values := func(v views.View) ([]any, error) { return []any{"a", "b\x00", "c"}, nil }
		return serialize.Entry{Name: name, Elements: &serialize.Elements{View: views.Of(3), Type: "string", Values: values}}
	}
	n := serialize.Entry{Name: "n", Array: storage.From([]float64{1, 2, 3}, 3)}
	for want, entries := range map[string][]serialize.Entry{
		`row 1 of column "text": "b\x00" has a zero byte`: {n, texts("text")},
		`row 1, column 0: "b\x00" has a zero byte`:        {texts("")},
		`"a\x00" has a zero byte`:                         {texts("a\x00"), n},
	} {
		err := serialize.Write(io.Discard, "csv", serialize.Contents{Entries: serialize.Entries(entries...)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
