package cuda_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/views"
)

// costOf returns what a trial costs the schedulers of a GPU for every 32 elements of its largest operand, and
// how many cycles of that are sectors of memory.
func (c trial) costOf(t *testing.T, d *cuda.Device) (cycles, memory float64) {
	t.Helper()
	counters := cudatest.CountInstructions(func() {
		_, there := c.call(t, d)
		if err := d.Run(c.k, &there); err != nil {
			t.Fatal(err)
		}
	})
	elements := 0
	for _, s := range append(slices.Clone(c.out), c.in...) {
		elements = max(elements, views.Of(s.shape...).Len())
	}
	warps := float64(elements) / 32
	return float64(counters.Cycles) / warps, 2 * float64(counters.Sectors) / warps
}

// TestKernelsCostWhatMemoryTakes holds kernels that are limited by memory on a GPU to a budget of instructions,
// by the model of package ptx. A 64-bit division costs 186, and memory that is not accessed in order
// 16 for each operand of float32.
func TestKernelsCostWhatMemoryTakes(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	image, half := of(8, 32, 16, 16), of(8, 32, 16, 16).as(dtype.BFloat16)
	pooled := of(8, 32, 8, 8)
	two, three := kernels.PoolOptions{Kernel: [3]int{2, 2}}, kernels.PoolOptions{Kernel: [3]int{3, 3}, Stride: [3]int{2, 2}, Padding: kernels.Pad(1, 1)}
	dropout := kernels.DropoutOptions{P: 0.4, Seed: 9, Stream: 1}
	for _, c := range []struct {
		trial
		most float64
	}{
		{trial{k: kernels.MaxPool, set: two, out: list(pooled.channelsLast(), pooled.as(dtype.Int32).channelsLast()), in: list(image.channelsLast())}, 54},
		{trial{k: kernels.MaxPool, set: two, out: list(pooled, pooled.as(dtype.Int32)), in: list(image)}, 140},
		{trial{k: kernels.MaxPoolGrad, set: two, out: list(image.channelsLast()), in: list(pooled.channelsLast(), pooled.as(dtype.Int32).up(256).channelsLast(), pooled.channelsLast())}, 50},
		{trial{k: kernels.MaxPoolGrad, set: two, out: list(image), in: list(pooled, pooled.as(dtype.Int32).up(256), pooled)}, 135},
		{trial{k: kernels.MaxPoolGrad, set: two, out: list(half.channelsLast()), in: list(of(8, 32, 8, 8).as(dtype.BFloat16).channelsLast(), pooled.as(dtype.Int32).up(256).channelsLast())}, 42},
		{trial{k: kernels.MaxPool, set: three, out: list(pooled.channelsLast(), pooled.as(dtype.Int32).channelsLast()), in: list(image.channelsLast())}, 112},
		{trial{k: kernels.MaxPoolGrad, set: three, out: list(image.channelsLast()), in: list(pooled.channelsLast(), pooled.as(dtype.Int32).up(256).channelsLast())}, 250},
		{trial{k: kernels.AvgPool, set: two, out: list(pooled.channelsLast()), in: list(image.channelsLast())}, 55},
		{trial{k: kernels.AvgPoolGrad, set: two, out: list(image.channelsLast()), in: list(pooled.channelsLast())}, 185},
		{trial{k: kernels.Dropout, set: dropout, out: list(image.channelsLast()), in: list(image.channelsLast())}, 240},
		{trial{k: kernels.Dropout, set: dropout, out: list(image), in: list(image)}, 195},
		{trial{k: kernels.Uniform, set: kernels.RandomOptions{B: 1}, out: list(image)}, 180},
		{trial{k: kernels.Normal, set: kernels.RandomOptions{B: 1}, out: list(image)}, 280},
		{trial{k: kernels.ActGradBias, set: kernels.ActOptions{Act: kernels.ReLUActivation}, out: list(image.channelsLast(), of(32)), in: list(image.channelsLast(), image.channelsLast())}, 135},
		{trial{k: kernels.Conv, set: kernels.ConvOptions{Groups: 32, Padding: kernels.Pad(1, 1)}, out: list(image.channelsLast()), in: list(image.channelsLast(), of(32, 1, 3, 3))}, 1650},
		{trial{k: kernels.ConvGradX, set: kernels.ConvOptions{Groups: 32, Padding: kernels.Pad(1, 1)}, out: list(image.channelsLast()), in: list(image.channelsLast(), of(32, 1, 3, 3))}, 2600},
		{trial{k: kernels.ConvGradW, set: kernels.ConvOptions{Groups: 32, Padding: kernels.Pad(1, 1)}, out: list(of(32, 1, 3, 3)), in: list(image.channelsLast(), image.channelsLast())}, 5800},
		{trial{k: kernels.Cast, out: list(image), in: list(image.channelsLast().as(dtype.BFloat16))}, 105},
		{trial{k: kernels.Copy, out: list(image), in: list(image.channelsLast())}, 105},
		{trial{k: kernels.SGD, set: kernels.SGDOptions{Rate: 0.1}, out: list(image), in: list(image)}, 95},
		{trial{k: kernels.SGD, set: kernels.SGDOptions{Rate: 0.1, Momentum: 0.9}, out: list(image, image), in: list(image)}, 120},
		{trial{k: kernels.SGD, set: kernels.SGDOptions{Rate: 0.1, Momentum: 0.9}, out: list(half, half), in: list(half)}, 100},
		{trial{k: kernels.Adam, set: kernels.AdamOptions{Rate: 0.1, Step: 1}, out: list(image, image, image), in: list(image)}, 1000},
	} {
		cycles, memory := c.costOf(t, d)
		t.Logf("%-90v %.0f cycles, %.0f of memory", c, cycles, memory)
		if cycles > c.most {
			t.Errorf("%v: %.0f cycles for 32 elements, want at most %v", c, cycles, c.most)
		}
	}
}

