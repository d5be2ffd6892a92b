package tensor_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestDrawsHaveTheirDistributions: frequencies of 20,000 draws are within five standard deviations.
func TestDrawsHaveTheirDistributions(t *testing.T) {
	const n = 20000
	key := tensor.Key{Seed: 5}
	weights := tensor.New([]float64{1, 0, 3, 4})
	distinct := func() *tensor.Tensor { // the first of two of each row
		return key.Multinomial(weights.Expand(n, 4), 2, false).Select(1, 0)
	}
	for name, c := range map[string]struct {
		draws *tensor.Tensor
		want  []float64
	}{
		"integers":        {key.RandInt(tensor.Int32, -2, 3, n).AddScalar(2), []float64{0.2, 0.2, 0.2, 0.2, 0.2}},
		"bernoulli":       {key.Bernoulli(tensor.Full(tensor.Float32, 0.3, n)), []float64{0.7, 0.3}},
		"never, always":   {key.Bernoulli(tensor.New([]float64{0, 1}).Expand(n/2, 2)), []float64{0.5, 0.5}},
		"multinomial":     {key.Multinomial(weights, n, true), []float64{0.125, 0, 0.375, 0.5}},
		"multinomial row": {distinct(), []float64{0.125, 0, 0.375, 0.5}},
	} {
		counts := make([]float64, len(c.want))
		for _, k := range tensor.Values[int64](c.draws.Flatten().Long()) {
			counts[k]++
		}
		for k, p := range c.want {
			if got := counts[k] / n; math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/n) {
				t.Errorf("%s: %d in %v of draws, want %v", name, k, got, p)
			}
		}
	}
	both := key.Multinomial(weights.Expand(n, 4), 3, false)
	for row, drawn := range slices.Collect(slices.Chunk(tensor.Values[int64](both), 3)) {
		if slices.Sort(drawn); !slices.Equal(drawn, []int64{0, 2, 3}) {
			t.Fatalf("row %d without replacement: %v", row, drawn)
		}
	}
	order := tensor.Values[int64](key.Permutation(1000))
	if moved := slices.IsSorted(order); moved {
		t.Error("a permutation of 1000 is sorted")
	}
	if slices.Sort(order); !slices.Equal(order, tensor.Values[int64](tensor.Arange(tensor.Int64, 0, 1000, 1))) {
		t.Errorf("no permutation of 1000: %v", order)
	}
}

// TestLikesAreWhereTheOtherIs, and draw what a key draws in host memory.
func TestLikesAreWhereTheOtherIs(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		x := tensor.New([][]float64{{1, 2, 3}, {4, 5, 6}}).To(d)
		tensor.ManualSeed(1)
		draws := []*tensor.Tensor{tensor.RandLike(x), tensor.Bernoulli(x.MulScalar(0.1))}
		tensor.ManualSeed(1)
		host := []*tensor.Tensor{tensor.Rand(tensor.Float32, 2, 3), tensor.Bernoulli(x.CPU().MulScalar(0.1))}
		for name, c := range map[string][2]*tensor.Tensor{
			"zeros": {tensor.ZerosLike(x), tensor.Zeros(tensor.Float32, 2, 3)}, "ones": {tensor.OnesLike(x), tensor.Ones(tensor.Float32, 2, 3)},
			"full": {tensor.FullLike(x, 2.5), tensor.Full(tensor.Float32, 2.5, 2, 3)}, "rand": {draws[0], host[0]}, "bernoulli": {draws[1], host[1]},
		} {
			if got, want := c[0], c[1]; got.Device() != d || got.DType() != x.DType() || !slices.Equal(tensor.Values[float32](got), tensor.Values[float32](want)) {
				t.Errorf("%s like %v: %v, want %v", name, x.Device(), got.CPU(), want)
			}
		}
		if y := tensor.RandnLike(x); y.Device() != d || tensor.EmptyLike(x).Device() != d {
			t.Errorf("like %v: on %v", d, y.Device())
		}
	}
	if text := fmt.Sprint(tensor.Ones(tensor.Float32, 2).To(gpu)); text != "float32[2] on cuda:0" {
		t.Errorf("a device tensor prints %q", text)
	}
}

