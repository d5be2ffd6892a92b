package blocks

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// TestGridsCoverAShapeOnce counts how often each element of a shape is in a box of whole units.
func TestGridsCoverAShapeOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		shape, unit := make([]int, r.IntN(4)), []int(nil)
		for axis := range shape {
			shape[axis] = 1 + r.IntN(9)
			unit = append(unit, 1+r.IntN(4))
		}
		n := 1 + r.IntN(40)
		size := BoxShape(shape, unit, n)
		counts := make([]uint8, views.Of(shape...).Len())
		a := storage.From(counts, shape...)
		for b := range Grid(shape, size) {
			volume := 1
			for axis := range b.Count {
				volume *= unit[axis]
				if b.Start[axis]%unit[axis] != 0 {
					t.Fatalf("a box of %v in units of %v begins at %v", shape, unit, b.Start)
				}
			}
			if got := views.Of(b.Count...).Len(); got > max(n, volume) {
				t.Fatalf("a box of %v elements; want %d at most", b.Count, max(n, volume))
			}
			views.Walk(func(at, step []int, n int) {
				for i := range n {
					counts[at[0]+i*step[0]]++
				}
			}, b.Of(a.View))
		}
		if slices.ContainsFunc(counts, func(k uint8) bool { return k != 1 }) {
			t.Fatalf("%v in boxes of %v: elements are in boxes %v times", shape, size, counts)
		}
	}
	for range Grid([]int{3, 0}, BoxShape([]int{3, 0}, []int{2, 2}, 8)) {
		t.Error("an empty shape has a box")
	}
}
