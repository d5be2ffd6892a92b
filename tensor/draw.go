package tensor

import (
	"math"
	"slices"
	"sort"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Random constants in host memory. The methods of a [Key] draw from its stream: equal keys give equal numbers, of any
// type, on every device. The functions of the same names draw from a stream of their own each time: see [ManualSeed].

// Uniform returns numbers that are uniform in [low, high).
func (key Key) Uniform(t dtype.Type, low, high float64, shape ...int) *Tensor {
	return key.draw("uniform", kernels.Uniform, t, low, high, shape)
}

// Normal returns normal numbers.
func (key Key) Normal(t dtype.Type, mean, std float64, shape ...int) *Tensor {
	return key.draw("normal", kernels.Normal, t, mean, std, shape)
}

// Rand returns numbers that are uniform in [0, 1).
func (key Key) Rand(t dtype.Type, shape ...int) *Tensor { return key.Uniform(t, 0, 1, shape...) }

// Randn returns standard normal numbers.
func (key Key) Randn(t dtype.Type, shape ...int) *Tensor { return key.Normal(t, 0, 1, shape...) }

// RandInt returns integers that are uniform from low to high-1, which type t holds; high-low is at most 2⁴⁰.
func (key Key) RandInt(t dtype.Type, low, high int64, shape ...int) *Tensor {
	n := uint64(high) - uint64(low)
	if low >= high || n > 1<<40 {
		fail("rand int", ErrShape, "from %d to below %d; want 1 to 2⁴⁰ integers", low, high)
	}
	if t.IsInt() && !(holds(t, storage.From([]int64{low})) && holds(t, storage.From([]int64{high - 1}))) {
		fail("rand int", ErrType, "%v does not hold the integers from %d to below %d", t, low, high)
	}
	elems := make([]int64, views.Of(shape...).Len())
	for i, u := range key.fractions("rand int", len(elems)) {
		elems[i] = low + int64(u*float64(n))
	}
	return FromSlice(elems, shape...).Cast(t)
}

// Permutation returns the integers from 0 to n-1, as int64, in random order.
func (key Key) Permutation(n int) *Tensor {
	if n < 0 {
		fail("permutation", ErrShape, "of %d", n)
	}
	a := arange(n)
	elems := storage.Elements[int64](a)
	for i, u := range key.fractions("permutation", n) { // Fisher and Yates
		k := i + int(u*float64(n-i))
		elems[i], elems[k] = elems[k], elems[i]
	}
	return FromArray(a)
}

// Bernoulli returns 1 with the probability that p holds in its place, and 0 otherwise, on the device and of the type of p.
func (key Key) Bernoulli(p *Tensor) *Tensor {
	checkGiven("bernoulli", p)
	return p.drawLike("bernoulli", kernels.Uniform, 0, 1, &key).Lt(p).Cast(p.DType())
}

// Multinomial draws n indices, as int64, from each row of weights, (k) or (rows, k), that are not negative and need not
// add up to 1. Without replacement no index comes twice. It reads the weights, and so waits for their device.
func (key Key) Multinomial(weights *Tensor, n int, replacement bool) *Tensor {
	const act = "multinomial"
	if checkGiven(act, weights); weights.Rank() < 1 || weights.Rank() > 2 || n < 0 {
		fail(act, ErrShape, "%d indices of weights %v; want (k) or (rows, k)", n, weights.Shape())
	}
	k := weights.Shape()[weights.Rank()-1]
	shape := append(slices.Clone(weights.Shape()[:weights.Rank()-1]), n)
	drawn, all := make([]int64, 0, views.Of(shape...).Len()), Values[float64](weights)
	count := k // of random numbers for a row
	if replacement {
		count = n
	}
	rows := views.Of(shape[:len(shape)-1]...).Len()
	u := key.fractions(act, rows*count)
	for row := range rows {
		w := all[row*k : (row+1)*k]
		total, positive := 0.0, 0
		for _, x := range w {
			if !(x >= 0) || math.IsInf(x, 1) {
				fail(act, ErrState, "weight %v; want finite ones, not negative", x)
			}
			if total += x; x > 0 {
				positive++
			}
		}
		if n > 0 && positive == 0 || n > positive && !replacement {
			fail(act, ErrShape, "%d indices of %d positive weights", n, positive)
		}
		if u := u[row*count : (row+1)*count]; replacement {
			drawn = append(drawn, drawReplacing(w, total, u)...)
		} else {
			drawn = append(drawn, drawDistinct(w, n, u)...)
		}
	}
	return weights.onDevice(storage.From(drawn, shape...))
}

// drawReplacing returns, for each u, the index whose part of the sum of the weights it falls in.
func drawReplacing(w []float64, total float64, u []float64) []int64 {
	sums, sum := make([]float64, len(w)), 0.0
	for i, x := range w {
		sum += x
		sums[i] = sum
	}
	drawn := make([]int64, len(u))
	for i, u := range u {
		at := sort.Search(len(w)-1, func(k int) bool { return sums[k] > u*total })
		for w[at] == 0 { // after the last of positive weight, by rounding
			at--
		}
		drawn[i] = int64(at)
	}
	return drawn
}

// drawDistinct returns the n indices whose exponential times, at rates of their weights, are the first (Efraimidis and
// Spirakis, doi:10.1016/j.ipl.2005.11.003).
func drawDistinct(w []float64, n int, u []float64) []int64 {
	times, order := make([]float64, len(w)), storage.Elements[int64](arange(len(w)))
	for i, x := range w {
		times[i] = -math.Log1p(-u[i]) / x
		if x == 0 {
			times[i] = math.Inf(1)
		}
	}
	sort.SliceStable(order, func(i, j int) bool { return times[order[i]] < times[order[j]] })
	return order[:n]
}

// fractions returns n numbers of 48 random bits in [0, 1).
func (key Key) fractions(act string, n int) []float64 {
	pairs := Values[float64](key.draw(act, kernels.Uniform, dtype.Float64, 0, 1, []int{n, 2}))
	u := make([]float64, n)
	for i := range u {
		u[i] = pairs[2*i] + pairs[2*i+1]*0x1p-24
	}
	return u
}

// draw returns random numbers in host memory.
func (key Key) draw(act string, k *kernels.Kernel, t dtype.Type, a, b float64, shape []int) *Tensor {
	x := empty(act, t, shape)
	key.fill(act, k, x.array, a, b)
	return x
}

// fill sets the elements of y to random numbers.
func (key Key) fill(act string, k *kernels.Kernel, y storage.Array, a, b float64) {
	options := kernels.RandomOptions{Seed: key.Seed, Stream: key.Stream, A: a, B: b}
	if key.Base == nil {
		run(act, k, options, []storage.Array{y})
		return
	}
	if key.Base.Data.Device() != y.Data.Device() {
		fail(act, ErrState, "on %v with the key of a step that is captured on %v", y.Data.Device(), key.Base.Data.Device())
	}
	run(act, k, options, []storage.Array{y}, *key.Base)
}

// drawLike returns random numbers of x's shape, on its device, by key, or by the next key of x.
func (x *Tensor) drawLike(act string, k *kernels.Kernel, a, b float64, key *Key) *Tensor {
	y := EmptyLike(x)
	if key == nil {
		next, _ := x.NextKey()
		key = &next
	}
	key.fill(act, k, y.array, a, b)
	return y
}

// Uniform is [Key.Uniform] of the next stream.
func Uniform(t dtype.Type, low, high float64, shape ...int) *Tensor {
	return nextKeys().Uniform(t, low, high, shape...)
}

// Normal is [Key.Normal] of the next stream.
func Normal(t dtype.Type, mean, std float64, shape ...int) *Tensor {
	return nextKeys().Normal(t, mean, std, shape...)
}

// Rand is [Key.Rand] of the next stream.
func Rand(t dtype.Type, shape ...int) *Tensor { return nextKeys().Rand(t, shape...) }

// Randn is [Key.Randn] of the next stream.
func Randn(t dtype.Type, shape ...int) *Tensor { return nextKeys().Randn(t, shape...) }

// RandInt is [Key.RandInt] of the next stream.
func RandInt(t dtype.Type, low, high int64, shape ...int) *Tensor {
	return nextKeys().RandInt(t, low, high, shape...)
}

// Permutation is [Key.Permutation] of the next stream.
func Permutation(n int) *Tensor { return nextKeys().Permutation(n) }

// Bernoulli is [Key.Bernoulli] of the next stream.
func Bernoulli(p *Tensor) *Tensor { return nextKeys().Bernoulli(p) }

// Multinomial is [Key.Multinomial] of the next stream.
func Multinomial(weights *Tensor, n int, replacement bool) *Tensor {
	return nextKeys().Multinomial(weights, n, replacement)
}