// TestCreationRefuses what has no answer.
func TestCreationRefuses(t *testing.T) {
	key := tensor.Key{}
	base := tensor.NewMeta(tensor.Uint64, 1).Array()
	captured := tensor.Key{Base: &base}
	for want, f := range map[string]func(){
		"rand int: from 3 to below 3; want 1 to 2⁴⁰ integers":           func() { key.RandInt(tensor.Int64, 3, 3, 2) },
		"rand int: int8 does not hold the integers from 0 to below 200": func() { key.RandInt(tensor.Int8, 0, 200, 2) },
		"permutation: of -1":                                                func() { key.Permutation(-1) },
		"multinomial: 3 indices of 2 positive weights":                      func() { key.Multinomial(tensor.New([]int{0, 1, 1}), 3, false) },
		"multinomial: weight -1; want finite ones":                          func() { key.Multinomial(tensor.New([]int{-1, 1}), 1, true) },
		"uniform: on cpu with the key of a step that is captured on meta":   func() { captured.Rand(tensor.Float32, 2) },
		"full: uint8 does not hold the number":                              func() { tensor.Full(tensor.Uint8, 256, 2) },
		"at: 1 indices of [2 3]; want one for each axis":                    func() { tensor.Zeros(tensor.Int8, 2, 3).At(0) },
		"index 2 is outside axis 0 of size 2":                               func() { tensor.Zeros(tensor.Int8, 2, 3).Set(1, 2, 0) },
		"set: int8 does not hold the number":                                func() { tensor.Zeros(tensor.Int8, 2).Set(300, 0) },
		"a ragged literal: an element where axis 1 should be":               func() { tensor.New([]any{[]int{1}, 2}) },
		"new: nil in a literal":                                             func() { tensor.New([]any{nil}) },
		"new: string in a literal; want numbers and bools":                  func() { tensor.New("abc") },
		"new: []interface {} has no numbers that tell a type; use Zeros":    func() { tensor.New([]any{}) },
		"dtype.F16 in a literal; want numbers and bools of Go's own types":  func() { tensor.New(dtype.F16(1)) },
		"element 0 is 300, which uint8 cannot hold":                         func() { tensor.New([]int{300}, tensor.Uint8) },
		"index 1 is 4; want 0 to 3":                                         func() { tensor.Zeros(tensor.Int8, 4).IndexBy(tensor.New([]int{3, 4})) },
		"index put: no index; want a tensor for at least one axis":          func() { tensor.Zeros(tensor.Int8, 4).IndexPut(tensor.New(1), nil) },
		"split: sizes [1 2] of an axis of 4; want their sum to be its size": func() { tensor.Zeros(tensor.Int8, 4).Split(0, 1, 2) },
		"scatter add: of int64 into float32; Cast it first":                 func() { tensor.Zeros(tensor.Float32, 4).ScatterAdd(0, tensor.New([]int{1}), tensor.New([]int{1})) },
		"gather: index of [2 2] along axis 0 of [4]":                        func() { tensor.Zeros(tensor.Int8, 4).Gather(0, tensor.Zeros(tensor.Int64, 2, 2)) },
		"index select: index of float32; want integers":                     func() { tensor.Zeros(tensor.Int8, 4).IndexSelect(0, tensor.New([]float64{1})) },
		"pad reflect: 3 sizes for [4]; want pairs":                          func() { tensor.Zeros(tensor.Int8, 4).PadReflect(slices.Repeat([]int{1}, 3)...) },
		"pad: 5 elements cut off an axis of 4":                              func() { tensor.Zeros(tensor.Int8, 4).PadConstant(0, -2, -3) },
	} {
		if err := tensor.Try(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
}

// TestLiteralsHaveTheTypesOfTheirKinds, at any depth, and the shapes of their slices.
func TestLiteralsHaveTheTypesOfTheirKinds(t *testing.T) {
	for _, c := range []struct {
		literal any
		want    string
	}{
		{3, "3 int64[]"}, {2.5, "2.5 float32[]"}, {true, "True bool[]"}, {[]complex128{1 + 2i}, "[1.+2.j] complex64[1]"}, {float32(1), "1.0 float32[]"},
		{[]uint8{1, 2}, "[1 2] uint8[2]"}, {[2]int16{1, 2}, "[1 2] int16[2]"}, {[][]int32{{1}, {2}}, "[[1]\n [2]] int32[2 1]"},
		{[]any{[]any{1, 2}, []int{3, 4}}, "[[1 2]\n [3 4]] int64[2 2]"}, {[][]float64{}, "[] float32[0 0]"}, {[][]int{{}, {}}, "[] int64[2 0]"},
		{[]uint{1 << 63}, "[9223372036854775808] uint64[1]"}, {[]int{1<<53 + 1}, "[9007199254740993] int64[1]"},
	} {
		if got := tensor.New(c.literal).String(); got != c.want {
			t.Errorf("%#v: %q, want %q", c.literal, got, c.want)
		}
	}
	ints := []int{1, 2}
	if x := tensor.FromInts(ints, 2); x.DType() != tensor.Int64 || !slices.Equal(tensor.Values[int64](x), []int64{1, 2}) {
		t.Errorf("from %v: %v", ints, x)
	}
	if got := tensor.Values[float64](tensor.Logspace(tensor.Float64, 0, 3, 4, 10)); !slices.Equal(got, []float64{1, 10, 100, 1000}) {
		t.Errorf("logspace: %v", got)
	}
	if got, want := tensor.Eye(tensor.Int8, 2, 3).String(), "[[1 0 0]\n [0 1 0]] int8[2 3]"; got != want {
		t.Errorf("eye: %s, want %s", got, want)
	}
}
