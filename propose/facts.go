package propose

import (
	"maps"
	"math"
	"slices"
)

// facts are the properties of sampled elements.
type facts struct {
	n        int // elements, with missing ones
	missing  int // NaN or infinite
	integers bool
	min, max float64
	mean     float64
	std      float64        // the standard deviation
	texts    map[string]int // how often each string occurs; nil for numbers
	counts   []int          // how often each value occurs, in ascending order; nil if there are more than mostCounted
	distinct int            // the number of different values; mostCounted+1 stands for more
	rising   bool           // each element is larger than the one before in its episode
	even     bool           // and by the same step
}

// mostCounted is the number of different values that are counted.
const mostCounted = 1 << 16

// factsOf examines a sample.
func factsOf(a *Array) facts {
	if a.Kind == Texts {
		f := facts{n: len(a.Sample.Texts)}
		f.texts = countsOf(&f, a.Sample.Texts)
		return f
	}
	values := a.Sample.Values
	f := facts{n: len(values), integers: true, min: math.Inf(1), max: math.Inf(-1), rising: len(a.Row) == 0 && len(values) > 1, even: true}
	starts := map[int]bool{0: true}
	if len(a.Rows) > 1 && len(values) >= fewSamples*len(a.Sample.Blocks) { // a few rows of an episode rise by chance
		starts = a.starts()
	}
	var finite []float64
	for i, x := range values {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			f.missing++
			f.rising = false
			continue
		}
		finite = append(finite, x)
		f.mean += x
		f.min, f.max = min(f.min, x), max(f.max, x)
		f.integers = f.integers && x == math.Trunc(x)
		if !starts[i] {
			f.rising = f.rising && x > values[i-1]
			f.even = f.even && math.Abs(x-values[i-1]-(values[1]-values[0])) <= 1e-3*math.Abs(values[1]-values[0])
		}
	}
	f.even = f.even && f.rising
	f.mean /= float64(max(1, len(finite)))
	for _, x := range finite {
		f.std += (x - f.mean) * (x - f.mean)
	}
	f.std = math.Sqrt(f.std / float64(max(1, len(finite))))
	countsOf(&f, finite)
	return f
}

// countsOf counts different values, and returns how often each occurs unless there are more
// than mostCounted.
func countsOf[T comparable](f *facts, values []T) map[T]int {
	all := map[T]int{}
	for _, v := range values {
		if all[v]++; len(all) > mostCounted {
			f.distinct = mostCounted + 1
			return nil
		}
	}
	f.counts, f.distinct = slices.Sorted(maps.Values(all)), len(all)
	return all
}

func (f facts) constant() bool { return f.n > 0 && f.distinct <= 1 }

// unique reports whether no two elements are equal.
func (f facts) unique() bool { return f.n > 1 && (f.distinct == f.n-f.missing || f.counts == nil) }

// binary reports whether the elements are 0 and 1.
func (f facts) binary() bool { return f.integers && f.distinct == 2 && f.min == 0 && f.max == 1 }

// shares returns the share of the rarest and of the commonest value, which are counted.
func (f facts) shares() (rarest, commonest float64) {
	return float64(f.counts[0]) / float64(f.n), float64(f.counts[len(f.counts)-1]) / float64(f.n)
}

// smoothness returns the correlation of neighbours along an axis of the rows: near 0 for the
// columns of a table, near 1 for pixels and samples of a signal.
func (a *Array) smoothness(axis int) float64 {
	step := product(a.Row[axis+1:])
	return a.correlation(step, func(i int) bool { return i/step%a.Row[axis] > 0 })
}

// persistence returns the correlation of neighbouring rows: near 1 for a series over time.
func (a *Array) persistence() float64 {
	size, starts := product(a.Row), a.starts()
	return a.correlation(size, func(i int) bool { return !starts[i/size] })
}

// starts returns the sampled rows that do not follow the row before.
func (a *Array) starts() map[int]bool {
	starts, row := map[int]bool{0: true}, 0
	for _, block := range a.Sample.Blocks {
		starts[row] = true
		row += block
	}
	return starts
}

// correlation returns the correlation of elements with the elements one step before, for
// elements whose predecessor is a neighbour, both not missing. The mean of each element over the
// rows is subtracted first.
func (a *Array) correlation(step int, hasNeighbour func(i int) bool) float64 {
	size := product(a.Row)
	mean, count := make([]float64, size), make([]float64, size)
	for i, x := range a.Sample.Values {
		if !math.IsNaN(x) {
			mean[i%size] += x
			count[i%size]++
		}
	}
	for k := range mean {
		mean[k] /= max(1, count[k])
	}
	var both, square float64
	for i, x := range a.Sample.Values {
		d := x - mean[i%size]
		if math.IsNaN(d) {
			continue
		}
		square += d * d
		if hasNeighbour(i) {
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
