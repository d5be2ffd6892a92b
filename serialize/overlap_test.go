package serialize_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
)

// TestOverlappingComparesAllPairs with a loop over them.
func TestOverlappingComparesAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var list []serialize.Extent
		for i := range r.IntN(9) {
			list = append(list, serialize.Extent{Name: fmt.Sprint(i), File: r.IntN(2), At: r.Int64N(12), Size: r.Int64N(5)})
		}
		want := map[string]bool{}
		for _, x := range list {
			for _, y := range list {
				same := x.At == y.At && x.Size == y.Size
				if x.File == y.File && !same && x.Size > 0 && y.Size > 0 && x.At < y.At+y.Size && y.At < x.At+x.Size {
					want[x.Name] = true
				}
			}
		}
		got := serialize.Overlapping(slices.Clone(list))
		for _, x := range list {
			if _, found := got[x.Name]; found != want[x.Name] {
				t.Fatalf("%v: %s overlaps another: %v; want %v", list, x.Name, found, want[x.Name])
			}
		}
	}
}
