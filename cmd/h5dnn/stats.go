package main

import (
	"context"
	"fmt"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
)

// A summary holds statistics of an array. NaNs are counted and otherwise ignored;
// infinities are ignored in mean, std and histogram.
type summary struct {
	Count int // all elements
	NaN   int
	Inf   int
	Zeros int
	Min   float64
	Max   float64
	Mean  float64
	Std   float64 // population standard deviation

	Edges  []float64 // of the histogram's bins; the last bin has its upper edge
	Counts []int
	least  float64 // the least finite value
	most   float64 // the largest one
}

// bins is the number of bins of a histogram, fewer for a small range of integers.
const bins = 10

// summarize reads a once, block by block.
func summarize(ctx context.Context, a storage.Array) (summary, error) {
	s := summary{Min: math.Inf(1), Max: math.Inf(-1), least: math.Inf(1), most: math.Inf(-1)}
	finite, squares := 0, 0.0 // squares of distances from the mean
	err := eachBlock(ctx, a, func(xs []float64) {
		sum, n := 0.0, 0
		for _, x := range xs {
			switch {
			case math.IsNaN(x):
				s.NaN++
				continue
			case math.IsInf(x, 0):
				s.Inf++
			default:
				sum += x
				n++
				s.least, s.most = min(s.least, x), max(s.most, x)
				if x == 0 {
					s.Zeros++
				}
			}
			s.Min, s.Max = min(s.Min, x), max(s.Max, x)
		}
		s.Count += len(xs)
		if n == 0 {
			return
		}
		mean, around := sum/float64(n), 0.0
		for _, x := range xs {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				around += (x - mean) * (x - mean)
			}
		}
		// Chan, Golub and LeVeque, Updating formulae and a pairwise algorithm (1979)
		delta, all := mean-s.Mean, float64(finite+n)
		squares += around + delta*delta*float64(finite)*float64(n)/all
		s.Mean += delta * float64(n) / all
		finite += n
	})
	if s.Count == s.NaN {
		s.Min, s.Max = math.NaN(), math.NaN()
	}
	if finite == 0 {
		s.Mean, s.Std = math.NaN(), math.NaN()
		return s, err
	}
	s.Std = math.Sqrt(squares / float64(finite))
	return s, err
}

// unwritten returns the summary of an array of which nothing was written: all elements are
// the fill value.
func unwritten(a storage.Array) (summary, bool) {
	fill, ok := storage.Unwritten(a)
	if !ok {
		return summary{}, false
	}
	return constant(blocks.Float64s(a.Type, fill)[0], a.Len(), a.Type.IsInt() || a.Type == dtype.Bool), true
}

// constant returns the summary of n elements that are all x, of a type of integers or not.
func constant(x float64, n int, integers bool) summary {
	s := summary{Count: n, Min: x, Max: x, Mean: x}
	switch {
	case math.IsNaN(x):
		s.NaN, s.Std = n, x
		return s
	case math.IsInf(x, 0):
		s.Inf, s.Mean, s.Std = n, math.NaN(), math.NaN()
		return s
	case x == 0:
		s.Zeros = n
	}
	s.least, s.most, s.Edges, s.Counts = x, x, []float64{x, x}, []int{n}
	if integers {
		s.Edges[1]++
	}
	return s
}

// histogram reads a again and counts its finite values in bins of equal width.
func (s *summary) histogram(ctx context.Context, a storage.Array) error {
	least, most := s.least, s.most
	if !(least <= most) {
		return nil
	}
	n := bins
	width := most/float64(n) - least/float64(n) // the difference alone could overflow
	if a.Type.IsInt() || a.Type == dtype.Bool {
		whole := math.Ceil((most - least + 1) / bins)
		n, width = int(math.Ceil((most-least+1)/whole)), whole
	}
	if width == 0 {
		n = 1
	}
	s.Counts = make([]int, n)
	for k := range n + 1 {
		s.Edges = append(s.Edges, least+float64(k)*width)
	}
	return eachBlock(ctx, a, func(xs []float64) {
		for _, x := range xs {
			if finite(x) {
				k := 0
				if width > 0 {
					k = int(x/width - least/width)
				}
				s.Counts[min(max(k, 0), n-1)]++
			}
		}
	})
}

// eachBlock calls visit with the values of a, some at a time.
func eachBlock(ctx context.Context, a storage.Array, visit func([]float64)) error {
	if a.Type.IsComplex() {
		return fmt.Errorf("%v has no order; statistics are for real numbers", a.Type)
	}
	for elems, err := range blocks.Elements(ctx, a, blocks.Size/8*a.Type.Size()) {
		if err != nil {
			return err
		}
		visit(blocks.Float64s(a.Type, elems))
		progressOf(ctx).add(len(elems))
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
