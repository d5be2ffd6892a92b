package column_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// testRows is how many rows the columns of a testTable have. Row i of column k is 1000*k+i, or
// that number and some letters as a string.
const testRows = 500

// testTable returns columns of numbers and of strings in turn, with pages of 7 rows, and counts
// how often pages are decoded.
func testTable(n int) (list []serialize.Entry, decoded *atomic.Int64) {
	table, decoded := &column.Table{Rows: testRows, Check: func() error { return nil }}, new(atomic.Int64)
	for k := range n {
		kind := column.Kind{}
		if k%2 == 0 {
			kind.Type = dtype.Int64
		}
		start := func() func(*column.Values) error {
			at := 0
			return func(v *column.Values) error {
				if at == testRows {
					return io.EOF
				}
				decoded.Add(1)
				for end := min(at+7, testRows); at < end; at++ {
					if k%2 == 0 {
						v.Numbers = binary.NativeEndian.AppendUint64(v.Numbers, uint64(1000*k+at))
					} else {
						v.Texts = append(v.Texts, testText(k, at))
					}
				}
				return nil
			}
		}
		c := &column.Column{Table: table, Kind: kind, Stored: func() int { return 1 << 20 }, Start: start}
		e, err := c.Entry(fmt.Sprint(k))
		if err != nil {
			panic(err)
		}
		list = append(list, e)
	}
	return list, decoded
}

// TestClosedTables: after the file is closed no rows are read, also those that are decoded already.
func TestClosedTables(t *testing.T) {
	for _, kind := range []column.Kind{{Type: dtype.Int64}, {}} {
		var closed error
		table := &column.Table{Rows: 2, Check: func() error { return closed }}
		ended := false
		c := &column.Column{Table: table, Kind: kind, Missing: true, Exact: true, Stored: func() int { return 16 }, Start: func() func(*column.Values) error {
			return func(v *column.Values) error {
				if ended {
					return io.EOF
				}
				ended = true
				v.Numbers, v.Texts = make([]byte, 16), []string{"a", "b"}
				return nil
			}
		}}
		e, err := c.Entry("x")
		if err != nil {
			t.Fatal(err)
		}
		read := func(row int) error {
			v := views.Of(2)
			v.Offset, v.Shape = row, []int{1}
			if e.Elements != nil {
				_, err := e.Elements.Values(v)
				return err
			}
			_, err := storage.Read[float64](e.Array.With(v))
			return err
		}
		if err := read(0); err != nil {
			t.Errorf("%v: %v", kind, err)
		}
		closed = storage.ErrState
		if err := read(1); !errors.Is(err, storage.ErrState) {
			t.Errorf("%v: read after closing: %v", kind, err)
		}
	}
}

func testText(k, row int) string {
	return fmt.Sprint(1000*k+row, "abcdefghijklmnopqrstuvwxyz"[:(k+row)%27])
}

// checkRead reports where the elements of column k that v selects are wrong.
func checkRead(t *testing.T, e serialize.Entry, k int, v views.View) {
	t.Helper()
	var got, want []any
	for at := range v.Positions() {
		if k%2 == 0 {
			want = append(want, int64(1000*k+at))
		} else {
			want = append(want, testText(k, at))
		}
	}
	if k%2 == 0 {
		elems, err := storage.Read[int64](e.Array.With(v))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range elems {
			got = append(got, x)
		}
	} else {
		var err error
		if got, err = e.Elements.Values(v); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("column %d, %v: %v; want %v", k, v, got, want)
	}
}

// TestColumnsAreReadInAnyOrder reads random rows, in blocks, backwards and in steps, of more
// columns than are decoded at a time, which go to memory or to a file.
func TestColumnsAreReadInAnyOrder(t *testing.T) {
	defer column.SetScratchMemory(column.SetScratchMemory(10_000))
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		list, _ := testTable(12)
		for range 100 {
			k := r.IntN(len(list))
			start := r.IntN(testRows)
			v, err := views.Of(testRows).Slice(0, start, start+r.IntN(testRows-start+1), 1+r.IntN(3))
			if err != nil {
				t.Fatal(err)
			}
			if r.IntN(4) == 0 {
				v, _ = v.Flip(0)
			}
			checkRead(t, list[k], k, v)
		}
	}
}

// TestRowsOfManyColumnsAreDecodedTwice goes through a table row by row. Each column is begun,
// and then decoded to the end once.
func TestRowsOfManyColumnsAreDecodedTwice(t *testing.T) {
	for _, n := range []int{4, 40} {
		list, decoded := testTable(n)
		for row := 0; row < testRows; row += 10 {
			for k, e := range list {
				checkRead(t, e, k, views.View{Offset: row, Shape: []int{10}, Stride: []int{1}})
			}
		}
		got := int(decoded.Load())
		if pages := (testRows + 6) / 7 * n; got < pages || n <= 8 && got > pages || got > pages+2*n {
			t.Errorf("%d columns: %d pages were decoded, of %d", n, got, pages)
		}
	}
}

// TestConcurrentReadsOfColumns reads the columns of a table from several goroutines.
func TestConcurrentReadsOfColumns(t *testing.T) {
	list, _ := testTable(12)
	done := make(chan bool)
	for g := range 4 {
		go func() {
			defer func() { done <- true }()
			r := rand.New(rand.NewPCG(3, uint64(g)))
			for range 200 {
				k := 2 * r.IntN(len(list)/2)
				row := r.IntN(testRows - 20)
				elems, err := storage.Read[int64](list[k].Array.With(views.View{Offset: row, Shape: []int{20}, Stride: []int{1}}))
				if err != nil || elems[19] != int64(1000*k+row+19) {
					t.Errorf("column %d, row %d: %v, %v", k, row, elems, err)
				}
			}
		}()
	}
	for range 4 {
		<-done
	}
}

// TestRepeatedStringsAreBounded: a string that is stored once for any number of rows takes part of the
// budget for each.
func TestRepeatedStringsAreBounded(t *testing.T) {
	const rows, stored = 5000, 1 << 20
	long := strings.Repeat("x", 1<<20)
	for _, limit := range []int{1 << 30, 5 << 30} {
		n := 0
		start := func() func(*column.Values) error {
			return func(v *column.Values) error {
				n += 100
				for range 100 {
					v.Texts = append(v.Texts, long)
				}
				return nil
			}
		}
		in := serialize.Input{Options: serialize.Options{Budget: storage.NewBudget(limit)}}
		c := &column.Column{Table: &column.Table{In: in, Rows: rows, Check: func() error { return nil }}, Stored: func() int { return stored }, Start: start}
		e, err := c.Entry("x")
		if err != nil {
			t.Fatal(err)
		}
		_, err = e.Elements.Values(e.Elements.View)
		var over *storage.BudgetError
		if refused := limit < rows<<20-1000*stored; errors.As(err, &over) != refused || n > rows {
			t.Errorf("limit of %d bytes: %v after %d rows", limit, err, n)
		}
	}
}
