package dataset

import (
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// TestMissingIsFoundWhereItIs compares what is found in rows, windows over them, a subset
// and a chain with a search through the rows.
func TestMissingIsFoundWhereItIs(t *testing.T) {
	const rows, columns, steps = 11, 3, 4
	values := make([]float32, rows*columns)
	for _, i := range []int{1, 7, 10, 29, 32} {
		values[i] = float32(math.NaN())
	}
	values[20], values[22] = float32(math.Inf(-1)), float32(math.Inf(1))
	whole := storage.From(values, rows, columns)
	of := func(name string, a storage.Array, o Origin) Dataset {
		o.Name, o.Columns = name, []string{"age", "size"}
		d, err := FromArrays(NamedArray{Name: "x", Array: a, From: o}, NamedArray{Name: "y", Array: storage.From(make([]int64, a.Shape[0]), a.Shape[0]), Role: Target})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	windows, err := SlidingWindows(whole, steps)
	if err != nil {
		t.Fatal(err)
	}
	subset := func(d Dataset, rows ...int) Dataset {
		d, err := Subset(d, rows)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	plain, windowed := of("a", whole, Origin{}), of("a", windows, Origin{Steps: steps})
	chained, err := Concat(of("b", whole, Origin{}), plain)
	if err != nil {
		t.Fatal(err)
	}
	first := "a row 0, column 1 (size)"
	for _, c := range []struct {
		what             string
		d                Dataset
		nan, inf         int
		first, firstInf  string
		column0, column2 MissingColumn
	}{
		{"rows", plain, 5, 2, first, "a row 6, column 2", MissingColumn{}, MissingColumn{2, 1}},
		{"windows", windowed, 5, 2, first, "a row 6, column 2", MissingColumn{}, MissingColumn{2, 1}},
		{"a subset", subset(plain, 2, 7, 9, 10), 3, 1, "a row 2, column 1 (size)", "a row 7, column 1 (size)", MissingColumn{}, MissingColumn{2, 0}},
		{"windows in part", subset(windowed, 0, 1, 7), 5, 1, first, "a row 7, column 1 (size)", MissingColumn{}, MissingColumn{2, 0}},
		{"a chain", subset(chained, 5, 11), 1, 0, first, "", MissingColumn{}, MissingColumn{}},
		{"complete rows", subset(plain, 1, 4, 5), 0, 0, "", "", MissingColumn{}, MissingColumn{}},
	} {
		found, err := FindMissing(t.Context(), c.d, Options{})
		if err != nil {
			t.Fatal(err)
		}
		inRows, err := MissingIn(c.d, reversed(c.d.Len()))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(found) != fmt.Sprint(inRows) {
			t.Errorf("%s: all %v, by rows %v", c.what, found, inRows)
		}
		if c.nan+c.inf == 0 {
			if len(found) != 0 {
				t.Errorf("%s: %v", c.what, found)
			}
			continue
		}
		m := found[0]
		if len(found) != 1 || m.NaN != c.nan || m.Inf != c.inf || m.First.String() != c.first || c.firstInf != "" && m.FirstInf.String() != c.firstInf ||
			m.Columns[0] != c.column0 || m.Columns[2] != c.column2 {
			t.Errorf("%s: %d NaN, %d infinite, first %v and %v, columns %v; want %+v", c.what, m.NaN, m.Inf, m.First, m.FirstInf, m.Columns, c)
		}
	}
	if found, _ := FindMissing(t.Context(), plain, Options{}); found[0].String() != first+" is NaN (5 in all)" {
		t.Error(found[0])
	}
}

// reversed returns the numbers below n, the largest first.
func reversed(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = n - 1 - i
	}
	return all
}

// TestPreviousValuesFillEveryRoute compares the batches of every way to read, in any order,
// with rows that were filled beforehand.
func TestPreviousValuesFillEveryRoute(t *testing.T) {
	const rows, columns = 700, 3
	values, want := make([]float32, rows*columns), make([]float32, rows*columns)
	for i := range values {
		row, column := i/columns, i%columns
		values[i] = float32(i)
		if column == 0 && row < 300 || column == 1 && row%150 > 2 || i*i%7 == 1 {
			values[i] = float32(math.NaN()) // at the start, long gaps, short ones
		}
		if want[i] = values[i]; values[i] != values[i] && row > 0 {
			want[i] = want[i-columns]
		}
	}
	host := storage.From(values, rows, columns)
	for name, a := range map[string]storage.Array{"memory": host, "chunks": newFake(host, 64).Array(), "chunks of a row": newFake(host, 1).Array()} {
		filled, err := FillPrevious(name, a)
		if err != nil {
			t.Fatal(err)
		}
		for _, steps := range []int{1, 5} {
			windowed := filled
			if steps > 1 {
				if windowed, err = SlidingWindows(filled, steps); err != nil {
					t.Fatal(err)
				}
			}
			whole, err := FromArrays(NamedArray{Name: "x", Array: windowed})
			if err != nil {
				t.Fatal(err)
			}
			odd, err := Subset(whole, oddRows(whole.Len()))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range []Dataset{whole, odd} {
				for _, o := range []Options{{BatchSize: 32, Shuffle: None}, {BatchSize: 7, Shuffle: Exact, Memory: 1 << 20}, {BatchSize: 50, Shuffle: Window, Window: 2, Memory: 1 << 20}, {BatchSize: 50}} {
					for b, err := range Load(t.Context(), d, o) {
						if err != nil {
							t.Fatal(err)
						}
						got := storage.Elements[float32](b.Fields[0])
						for k, row := range b.Rows {
							if d == odd {
								row = 2*row + 1
							}
							for i, x := range want[row*columns:][:steps*columns] {
								if y := got[k*steps*columns+i]; math.Float32bits(y) != math.Float32bits(x) {
									t.Fatalf("%s, %d steps, %v: element %d of row %d is %v, want %v", name, steps, o.Shuffle, i, row, y, x)
								}
							}
						}
					}
				}
			}
		}
	}
}

func oddRows(n int) (rows []int) {
	for row := 1; row < n; row += 2 {
		rows = append(rows, row)
	}
	return rows
}
