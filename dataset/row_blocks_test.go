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

// partsFake is a fake source whose chunks have parts that are decoded alone.
type partsFake struct {
	*fakeSource
	part int
}

func (f *partsFake) PartBytes() int { return f.part }

// TestAutoChoosesByCost: rows of chunks are shuffled exactly if a row costs little more alone, and the plan says what it
// costs; windows are not, as blocks of them decode each row once.
func TestAutoChoosesByCost(t *testing.T) {
	const n, row, chunk = 4000, 1000, 100
	numbers := storage.From(make([]float32, n*row), n, row)
	for _, c := range []struct {
		part, steps int
		want        Shuffle
		exact       float64 // samples decoded for each one; 0 if these are whole chunks
	}{
		{0, 1, Window, 0},
		{400, 1, Exact, 1.1},
		{4000, 1, Window, 2},
		{40000, 1, Window, 0},
		{400, 6, Window, 1.1},
		{4000, 2, Window, 2},
	} {
		fake := &partsFake{newFake(numbers, chunk), c.part}
		a := storage.Array{Data: fake, Type: numbers.Type, View: numbers.View}
		if c.steps > 1 {
			a = must[storage.Array](t)(SlidingWindows(a, 2*c.steps-1))
			a = a.With(must[views.View](t)(a.View.Index(":, ::2")))
		}
		d := must[Dataset](t)(FromArrays(input("x", a)))
		if got := must[*Loader](t)(NewLoader(d, Options{BatchSize: 64, OrderOnly: true})).Plan().Shuffle; got != c.want {
			t.Errorf("parts of %d bytes, windows of %d rows: shuffle %v, want %v", c.part, c.steps, got, c.want)
		}
		if got := Describe(d).ExactAmplification(64); c.exact > 0 && max(got-c.exact, c.exact-got) > 0.01 {
			t.Errorf("parts of %d bytes, windows of %d rows: an exact shuffle decodes %v, want %v", c.part, c.steps, got, c.exact)
		}
	}
}
