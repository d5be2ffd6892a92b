package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
)

// TestStatisticsAgreeWithTheirDefinitions compares with direct sums over values that
// include NaNs and infinities.
func TestStatisticsAgreeWithTheirDefinitions(t *testing.T) {
	defer func(size int) { blocks.Size = size }(blocks.Size)
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		blocks.Size = 8 * (1 + r.IntN(60))
		xs := make([]float64, r.IntN(50))
		for k := range xs {
			xs[k] = []float64{math.NaN(), math.Inf(1), 0, r.NormFloat64(), 1e6 + r.Float64()}[r.IntN(5)]
		}
		a := storage.From(xs, len(xs))
		got, err := summarize(context.Background(), a)
		if err == nil {
			err = got.histogram(context.Background(), a)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := naive(xs)
		counted := 0
		for _, n := range got.Counts {
			counted += n
		}
		if got.Count != len(xs) || got.NaN != want.NaN || got.Inf != want.Inf || got.Zeros != want.Zeros ||
			!near(got.Min, want.Min) || !near(got.Max, want.Max) || !near(got.Mean, want.Mean) || !near(got.Std, want.Std) {
			t.Errorf("%v: got %+v, want %+v", xs, got, want)
		}
		if counted != len(xs)-want.NaN-want.Inf {
			t.Errorf("%v: the histogram counts %d of %d finite values", xs, counted, len(xs)-want.NaN-want.Inf)
		}
	}
}

func naive(xs []float64) summary {
	s := summary{Min: math.NaN(), Max: math.NaN(), Mean: math.NaN(), Std: math.NaN()}
	sum, n := 0.0, 0.0
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
			if x == 0 {
				s.Zeros++
			}
		}
		if !(s.Min <= x) {
			s.Min = x
		}
		if !(s.Max >= x) {
			s.Max = x
		}
	}
	if n > 0 {
		s.Mean = sum / n
		around := 0.0
		for _, x := range xs {
			if finite(x) {
				around += (x - s.Mean) * (x - s.Mean)
			}
		}
		s.Std = math.Sqrt(around / n)
	}
	return s
}

func near(x, y float64) bool {
	return x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-9*(1+math.Abs(y))
}

// TestHistogramOfIntegersHasWholeBins checks that bins of integers are not narrower than 1.
func TestHistogramOfIntegersHasWholeBins(t *testing.T) {
	a := storage.From([]uint8{0, 1, 1, 2, 2, 2}, 6)
	s, err := summarize(context.Background(), a)
	if err == nil {
		err = s.histogram(context.Background(), a)
	}
	if err != nil || len(s.Counts) != 3 || s.Counts[0] != 1 || s.Counts[1] != 2 || s.Counts[2] != 3 {
		t.Errorf("got %v, %v; want 1, 2, 3", s.Counts, err)
	}
}
