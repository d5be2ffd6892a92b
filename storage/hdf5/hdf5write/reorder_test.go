package hdf5write

import (
	"hash/maphash"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

const reordered = 1000 // rows

// rowsFile writes a file with arrays of that many rows: the row number is in every element, and in a sparse matrix of it, of rows of
// different lengths, whose columns are numbers of rows, too.
func rowsFile(t *testing.T) (name string, order *RowOrder, offsets []int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	wide, square, numbers := make([]int32, reordered*7), make([]int16, reordered*reordered), make([]uint16, reordered)
	texts := make([]string, reordered)
	values, columns := []float32{}, []int32{}
	offsets = []int64{0}
	for row := range reordered {
		for k := range 7 {
			wide[row*7+k] = int32(10*row + k)
		}
		for k := range reordered {
			square[row*reordered+k] = int16(row - k)
		}
		numbers[row], texts[row] = uint16(row), strings.Repeat("x", row%50)+string(rune('a'+row%26))
		for range r.IntN(20) {
			values, columns = append(values, float32(row)), append(columns, int32(r.IntN(reordered)))
		}
		offsets = append(offsets, int64(len(values)))
	}
	name = filepath.Join(t.TempDir(), "rows.h5")
	w, err := Create(name, CreateOptions{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	packed := Layout{Chunks: []int{64}, Filters: []filter.Filter{filter.Shuffle(), filter.Deflate(1)}}
	for _, err := range []error{
		w.Write("/plain", storage.From(wide, reordered, 7)),
		w.WriteWith("/chunks", storage.From(wide, reordered, 7), Layout{Chunks: []int{60, 3}, Filters: packed.Filters}),
		w.WriteStrings("/texts", texts, reordered),
		w.WriteWith("/square", storage.From(square, reordered, reordered), Layout{Chunks: []int{100, 100}}),
		w.WriteWith("/numbers", storage.From(numbers, reordered), packed),
		w.WriteWith("/m/values", storage.From(values, len(values)), packed),
		w.WriteWith("/m/columns", storage.From(columns, len(columns)), packed),
		w.Write("/m/offsets", storage.From(offsets, len(offsets))),
		w.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if order, err = NewRowOrder(r.Perm(reordered)); err != nil {
		t.Fatal(err)
	}
	return name, order, offsets
}

// reorderOf returns how each dataset of a rowsFile is reordered.
func reorderOf(order *RowOrder, offsets []int64) func(d *hdf5.Dataset) *Reorder {
	mark := Attr{Name: "mark", Value: 7}
	return func(d *hdf5.Dataset) *Reorder {
		return map[string]*Reorder{
			"/plain": {Rows: order, Attr: mark}, "/chunks": {Rows: order}, "/texts": {Rows: order}, "/numbers": {Numbers: order}, "/square": {Rows: order, Columns: order},
			"/m/values": {Rows: order, Offsets: offsets}, "/m/columns": {Rows: order, Offsets: offsets, Numbers: order}, "/m/offsets": {Rows: order, Offsets: offsets, IsOffsets: true},
		}[d.Path]
	}
}

// TestReorderedRowsAreThoseOfTheOriginal copies rows in another order, with memory for all of them and for few.
func TestReorderedRowsAreThoseOfTheOriginal(t *testing.T) {
	name, order, offsets := rowsFile(t)
	for _, memory := range []int{0, 1 << 20, 100 << 10} {
		out := filepath.Join(t.TempDir(), "out.h5")
		report, err := repackTo(name, out, RepackOptions{Reorder: reorderOf(order, offsets), Memory: memory, NoSync: true})
		if err != nil || report.Reordered != 8 || len(report.Lost) > 0 {
			t.Fatalf("%d bytes: %+v, %v", memory, report, err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(out), ".*")); len(left) > 0 {
			t.Errorf("temporary files remain: %v", left)
		}
		made, err := hdf5.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
		plain, chunks, square := readAll(t, made, "/plain"), readAll(t, made, "/chunks"), readAll(t, made, "/square")
		numbers, values, columns, ends := readAll(t, made, "/numbers"), readAll(t, made, "/m/values"), readAll(t, made, "/m/columns"), readAll(t, made, "/m/offsets")
		before, err := hdf5.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer before.Close()
		columnsBefore := readAll(t, before, "/m/columns")
		texts, textsBefore := readTexts(t, made), readTexts(t, before)
		for to, row := range order.rows {
			if plain[to*7+6] != int64(10*row+6) || chunks[to*7+6] != int64(10*row+6) || texts[to] != textsBefore[row] || numbers[row] != int64(to) || square[to*reordered+5] != int64(row-order.rows[5]) {
				t.Fatalf("row %d of the copy is not row %d", to, row)
			}
			first, end := ends[to], ends[to+1]
			if end-first != offsets[row+1]-offsets[row] {
				t.Fatalf("row %d has %d elements, want %d", to, end-first, offsets[row+1]-offsets[row])
			}
			for k := first; k < end; k++ {
				if was := columnsBefore[offsets[row]+k-first]; values[k] != int64(row) || order.rows[columns[k]] != int(was) {
					t.Fatalf("row %d, element %d: %d in column %d", to, k-first, values[k], columns[k])
				}
			}
		}
		d, err := made.Dataset("/plain")
		if err != nil {
			t.Fatal(err)
		}
		if mark, err := d.Attribute("mark"); err != nil {
			t.Errorf("%v, %v", mark, err)
		}
	}
}

func readAll(t *testing.T, f *hdf5.File, path string) []int64 {
	t.Helper()
	d, err := f.Dataset(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	all, err := storage.Read[int64](a)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readTexts(t *testing.T, f *hdf5.File) []string {
	t.Helper()
	d, err := f.Dataset("/texts")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := d.Strings(d.View())
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestReorderRefusesWhatDoesNotFit: an order of other rows, offsets that do not end where the elements do, numbers that are no rows.
func TestReorderRefusesWhatDoesNotFit(t *testing.T) {
	name, order, offsets := rowsFile(t)
	short, err := NewRowOrder([]int{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]map[string]*Reorder{
		"want 2 rows":                        {"/plain": {Rows: short}},
		"want 2 columns":                     {"/square": {Rows: order, Columns: short}},
		"want one axis":                      {"/plain": {Rows: order, Offsets: offsets}},
		"999 offsets":                        {"/m/values": {Rows: order, Offsets: offsets[:999]}},
		"do not ascend":                      {"/m/offsets": {Rows: order, Offsets: slices.Repeat([]int64{1}, reordered+1), IsOffsets: true}},
		"want integers":                      {"/m/values": {Numbers: order}},
		"is the number of a row, of 2":       {"/numbers": {Numbers: short}},
		"more than half of the memory limit": {"/square": {Rows: order}},
	} {
		out, memory := filepath.Join(t.TempDir(), "out.h5"), 0
		if strings.Contains(want, "memory") {
			memory = 3000
		}
		_, err := repackTo(name, out, RepackOptions{Reorder: func(d *hdf5.Dataset) *Reorder { return o[d.Path] }, Memory: memory})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if _, err := NewRowOrder([]int{0, 0}); err == nil {
		t.Error("row 0 twice is an order")
	}
}

// TestExchangedRowsAreNoticed compares a dataset with the sum of its rows, and with the sum of rows two of which were exchanged.
func TestExchangedRowsAreNoticed(t *testing.T) {
	name, _, _ := rowsFile(t)
	f, err := hdf5.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := &repacker{ctx: t.Context(), f: f, o: RepackOptions{Memory: 100 << 10, Progress: func(string, int) {}}}
	for _, path := range []string{"/plain", "/texts", "/numbers"} {
		d, err := f.Dataset(path)
		if err != nil {
			t.Fatal(err)
		}
		o := &Reorder{}
		for _, exchanged := range []bool{false, true} {
			sum := &rowSum{seed: maphash.MakeSeed()}
			err := r.rowBlocks(o.rows(d), func(first, n int, _ hyperslab, data []byte) error {
				for k := range n {
					place := first + k
					if exchanged && place < 2 {
						place = 1 - place
					}
					if err := sum.add(d, place, data[k*len(data)/n:(k+1)*len(data)/n]); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.compareReordered(copied{reorder: o, sum: sum}, d); (err != nil) != exchanged {
				t.Errorf("%s, two rows exchanged %v: %v", path, exchanged, err)
			}
		}
	}
}
