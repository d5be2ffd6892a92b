package dataset

import (
	"fmt"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestBlocksHoldEachRowOnce loads windows of four rows, two apart, of chunks of 20 rows: the cache has the rows of open
// blocks once, which take a quarter of the samples in them, and samples are the same from all, some and several files.
func TestBlocksHoldEachRowOnce(t *testing.T) {
	const n, width, row = 400, 4, 3
	values := make([]float32, n*row)
	for k := range values {
		values[k] = float32(k)
	}
	fake := newFake(storage.From(values, n, row), 20)
	windows := must[storage.Array](t)(SlidingWindows(fake.Array(), 2*width-1))
	some := windows.With(must[views.View](t)(windows.View.Index(":, ::2")))
	first := fake.Array().With(samples(fake.Array().View, 0, some.Shape[0]))
	whole := must[Dataset](t)(FromArrays(input("x", some), target("first", first)))
	var starts []int
	for k := range whole.Len() {
		if k%50 < 40 {
			starts = append(starts, k)
		}
	}
	subset := must[Dataset](t)(Subset(whole, starts))
	for name, c := range map[string]struct {
		d      Dataset
		origin func(int) int
	}{
		"all": {whole, same}, "episodes": {subset, func(k int) int { return starts[k] }},
		"files": {must[Dataset](t)(Concat(whole, whole)), func(k int) int { return k % whole.Len() }},
	} {
		for _, memory := range []int64{0, 16 << 10} {
			t.Run(fmt.Sprintf("%s in %d bytes", name, memory), func(t *testing.T) {
				clear(fake.decoded)
				l := must[*Loader](t)(NewLoader(c.d, Options{BatchSize: 8, Window: 4, Workers: 2, Memory: memory}))
				if all := l.cache.all; all != (memory == 0) || l.cache.rows == nil {
					t.Fatalf("all blocks in memory: %v, as rows: %v", all, l.cache.rows != nil)
				}
				for epoch := range 2 {
					var seen []int
					for b, err := range l.Epoch(t.Context(), epoch, 0) {
						if err != nil {
							t.Fatal(err)
						}
						x, y := storage.Elements[float32](b.Fields[0]), storage.Elements[float32](b.Fields[1])
						for k, sample := range b.Rows {
							seen = append(seen, sample)
							at := c.origin(sample)
							for j := range width * row {
								if got, want := x[k*width*row+j], values[(at+j/row*2)*row+j%row]; got != want {
									t.Fatalf("sample %d, number %d: %v, want %v", sample, j, got, want)
								}
							}
							if y[k*row] != values[at*row] {
								t.Fatalf("sample %d: target %v, want %v", sample, y[k*row], values[at*row])
							}
						}
					}
					if slices.Sort(seen); len(seen) != c.d.Len() || len(slices.Compact(seen)) != len(seen) {
						t.Fatalf("%d of %d samples", len(seen), c.d.Len())
					}
				}
			})
		}
	}
}
