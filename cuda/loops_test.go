package cuda_test

import (
	"math"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/views"
)

// transposed lays a matrix out column by column.
func (s spec) transposed() spec {
	s.lies = func(v views.View) views.View {
		columns, _ := views.Of(v.Shape[1], v.Shape[0]).Transpose(1, 0)
		return columns
	}
	return s
}

// spread is a row or a column again and again.
func (s spec) spread(shape ...int) spec {
	s.lies = func(v views.View) views.View {
		wide, _ := v.Broadcast(shape...)
		return wide
	}
	return s
}

// TestElementwiseKernelsUseWideAccesses: neighbouring threads access neighbouring memory,
// 16 bytes each if all operands are contiguous (16 sectors a request; fewer for smaller
// operands), and few instructions are issued for 32 elements.
func TestElementwiseKernelsUseWideAccesses(t *testing.T) {
	cudatest.FakeOnly(t)
	d := cudatest.Devices(t, cudatest.Eager)[0]
	const n = 1 << 20
	half := func(shape ...int) spec { return of(shape...).as(dtype.BFloat16) }
	image := of(16, 16, 32, 32)
	for _, c := range []struct {
		trial
		blocks          int // at most, if any: 64 let a thread go round many times
		sectors, issued float64
	}{
		{trial{k: kernels.Add, out: list(of(n)), in: list(of(n), of(n))}, 0, 16, 27},
		{trial{k: kernels.Add, out: list(of(n)), in: list(of(n), of(n))}, 64, 16, 14},
		{trial{k: kernels.Exp, out: list(of(n)), in: list(of(n))}, 0, 16, 59},
		{trial{k: kernels.Exp, out: list(of(n)), in: list(of(n))}, 64, 16, 45},
		{trial{k: kernels.Copy, out: list(of(n)), in: list(of(n))}, 0, 16, 19},
		{trial{k: kernels.Copy, out: list(of(n)), in: list(of(n))}, 64, 16, 7},
		{trial{k: kernels.Cast, set: kernels.CastOptions{Scale: 1. / 255}, out: list(of(n)), in: list(of(n).as(dtype.Uint8).up(256))}, 0, 10, 26},
		{trial{k: kernels.Cast, set: kernels.CastOptions{Scale: 1. / 255}, out: list(of(n)), in: list(of(n).as(dtype.Uint8).up(256))}, 64, 10, 13},
		{trial{k: kernels.Sum, out: list(of(1)), in: list(of(n))}, 0, 15.1, 29},

		{trial{k: kernels.Add, out: list(half(n / 4)), in: list(half(n/4), half(n/4))}, 64, 16, 24},
		{trial{k: kernels.Exp, out: list(half(n / 4)), in: list(half(n / 4))}, 64, 8, 57},
		{trial{k: kernels.Add, out: list(of(n / 4).as(dtype.Int32)), in: list(of(n/4).as(dtype.Int32), of(n/4).as(dtype.Int32))}, 64, 16, 23},
		{trial{k: kernels.Less, out: list(of(n / 4).as(dtype.Bool)), in: list(of(n/4), of(n/4))}, 64, 12, 17},
		{trial{k: kernels.Copy, out: list(of(n/4 - 1)), in: list(of(n/4 - 1))}, 64, 15.99, 9},
		{trial{k: kernels.Fill, set: kernels.FillOptions{Value: 1}, out: list(of(n / 4))}, 64, 16, 6},
		{trial{k: kernels.Where, out: list(of(n / 4)), in: list(of(n/4).as(dtype.Bool).up(2), of(n/4), of(n/4))}, 64, 13, 19},
		{trial{k: kernels.Cast, out: list(half(n / 4)), in: list(of(n / 4))}, 64, 12, 18},
		{trial{k: kernels.Cast, out: list(of(n / 4)), in: list(half(n / 4))}, 64, 12, 12},

		// Rows are packed; columns are at least walked four at a time.
		{trial{k: kernels.Add, out: list(of(512, 512)), in: list(of(512, 512), of(512).spread(512, 512))}, 64, 16, 25},
		{trial{k: kernels.Add, out: list(of(512, 512)), in: list(of(512, 512), of(512, 1).spread(512, 512))}, 64, 6, 26},
		{trial{k: kernels.Add, out: list(of(512, 512)), in: list(of(512, 512), of(512, 512).transposed())}, 64, 26.67, 26},
		{trial{k: kernels.Add, out: list(image), in: list(image, image.channelsLast())}, 64, 26.67, 33},

		{trial{k: kernels.Sum, out: list(half(1)), in: list(half(n / 4))}, 0, 14.29, 24},
		{trial{k: kernels.Sum, out: list(of(64, 1)), in: list(of(64, 4096))}, 0, 14.33, 36},
		{trial{k: kernels.Sum, out: list(of(2048, 1)), in: list(of(2048, 128))}, 0, 8.5, 50},
		{trial{k: kernels.Sum, out: list(of(1, 64)), in: list(of(4096, 64))}, 0, 15.8, 24},
		{trial{k: kernels.Sum, out: list(half(1, 64)), in: list(half(4096, 64))}, 0, 15.42, 27},
		{trial{k: kernels.Sum, out: list(of(1, 16, 1, 1)), in: list(image)}, 0, 14.92, 36},
		{trial{k: kernels.Sum, out: list(of(1, 16, 1, 1)), in: list(image.channelsLast())}, 0, 8.21, 35},
	} {
		counters := cudatest.CountInstructions(func() {
			_, there := c.call(t, d)
			there.Geometry.Blocks = c.blocks
			if err := d.Run(c.k, &there); err != nil {
				t.Fatal(err)
			}
		})
		elements := float64(views.Of(c.out[0].shape...).Len())
		if len(c.in) > 0 {
			elements = max(elements, float64(views.Of(c.in[0].shape...).Len()))
		}
		sectors, issued := float64(counters.Sectors)/float64(counters.Requests), 32*float64(counters.Issued)/elements
		t.Logf("%-70v %3d blocks: %.2f sectors a request, %.2f instructions", c, c.blocks, sectors, issued)
		if math.Abs(sectors-c.sectors) > 0.01 || issued > c.issued {
			t.Errorf("%v, %d blocks: %.2f sectors a request, want %v; %.2f instructions, want at most %v", c, c.blocks, sectors, c.sectors, issued, c.issued)
		}
		if wavefronts := float64(counters.Wavefronts) / float64(max(1, counters.SharedRequests)); wavefronts > 1 {
			t.Errorf("%v: %.2f wavefronts a request to shared memory, want 1", c, wavefronts)
		}
	}
}
