package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
)

var nan, inf = math.NaN(), math.Inf(1)

// TestReductionsOfSpecialNumbers: what PyTorch 2.15 answers.
func TestReductionsOfSpecialNumbers(t *testing.T) {
	of := func(elems ...float64) *tensor.Tensor { return tensor.FromSlice(elems, len(elems)) }
	none := tensor.Zeros(dtype.Float64, 0)
	for _, c := range []struct {
		what string
		got  *tensor.Tensor
		want float64
	}{
		{"min with NaN", of(1, nan, -2).Min(), nan},
		{"argmin with NaN", of(1, nan, -2).ArgMin(), 1},
		{"argmin of equals", of(1, -2, -2).ArgMin(), 1},
		{"var of one", of(3).Var(), nan},
		{"var of one, not corrected", of(3).Var(tensor.Correction(0)), 0},
		{"var of none", none.Var(), nan},
		{"var with NaN", of(1, nan).Var(), nan},
		{"var of large numbers", of(1e9, 1e9+1, 1e9+2).Var(), 1},
		{"prod of none", none.Prod(), 1},
		{"prod with zero and infinity", of(0, inf).Prod(), nan},
		{"any of none", none.Any(), 0},
		{"all of none", none.All(), 1},
		{"any of NaN", of(nan).Any(), 1},
		{"all of zero", of(nan, 0).All(), 0},
		{"count nonzero of NaN", of(nan, 0, -1).CountNonzero(), 2},
		{"nansum", of(nan, 2, 3).NanSum(), 5},
		{"nansum of NaN", of(nan).NanSum(), 0},
		{"nanmean", of(nan, 2, 4).NanMean(), 3},
		{"nanmean of NaN", of(nan).NanMean(), nan},
		{"logsumexp of none", none.LogSumExp(), -inf},
		{"logsumexp of large numbers", of(1000, 1000).LogSumExp(), 1000 + math.Ln2},
		{"logsumexp of infinity", of(inf, 1).LogSumExp(), inf},
		{"logsumexp of minus infinity", of(-inf, -inf).LogSumExp(), -inf},
		{"norm of zeros", of(0, 0).Norm(2), 0},
		{"norm 0", of(0, 5, nan).Norm(0), 2},
		{"norm -1", of(0, 5).Norm(-1), 0},
		{"norm 2 of none", none.Norm(2), 0},
		{"median of four", of(4, 1, 3, 2).Median(), 2},
		{"median with NaN", of(4, nan, 3).Median(), nan},
		{"quantile", of(4, 1, 3, 2).Quantile(0.5), 2.5},
		{"quantile 1", of(4, 1, 3, 2).Quantile(1), 4},
		{"quantile with NaN", of(4, nan).Quantile(0), nan},
		{"log cum sum exp of minus infinity", of(-inf, -inf, 0).LogCumSumExp(0).Select(0, 2), 0},
		{"kth value", first(of(4, 1, 3, 2).KthValue(3, 0)), 3},
	} {
		if got := tensor.Values[float64](c.got)[0]; got != c.want && !(got != got && c.want != c.want) && !(math.Abs(got-c.want) < 1e-9) {
			t.Errorf("%s: got %v, want %v", c.what, got, c.want)
		}
	}
}

func first(x, _ *tensor.Tensor) *tensor.Tensor { return x }

// TestTypesOfReductions of integers and bools are PyTorch's.
func TestTypesOfReductions(t *testing.T) {
	for _, from := range []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Int8, dtype.Int32, dtype.Int64} {
		x := tensor.FromSlice([]int64{1, 0, 1, 1}, 2, 2).Cast(from)
		smallest, index := x.MinWithIndex(0)
		sorted, _ := x.Sort(1, true)
		for name, got := range map[string]struct {
			x    *tensor.Tensor
			want dtype.Type
		}{
			"prod": {x.Prod(), dtype.Int64}, "any": {x.Any(0), dtype.Bool}, "all": {x.All(), dtype.Bool}, "count": {x.CountNonzero(), dtype.Int64},
			"min": {x.Min(1), from}, "argmin": {x.ArgMin(1), dtype.Int64}, "values": {smallest, from}, "index": {index, dtype.Int64},
			"cumsum": {x.CumSum(0), dtype.Int64}, "cumprod": {x.CumProd(0), dtype.Int64}, "sort": {sorted, from}, "median": {x.Median(), from},
			"logsumexp": {x.LogSumExp(0), dtype.Float32}, "nansum": {x.NanSum(), dtype.Int64},
		} {
			if got.x.DType() != got.want {
				t.Errorf("%s of %v is %v; want %v", name, from, got.x.DType(), got.want)
			}
		}
		if got := tensor.Values[int64](smallest.Cast(dtype.Int64)); got[0] != 1 || got[1] != 0 {
			t.Errorf("smallest of %v: %v; want [1 0]", from, got)
		}
	}
}

