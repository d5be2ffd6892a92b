package transform_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/transform"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// contents returns contents that are not made again.
func contents(list ...serialize.Entry) serialize.Contents {
	return serialize.Contents{Entries: serialize.Entries(list...)}
}

// show lists entries with their elements.
func show(t *testing.T, list serialize.Contents) string {
	t.Helper()
	var lines []string
	for e, err := range list.Entries {
		elems, err2 := storage.Read[float64](e.Array)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%s %v%v %v", e.Name, e.Array.Type, e.Array.Shape, elems))
	}
	return strings.Join(lines, "\n")
}

// Example quantizes a matrix of two output channels.
func Example() {
	w := storage.From([]float32{1, -2, 0.5, 12.7}, 2, 2)
	for e, err := range transform.Quantize(contents(serialize.Entry{Name: "w", Array: w}), transform.QuantizeOptions{}).Entries {
		elems, _ := storage.Read[float32](e.Array)
		fmt.Println(e.Name, e.Array.Type, elems, err)
	}
	// Output:
	// w int8 [64 -127 5 127] <nil>
	// w.scale float32 [0.015748031 0.1] <nil>
}

// TestCastsConvertFloats, of any strides, and nothing else.
func TestCastsConvertFloats(t *testing.T) {
	w := storage.From([]float32{1, 2, 3, 4, 5, 1e6}, 2, 3)
	turned, _ := w.Transpose()
	got := show(t, transform.Cast(contents(serialize.Entry{Name: "w", Array: w.With(turned)}, serialize.Entry{Name: "n", Array: storage.From([]int64{7})}), transform.CastOptions{To: dtype.Float16}))
	if want := "w float16[3 2] [1 4 2 5 3 +Inf]\nn int64[] [7]"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// TestCastsToFloat8 as PyTorch does: float8_e4m3fn has no infinities, and its largest value is 448.
func TestCastsToFloat8(t *testing.T) {
	x := storage.From([]float32{500, 1e30, float32(math.Inf(-1)), float32(math.NaN()), 464, 0.1}, 6)
	for to, want := range map[dtype.Type]string{
		dtype.Float8E4M3: "x float8_e4m3fn[6] [448 448 -448 NaN 448 0.1015625]",
		dtype.Float8E5M2: "x float8_e5m2[6] [512 +Inf -Inf NaN 448 0.09375]",
	} {
		if got := show(t, transform.Cast(contents(serialize.Entry{Name: "x", Array: x}), transform.CastOptions{To: to})); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestQuantizedArraysAreNear what they were: by half a scale at most, along any axis.
func TestQuantizedArraysAreNear(t *testing.T) {
	elems := make([]float32, 3*4*5)
	for i := range elems {
		elems[i] = float32(math.Sin(float64(i))) * float32(i%4+1)
	}
	w := storage.From(elems, 3, 4, 5)
	turned, _ := w.Transpose(2, 0, 1)
	for _, a := range []storage.Array{w, w.With(turned)} {
		for _, axis := range []int{0, 1, -1} {
			var list []serialize.Entry
			for e, err := range transform.Quantize(contents(serialize.Entry{Name: "w", Array: a}), transform.QuantizeOptions{Axis: func(string) (int, bool) { return axis, true }}).Entries {
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, e)
			}
			x, err1 := storage.Read[float64](a)
			q, err2 := storage.Read[float64](list[0].Array)
			scales, err3 := storage.Read[float64](list[1].Array)
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			inner := map[int]int{0: a.Shape[1] * a.Shape[2], 1: a.Shape[2], -1: 1}[axis]
			used := 0.0
			for i := range x {
				scale := scales[i/inner%len(scales)]
				used = max(used, math.Abs(q[i]))
				if math.Abs(x[i]-q[i]*scale) > scale*0.5001 {
					t.Errorf("axis %d, element %d: %v is %v·%v", axis, i, x[i], q[i], scale)
				}
			}
			if used != 127 {
				t.Errorf("axis %d: largest value %v", axis, used)
			}
		}
	}
}

// TestQuantizingLeavesOthersAlone, keeps tied weights tied, and refuses what is not finite.
func TestQuantizingLeavesOthersAlone(t *testing.T) {
	w := storage.From([]float64{0, 0, 1, -1}, 2, 2)
	list := contents(serialize.Entry{Name: "bias", Array: storage.From([]float32{1.5}, 1)}, serialize.Entry{Name: "a", Array: w, Shared: "tied"}, serialize.Entry{Name: "b", Array: w, Shared: "tied"})
	quantized := transform.Quantize(list, transform.QuantizeOptions{})
	if got, want := show(t, quantized), "bias float32[1] [1.5]\na int8[2 2] [0 0 127 -127]\na.scale float32[2] [1 0.007874015718698502]\nb int8[2 2] [0 0 127 -127]\nb.scale float32[2] [1 0.007874015718698502]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var all []serialize.Entry
	for e := range quantized.Entries {
		all = append(all, e)
	}
	if !all[1].SameElements(all[3]) || !all[2].SameElements(all[4]) || all[1].Shared == all[2].Shared {
		t.Errorf("shared: %q %q %q %q", all[1].Shared, all[2].Shared, all[3].Shared, all[4].Shared)
	}
	for _, x := range []float32{float32(math.NaN()), float32(math.Inf(-1))} {
		for e := range transform.Quantize(contents(serialize.Entry{Name: "w", Array: storage.From([]float32{1, x}, 1, 2)}), transform.QuantizeOptions{}).Entries {
			if _, err := e.Array.To(storage.CPU); err == nil || !strings.Contains(err.Error(), "not finite") {
				t.Errorf("%v is quantized: %v", x, err)
			}
		}
	}
}

// TestTiedWeightsAreQuantizedAlongTheirOwnAxes, which may differ.
func TestTiedWeightsAreQuantizedAlongTheirOwnAxes(t *testing.T) {
	w := storage.From([]float64{127, 254, 0, 508}, 2, 2)
	list := contents(serialize.Entry{Name: "0", Array: w, Shared: "tied"}, serialize.Entry{Name: "1", Array: w, Shared: "tied"})
	quantized := transform.Quantize(list, transform.QuantizeOptions{Axis: func(name string) (int, bool) { return int(name[0] - '0'), true }})
	if got, want := show(t, quantized), "0 int8[2 2] [64 127 0 127]\n0.scale float32[2] [2 4]\n1 int8[2 2] [127 64 0 127]\n1.scale float32[2] [1 4]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var all []serialize.Entry
	for e := range quantized.Entries {
		all = append(all, e)
	}
	if all[0].SameElements(all[2]) || all[1].SameElements(all[3]) {
		t.Errorf("shared: %q %q %q %q", all[0].Shared, all[1].Shared, all[2].Shared, all[3].Shared)
	}
}

// counted returns an array of zeros, and how often it was read.
func counted(shape ...int) (a storage.Array, reads *int) {
	reads = new(int)
	return blocks.Compute(dtype.Float32, shape, func(to storage.Array, _ views.Box) error {
		*reads++
		return storage.From(make([]float32, to.Len()), to.Shape...).CopyTo(to)
	}), reads
}

// TestScalesAreComputedOnce, for all parts of an array that are read.
func TestScalesAreComputedOnce(t *testing.T) {
	w, reads := counted(4, 2)
	for e, err := range transform.Quantize(contents(serialize.Entry{Name: "w", Array: w}), transform.QuantizeOptions{}).Entries {
		for range 5 {
			if _, err2 := storage.Read[float64](e.Array); err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
		}
	}
	if *reads != 1+5 { // for the scales, and for the elements
		t.Errorf("the array was read %d times, want 6", *reads)
	}
}

// TestOptimizerStateIsKnownByItsName.
func TestOptimizerStateIsKnownByItsName(t *testing.T) {
	for name, want := range map[string]bool{
		"optimizer/momentum/w": true, "optim/exp_avg/fc.weight": true, "optimizer_state_dict.state.0.exp_avg": true, "optimizer/vars/0": true,
		"optimizer.state.0.exp_avg": true, "optimizer_weights/iter": true, "optim.weight": false, "opt.state_encoder.bias": false, "model/optimizer": false, "optimizer": false, "optimal.weight": false, "fc.weight": false, "": false,
		"p/w/Adam": true, "p/w/Adam_1": true, "w/Momentum": true, "beta1_power": true, "w/.OPTIMIZER_SLOT/opt/m": true, "Adam": false, "Adam/w": false, "layer/Momentum/kernel": false,
	} {
		if got := transform.IsOptimizerState(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

// TestOptimizersOfPyTorchAreKnownByTheirSettings: programs with two models keep an optimizer
// of each, under any name.
func TestOptimizersOfPyTorchAreKnownByTheirSettings(t *testing.T) {
	isState := transform.OptimizerState(map[string]string{"opt_g/param_groups/0/lr": "0.1", "nets/d/param_groups/0/lr": "0.1", "myparam_groups/0": "1"})
	for name, want := range map[string]bool{
		"opt_g/state/0/exp_avg": true, "nets/d/state/1/step": true, "opt_g/param_groups/0/lr": true, "optim/m/w": true,
		"opt_g/weight": false, "state/0/exp_avg": false, "nets/state/0": false, "my/state/0": false, "opt_gx/state/0/exp_avg": false,
	} {
		if got := isState(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if alone := transform.OptimizerState(map[string]string{"param_groups/0/lr": "0.1"}); !alone("state/0/exp_avg") {
		t.Error("an optimizer alone is not known")
	}
}

// TestValuesThatATypeLacksAreCounted: finite values that become infinite, or 448 in
// float8_e4m3fn, and values that become zero.
func TestValuesThatATypeLacksAreCounted(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		to   dtype.Type
		x    []float64
		want transform.RangeLoss
	}{
		{dtype.Float16, []float64{65504, 65519, -inf, math.NaN()}, transform.RangeLoss{}},
		{dtype.Float16, []float64{65520, -1e6, inf}, transform.RangeLoss{Beyond: 2, Largest: 1e6}},
		{dtype.BFloat16, []float64{3e38, inf}, transform.RangeLoss{}},
		{dtype.BFloat16, []float64{3.4e38}, transform.RangeLoss{Beyond: 1, Largest: 3.4e38}},
		{dtype.Float32, []float64{-1e39}, transform.RangeLoss{Beyond: 1, Largest: 1e39}},
		{dtype.Float8E5M2, []float64{57344, 61440}, transform.RangeLoss{Beyond: 1, Largest: 61440}},
		{dtype.Float8E4M3, []float64{448, 463, inf}, transform.RangeLoss{}},
		{dtype.Float8E4M3, []float64{-500, 464}, transform.RangeLoss{Beyond: 2, Largest: 500}},
		{dtype.Float64, []float64{1e300, 1e-300}, transform.RangeLoss{}},
		// The smallest float16 is 2⁻²⁴; half of it is rounded to zero.
		{dtype.Float16, []float64{0, math.Copysign(0, -1), 0x1p-24, 0x1.8p-25, -0x1p-25, 1e-12}, transform.RangeLoss{Zeros: 2, Small: 0x1p-25}},
		{dtype.Float32, []float64{1e-46, 1e-44}, transform.RangeLoss{Zeros: 1, Small: 1e-46}},
		{dtype.Float8E4M3, []float64{0x1p-9, -0x1p-11}, transform.RangeLoss{Zeros: 1, Small: 0x1p-11}},
	} {
		var got transform.RangeLoss
		o := transform.CastOptions{To: c.to, Lost: func(_ string, lost transform.RangeLoss) { got = lost }}
		for e := range transform.Cast(contents(serialize.Entry{Name: "w", Array: storage.From(c.x, len(c.x))}), o).Entries {
			for range 2 { // the second time, nothing is counted
				if _, err := e.Array.To(storage.CPU); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got != c.want {
			t.Errorf("%v as %v: %+v; want %+v", c.x, c.to, got, c.want)
		}
	}
}

// TestSkippedArraysAreNotCast.
func TestSkippedArraysAreNotCast(t *testing.T) {
	x := storage.From([]float32{1e-9}, 1)
	list := contents(serialize.Entry{Name: "w", Array: x}, serialize.Entry{Name: "optim/m/w", Array: x})
	got := show(t, transform.Cast(list, transform.CastOptions{To: dtype.Float16, Skip: transform.IsOptimizerState}))
	if want := "w float16[1] [0]\noptim/m/w float32[1] [9.999999717180685e-10]"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}