// TestElementwiseKernelsCostAlike holds all elementwise kernels to a few instructions for each element, and those
// that compute a function listed here to what that takes.
func TestElementwiseKernelsCostAlike(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	const n = 1 << 14
	for _, k := range kernels.All() {
		if k.Elementwise() == 0 || slices.Contains(bitKernels, k) {
			continue
		}
		c := trial{k: k, out: list(of(n)), in: slices.Repeat(list(of(n)), k.Elementwise())}
		for _, comparison := range []*kernels.Kernel{kernels.Less, kernels.LessEqual, kernels.Greater, kernels.GreaterEqual, kernels.Equal, kernels.NotEqual} {
			if k == comparison {
				c.out[0].t = dtype.Bool
			}
		}
		most := 52.
		switch k {
		case kernels.Div, kernels.Exp, kernels.Log, kernels.Sqrt, kernels.Tanh, kernels.Sigmoid, kernels.SiLU, kernels.GELU, kernels.GELUTanh:
			most = 120
		case kernels.Softplus, kernels.GELUGrad, kernels.GELUTanhGrad, kernels.SiLUGrad:
			most = 280
		case kernels.Exp2, kernels.Expm1, kernels.Log1p, kernels.Log2, kernels.Log10, kernels.Sin, kernels.Cos, kernels.Tan, kernels.Asin,
			kernels.Acos, kernels.Atan, kernels.Atan2, kernels.Sinh, kernels.Cosh, kernels.Asinh, kernels.Acosh, kernels.Atanh, kernels.Erf,
			kernels.Erfc, kernels.Hypot, kernels.LogAddExp, kernels.Pow, kernels.FMod, kernels.Remainder, kernels.FloorDiv:
			most = 2000 // computed in float64
		}
		if cycles, memory := c.costOf(t, d); cycles > memory+most {
			t.Errorf("%s: %.0f cycles for 32 elements, want at most %.0f and those of memory, %.0f", k.Name, cycles, most, memory)
		}
	}
}
