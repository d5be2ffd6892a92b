package tensor_test

import (
	"math"
	"regexp"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

func TestAnomaliesNameTheFirstOperation(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		x := tensor.FromSlice([]float32{-1, 4}, 2).To(d).Detach().RequireGrad()
		zero := tensor.FromSlice([]float32{0, 4}, 2).To(d).Detach().RequireGrad()
		nan := tensor.FromSlice([]float32{float32(math.NaN()), 4}, 2).To(d)
		for want, f := range map[string]func(){
			`^log: the result float32\[2\] on \S+ has a NaN at element 0, though no operand has one; called at .*watch_test.go:\d+$`: func() { x.Log().Exp().Sum() },
			`^exp: the result .* has a NaN at element 0, as operand 0 has; called at .*watch_test.go:\d+$`:                           func() { nan.Exp() },
			`^backward of sqrt: .*has a NaN at element 0.*; called at .*watch_test.go:\d+$`:                                          func() { zero.Sqrt().MulScalar(0).Sum().Backward() },
		} {
			err := tensor.Try(func() { tensor.DetectAnomaly(f) })
			if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
				t.Errorf("%v: error %v, want %s", d, err, want)
			}
		}
		tensor.DetectAnomaly(func() { zero.Exp().Sum().Backward() })
		x.Log().Exp().Sum() // goes unchecked again
		cudatest.Reset()
	}
}

func TestProfilesCountCallsTimeAndBytes(t *testing.T) {
	x := tensor.FromSlice([]float32{1, 2, 3}, 3).RequireGrad()
	var inner []tensor.OperationProfile
	all := tensor.Profile(func() {
		x.Exp()
		inner = tensor.Profile(func() { x.Exp().Sum().Backward() })
	})
	got := map[string]tensor.OperationProfile{}
	for _, p := range all {
		if !p.Backward {
			got[p.Name] = p
		}
	}
	if p := got["exp"]; p.Calls != 2 || p.Bytes != 48 || p.Time <= 0 {
		t.Errorf("profile %v, want 2 calls and 48 bytes", p)
	}
	backward := 0
	for _, p := range inner {
		if p.Name == "exp" && !p.Backward && p.Calls != 1 {
			t.Errorf("profile %v, want 1 call", p)
		}
		if p.Backward {
			backward++
		}
	}
	if backward == 0 {
		t.Errorf("no operation of the backward pass in %v", inner)
	}
	if x.Exp(); len(tensor.Profile(func() {})) != 0 {
		t.Error("calls outside of f are counted")
	}
}