// TestExtremesOfIntegers at the limits of their types, beyond what floats hold.
func TestExtremesOfIntegers(t *testing.T) {
	signed := tensor.FromSlice([]int64{math.MinInt64, math.MinInt64 + 1, math.MaxInt64}, 3)
	unsigned := tensor.FromSlice([]uint64{math.MaxUint64 - 1, math.MaxUint64, 1 << 63}, 3)
	if got := tensor.Values[int64](signed.Min())[0]; got != math.MinInt64 {
		t.Errorf("smallest: %d", got)
	}
	if got := signed.ArgMin().Item(); got != 0 {
		t.Errorf("index of the smallest: %v; want 0", got)
	}
	if got := unsigned.ArgMin().Item(); got != 2 {
		t.Errorf("index of the smallest uint64: %v; want 2", got)
	}
	values, index := unsigned.Sort(0, true)
	if got, at := tensor.Values[uint64](values), tensor.Values[int64](index); got[0] != math.MaxUint64 || at[0] != 1 || at[2] != 2 {
		t.Errorf("sorted: %d, %d", got, at)
	}
}

// TestSortIsStable, with NaN as the largest element and zeros of both signs equal.
func TestSortIsStable(t *testing.T) {
	x := tensor.FromSlice([]float64{2, nan, 0, math.Copysign(0, -1), 1, nan, 0}, 7)
	for _, descending := range []bool{false, true} {
		want := map[bool][]int64{false: {2, 3, 6, 4, 0, 1, 5}, true: {1, 5, 0, 4, 2, 3, 6}}[descending]
		for _, to := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
			if got := tensor.Values[int64](x.Cast(to).ArgSort(0, descending)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%v, descending %v: %v; want %v", to, descending, got, want)
			}
		}
	}
}

// TestProductsHaveGradientsAtZeros.
func TestProductsHaveGradientsAtZeros(t *testing.T) {
	x := tensor.FromSlice([]float64{2, 0, 3}, 3).RequireGrad()
	if got := fmt.Sprint(tensor.Values[float64](tensor.Gradients(x.Prod())[x])); got != "[0 6 0]" {
		t.Errorf("gradient of a product with a zero: %s; want [0 6 0]", got)
	}
}

func TestHistograms(t *testing.T) {
	x := tensor.FromSlice([]float64{0, 1, 1, 2, 4, 5, nan, -1}, 8)
	counts, edges := x.Histogram(4, 0, 4)
	if got := fmt.Sprint(tensor.Values[int64](counts), tensor.Values[float64](edges)); got != "[1 2 1 1] [0 1 2 3 4]" {
		t.Errorf("histogram: %s", got)
	}
	if got := fmt.Sprint(tensor.Values[int64](tensor.FromSlice([]int64{0, 2, 2}, 3).BinCount(nil, 0))); got != "[1 0 2]" {
		t.Errorf("bincount: %s", got)
	}
	values, inverse, times := tensor.FromSlice([]int64{3, 1, 3, 2}, 2, 2).Unique()
	if got := fmt.Sprint(tensor.Values[int64](values), tensor.Values[int64](inverse), inverse.Shape(), tensor.Values[int64](times)); got != "[1 2 3] [2 0 2 1] [2 2] [1 1 2]" {
		t.Errorf("unique: %s", got)
	}
}

func TestReductionsRefuse(t *testing.T) {
	x := tensor.Zeros(dtype.Float32, 2, 0)
	ints := tensor.Zeros(dtype.Int64, 3)
	for name, c := range map[string]struct {
		f    func()
		kind error
	}{
		"min of none":       {func() { x.Min(1) }, tensor.ErrShape},
		"argmin of none":    {func() { x.ArgMin() }, tensor.ErrShape},
		"median of none":    {func() { x.Median(1) }, tensor.ErrShape},
		"quantile above 1":  {func() { x.Quantile(1.5) }, tensor.ErrShape},
		"too many":          {func() { x.TopK(3, 0, true) }, tensor.ErrShape},
		"the 0-th":          {func() { x.KthValue(0, 0) }, tensor.ErrShape},
		"an axis twice":     {func() { x.Prod(0, -2) }, tensor.ErrShape},
		"norm of integers":  {func() { ints.Norm(2) }, tensor.ErrType},
		"var of integers":   {func() { ints.Var() }, tensor.ErrType},
		"order of complex":  {func() { tensor.Zeros(dtype.Complex64, 2).Sort(0, false) }, tensor.ErrType},
		"bincount below 0":  {func() { ints.SubScalar(1).BinCount(nil, 3) }, tensor.ErrShape},
		"bincount of reals": {func() { x.BinCount(nil, 3) }, tensor.ErrType},
		"no bins":           {func() { x.Histogram(0, 0, 1) }, tensor.ErrShape},
		"correction":        {func() { tensor.Correction(-1) }, tensor.ErrShape},
	} {
		if err := tensor.Try(c.f); !errors.Is(err, c.kind) {
			t.Errorf("%s: %v; want %v", name, err, c.kind)
		}
	}
}
