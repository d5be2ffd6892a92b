package dataset

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestClippedWindowsOfEverySource: in every order, each window once, with the first and last rows of its episode in
// the place of rows beyond, and each chunk decoded about once for an epoch by window.
func TestClippedWindowsOfEverySource(t *testing.T) {
	const n, span = 100, 6
	values := make([]int32, 2*n)
	for k := range values {
		values[k] = int32(k)
	}
	all := storage.From(values, n, 2)
	var list []ClippedWindow
	for _, bounds := range [][2]int{{0, 3}, {4, 60}, {61, 99}} {
		for start := bounds[0] - 3; start+span-1 <= bounds[1]+2; start++ {
			list = append(list, ClippedWindow{start, bounds[0], bounds[1]})
		}
	}
	decoded := newFake(all, 20)
	for name, rows := range map[string]storage.Array{"memory": all, "ranges": newUncompressed(all, 1).Array(), "chunks": decoded.Array()} {
		offsets := [][]int{{0, 1, 2, 3, 4, 5}, {1, 3, 5}, {4}}
		windows := must[storage.Array](t)(SlidingWindows(rows, span))
		some := windows.With(must[views.View](t)(windows.View.Index(":, 1::2")))
		single := rows.With(samples(rows.View, 4, n-span+1))
		named := func(a storage.Array, field string) NamedArray { return NamedArray{Name: field, Array: a} }
		whole := must[Dataset](t)(FromArrays(named(windows, "all"), named(some, "some"), named(single, "one")))
		d := must[Dataset](t)(ClipWindows(whole, []WindowRows{{named(rows, "all"), offsets[0], true}, {named(rows, "some"), offsets[1], true}, {named(rows, "one"), offsets[2], false}}, list))
		if some := Project(d, 1); !slices.Equal(some.Fields()[0].Shape, []int{3, 2}) || some.Len() != len(list) {
			t.Errorf("%s: projected to %d samples of %v", name, some.Len(), some.Fields())
		}
		for _, shuffle := range []Shuffle{None, Exact, Window} {
			clear(decoded.decoded)
			seen := make([]int, len(list))
			for b, err := range Load(t.Context(), d, Options{BatchSize: 7, Shuffle: shuffle, Window: 2, Workers: 2}) {
				if err != nil {
					t.Fatal(name, err)
				}
				for k, row := range b.Rows {
					seen[row]++
					w := list[row]
					for f, field := range offsets {
						got := storage.Elements[int32](b.Fields[f])[2*k*len(field):]
						for j, offset := range field {
							if want := int32(2 * min(max(w.Start+offset, w.First), w.Last)); got[2*j] != want || got[2*j+1] != want+1 {
								t.Fatalf("%s, %v: window %v, field %d, row %d: %v, want %d and the next", name, shuffle, w, f, j, got[2*j:2*j+2], want)
							}
						}
					}
				}
			}
			if slices.ContainsFunc(seen, func(n int) bool { return n != 1 }) {
				t.Errorf("%s, %v: samples seen %v times", name, shuffle, seen)
			}
			if times, _ := decoded.most(); name == "chunks" && shuffle == Window && times > 24 { // three fields, blocks beside it, edges
				t.Errorf("a chunk was decoded %d times", times)
			}
		}
	}
}
