package propose

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// facts are what sampled elements say.
type facts struct {
	n        int // elements, with missing ones
	missing  int // NaN or infinite
	integers bool
	min, max float64
	counts   map[string]int // of each value, as text; nil if there are more than mostCounted
	distinct int            // mostCounted+1 stands for more
	rising   bool           // each element is larger than the one before
	even     bool           // and by the same step
}

// mostCounted is the number of different values that are counted.
const mostCounted = 1 << 16

// factsOf examines a sample.
func factsOf(a *Array) facts {
	if a.Kind == Texts {
		f := facts{n: len(a.Sample.Texts)}
		f.count(slices.Values(a.Sample.Texts))
		return f
	}
	values := a.Sample.Values
	f := facts{n: len(values), integers: true, min: math.Inf(1), max: math.Inf(-1), rising: len(a.Row) == 0 && len(values) > 1, even: true}
	for i, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			f.missing++
			f.rising = false
			continue
		}
		f.min, f.max = min(f.min, x), max(f.max, x)
		f.integers = f.integers && x == math.Trunc(x)
		if i > 0 {
			f.rising = f.rising && x > values[i-1]
			f.even = f.even && math.Abs(x-values[i-1]-(values[1]-values[0])) <= 1e-3*math.Abs(values[1]-values[0])
		}
	}
	f.even = f.even && f.rising
	f.count(func(yield func(string) bool) {
		for _, x := range values {
			if !math.IsNaN(x) && !math.IsInf(x, 0) && !yield(fmt.Sprint(x)) {
				return
			}
		}
	})
	return f
}

// count counts different values.
func (f *facts) count(values func(yield func(string) bool)) {
	f.counts = map[string]int{}
	for v := range values {
		if f.counts[v]++; len(f.counts) > mostCounted {
			f.counts, f.distinct = nil, mostCounted+1
			return
		}
	}
	f.distinct = len(f.counts)
}

func (f facts) constant() bool { return f.n > 0 && f.distinct <= 1 }

// unique reports whether no two elements are equal.
func (f facts) unique() bool { return f.n > 1 && (f.distinct == f.n-f.missing || f.counts == nil) }

// binary reports whether the elements are 0 and 1.
func (f facts) binary() bool { return f.integers && f.distinct == 2 && f.min == 0 && f.max == 1 }

// rarest returns the smallest and largest share of a value.
func (f facts) shares() (rarest, commonest float64) {
	counts := slices.Sorted(maps.Values(f.counts))
	if len(counts) == 0 {
		return 0, 0
	}
	return float64(counts[0]) / float64(f.n), float64(counts[len(counts)-1]) / float64(f.n)
}

// someValues lists the most common values.
func (f facts) someValues(most int) string {
	values := slices.SortedFunc(maps.Keys(f.counts), func(a, b string) int {
		if d := f.counts[b] - f.counts[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	if len(values) > most {
		values = append(values[:most], "…")
	}
	return strings.Join(values, ", ")
}

// smoothness returns the correlation of neighbours along an axis of the rows, after the mean
// of each element over the rows is subtracted: near 0 for the columns of a table, near 1
// for pixels and samples of a signal.
func (a *Array) smoothness(axis int) float64 {
	size := product(a.Row)
	if size == 0 || axis >= len(a.Row) {
		return 0
	}
	rows := len(a.Sample.Values) / size
	mean := make([]float64, size)
	for i, x := range a.Sample.Values {
		mean[i%size] += x / float64(rows)
	}
	step := product(a.Row[axis+1:])
	var both, square float64
	for i, x := range a.Sample.Values {
		d := x - mean[i%size]
		if math.IsNaN(d) {
			continue
		}
		square += d * d
		if i%size/step%a.Row[axis] > 0 {
			if near := a.Sample.Values[i-step] - mean[(i-step)%size]; !math.IsNaN(near) {
				both += d * near
			}
		}
	}
	if square == 0 {
		return 0
	}
	return both / square
}

// persistence returns the correlation of neighbouring rows: near 1 for a series over time.
func (a *Array) persistence() float64 {
	size := product(a.Row)
	if size == 0 {
		return 0
	}
	rows := len(a.Sample.Values) / size
	mean := make([]float64, size)
	for i, x := range a.Sample.Values {
		mean[i%size] += x / float64(max(1, rows))
	}
	var both, square float64
	first := 0 // of the block
	for _, block := range a.Sample.Blocks {
		for row := first; row < first+block && row < rows; row++ {
			for k := range size {
				d := a.Sample.Values[row*size+k] - mean[k]
				if math.IsNaN(d) {
					continue
				}
				square += d * d
				if row > first {
					if before := a.Sample.Values[(row-1)*size+k] - mean[k]; !math.IsNaN(before) {
						both += d * before
					}
				}
			}
		}
		first += block
	}
	if square == 0 {
		return 0
	}
	return both / square
}

// padded reports whether zeros occur at one end of the rows only, as padding does.
func (a *Array) padded() bool {
	size := product(a.Row)
	for row := 0; row+size <= len(a.Sample.Values); row += size {
		changes := 0
		for k := 1; k < size; k++ {
			if (a.Sample.Values[row+k] == 0) != (a.Sample.Values[row+k-1] == 0) {
				changes++
			}
		}
		if changes > 1 {
			return false
		}
	}
	return true
}

func product(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}
