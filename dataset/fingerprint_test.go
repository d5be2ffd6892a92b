package dataset

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// TestFingerprintFollowsFromTheData holds that storage and layout do not change a
// fingerprint, and that fields, their number, types, shapes and values do.
func TestFingerprintFollowsFromTheData(t *testing.T) {
	x, y := pairs(1000)
	print := func(fields ...NamedArray) string {
		return must[string](t)(Fingerprint(must[Dataset](t)(FromArrays(fields...))))
	}
	want := print(input("x", x), target("y", y))
	if got := print(input("x", newFake(x, 7).Array()), target("y", newFake(y, 100).Array())); got != want {
		t.Errorf("chunked: %s, in memory: %s", got, want)
	}
	half := func(a storage.Array, first, end int) storage.Array {
		v, err := a.View.Slice(0, first, end, 1)
		if err != nil {
			t.Fatal(err)
		}
		return a.With(v)
	}
	front := must[Dataset](t)(FromArrays(input("x", half(x, 0, 300)), target("y", half(y, 0, 300))))
	back := must[Dataset](t)(FromArrays(input("x", half(x, 300, 1000)), target("y", half(y, 300, 1000))))
	if got := must[string](t)(Fingerprint(must[Dataset](t)(Concat(front, back)))); got != want {
		t.Errorf("in two parts: %s, in one: %s", got, want)
	}

	seen := map[string]string{want: "itself"}
	changed := func(how string, fields ...NamedArray) {
		got := print(fields...)
		if other, known := seen[got]; known {
			t.Errorf("data with %s has the fingerprint of %s", how, other)
		}
		seen[got] = how
	}
	values := slices.Clone(storage.Elements[int64](y))
	values[999]++
	last := storage.From(values, 1000)
	bits := storage.Array{Data: y.Data, Type: dtype.Uint64, View: y.View}
	changed("another last label", input("x", x), target("y", last))
	changed("another role", input("x", x), input("y", y))
	changed("another name", input("x", x), target("z", y))
	changed("another type", input("x", x), target("y", bits))
	changed("a sample less", input("x", half(x, 0, 999)), target("y", half(y, 0, 999)))
	changed("a field less", input("x", x))
	changed("no samples", input("x", half(x, 0, 0)), target("y", half(y, 0, 0)))
}

func TestSpreadRowsReachBothEnds(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, 63, 64, 65, 1000, 1<<62 + 3} {
		rows := spreadRows(n, 64)
		if len(rows) != min(n, 64) || !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != len(rows) {
			t.Errorf("of %d: %v", n, rows)
		} else if n > 0 && (rows[0] != 0 || n > 1 && rows[len(rows)-1] != n-1) {
			t.Errorf("of %d: from %d to %d", n, rows[0], rows[len(rows)-1])
		}
	}
}
