package dataset

import (
	"math"
	"slices"
	"testing"
)

func TestPermutationsAreBijections(t *testing.T) {
	sizes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 16, 17, 63, 64, 65, 99, 100, 101, 255, 256, 257, 1000, 4095, 4096, 4097, 60_000, 65_537, 1_000_003}
	for _, n := range sizes {
		for key := range uint64(max(2, min(200, 10_000/n))) {
			seen := make([]bool, n)
			p := permute(n, mix(key, 1))
			for i := range n {
				to := p.at(i)
				if to < 0 || to >= n || seen[to] {
					t.Fatalf("n=%d, key %d: %d goes to %d, which is outside or taken", n, key, i, to)
				}
				seen[to] = true
			}
		}
	}
}

// TestPermutationsReachEveryOrder counts the orders of four elements over many
// keys. All 24 must come up about as often: a χ² of 23 degrees of freedom
// exceeds 49.7 once in a thousand fair trials, and the keys here are fixed.
func TestPermutationsReachEveryOrder(t *testing.T) {
	const keys = 24_000
	counts := map[[4]int]int{}
	for key := range uint64(keys) {
		p := permute(4, mix(key, 7))
		counts[[4]int{p.at(0), p.at(1), p.at(2), p.at(3)}]++
	}
	if got := chiSquare(counts, 24, keys); got > 49.7 {
		t.Errorf("χ² of the 24 orders is %.1f over %d keys, want at most 49.7", got, keys)
	}
}

// TestPermutationsSpreadEveryElement looks at where single elements and
// neighbouring pairs go, for a few sizes, over many keys.
func TestPermutationsSpreadEveryElement(t *testing.T) {
	const keys = 20_000
	for _, n := range []int{2, 5, 10, 37, 64, 65, 100, 4096, 5000} {
		for _, i := range []int{0, n / 2, n - 1} {
			to, gap := map[int]int{}, map[int]int{}
			for key := range uint64(keys) {
				p := permute(n, mix(key, 3))
				to[p.at(i)]++
				gap[(p.at((i+1)%n)-p.at(i)+n)%n]++
			}
			for what, counts := range map[string]map[int]int{"place": to, "distance to its neighbour": gap} {
				cells := n
				if what != "place" {
					cells = n - 1
				}
				// The mean of χ² is cells-1 and its deviation √(2·(cells-1)); 4 deviations.
				if got, most := chiSquare(counts, cells, keys), float64(cells-1)+4*math.Sqrt(2*float64(cells-1)); got > most {
					t.Errorf("n=%d: χ² of element %d's %s is %.1f, want at most %.1f", n, i, what, got, most)
				}
			}
		}
	}
}

func chiSquare[K comparable](counts map[K]int, cells, total int) float64 {
	want := float64(total) / float64(cells)
	sum := want * float64(cells-len(counts)) // those that never came up
	for _, got := range counts {
		sum += (float64(got) - want) * (float64(got) - want) / want
	}
	return sum
}

func TestShuffleKeepsElements(t *testing.T) {
	for n := range 50 {
		s := make([]int, n)
		for i := range s {
			s[i] = i
		}
		shuffle(s, uint64(n))
		slices.Sort(s)
		for i, got := range s {
			if got != i {
				t.Fatalf("n=%d: sorted shuffle has %d at %d, want %d", n, got, i, i)
			}
		}
	}
}

func BenchmarkPermutation(b *testing.B) {
	p := permute(60_000, 42)
	i := 0
	for b.Loop() {
		p.at(i % 60_000)
		i++
	}
}
