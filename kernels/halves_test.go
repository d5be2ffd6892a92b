package kernels

import (
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// dividedSamples are calls of every kernel that converts 16-bit floats part by part.
func dividedSamples() (all []sample) {
	x, rows, columns := of(70, 33), of(70).as(dtype.Float32), of(33)
	norm := LayerNormOptions{Epsilon: 1e-3}
	images, channels, small := of(9, 4, 6, 5), of(4), of(9, 4, 3, 2)
	pooling, spatial := PoolOptions{Kernel: [3]int{2, 2}}, ConvOptions{Padding: Pad(1, 1)}
	weights, made := of(6, 4, 3, 3), of(9, 6, 6, 5)
	all = append(all,
		sample{k: LayerNorm, options: norm, out: []operand{x, rows, rows}, in: []operand{x, columns, columns}},
		sample{k: LayerNormGrad, out: []operand{x, columns, columns}, in: []operand{x, x, rows, rows, columns}, tolerance: 4},
		sample{k: CumSum, options: CumSumOptions{1}, out: []operand{x}, in: []operand{x}},
		sample{k: CumSum, options: CumSumOptions{0}, out: []operand{x}, in: []operand{x}},
		sample{k: CumSum, options: CumSumOptions{0}, out: []operand{of(70)}, in: []operand{of(70)}},
		sample{k: MatMul, out: []operand{of(600, 7)}, in: []operand{of(600, 5), of(5, 7)}},
		sample{k: MatMul, out: []operand{of(9, 3, 7)}, in: []operand{of(9, 3, 5), of(9, 5, 7)}},
		sample{k: MatMul, out: []operand{of(9, 3, 7)}, in: []operand{of(1, 3, 5), of(9, 5, 7)}},
		sample{k: MatMul, out: []operand{of(2, 9, 3, 7)}, in: []operand{of(9, 3, 5), of(2, 1, 5, 7)}},
		sample{k: Linear, out: []operand{of(600, 7)}, in: []operand{of(600, 5), of(7, 5), of(7)}},
		sample{k: Linear, options: LinearOptions{Act: TanhActivation}, out: []operand{of(600, 7), of(600, 7)}, in: []operand{of(600, 5), of(7, 5), of(7)}},
		sample{k: Conv, options: spatial, out: []operand{made}, in: []operand{images, weights, of(6)}},
		sample{k: ConvGradX, options: spatial, out: []operand{images}, in: []operand{made, weights}},
		sample{k: ConvGradW, options: spatial, out: []operand{weights, of(6)}, in: []operand{images, made}, tolerance: 4},
		sample{k: MaxPool, options: pooling, out: []operand{small, small.as(dtype.Int32)}, in: []operand{images}},
		sample{k: AvgPool, options: pooling, out: []operand{small}, in: []operand{images}},
		sample{k: AvgPoolGrad, options: pooling, out: []operand{images}, in: []operand{small}},
		sample{k: BatchNorm, options: BatchNormOptions{Epsilon: 1e-3, Momentum: 0.1}, out: []operand{images, channels, channels, channels, channels}, in: []operand{images, channels, channels}, updates: true},
		sample{k: BatchNormEval, options: BatchNormOptions{Epsilon: 1e-3}, out: []operand{images}, in: []operand{images, channels, channels, channels, channels.drawn(positive)}},
		sample{k: BatchNormGrad, options: BatchNormOptions{Epsilon: 1e-3}, out: []operand{images, channels, channels}, in: []operand{images, channels, images, channels, channels, images}, tolerance: 4},
	)
	return all
}

// TestHalfFloatsAgreeWithReference computes reductions, lines and what is converted part by part, of 16-bit floats, in small parts and at once.
func TestHalfFloatsAgreeWithReference(t *testing.T) {
	defer func(n int) { halfTile = n }(halfTile)
	tiles := []int{1 << 18, 100}
	for i, s := range slices.Concat(dividedSamples(), reduceSamples(), lineSamples()) {
		if s.size() > 3000 || s.k == LayerNorm && i > 20 || slices.ContainsFunc(slices.Concat(s.out, s.in), func(o operand) bool { return o.t == dtype.Float64 }) {
			continue
		}
		for _, typ := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
			for _, lay := range []layout{rowMajorLayout, layouts[1+i%(len(layouts)-1)]} {
				var vs []views.View
				for _, o := range slices.Concat(s.out, s.in) {
					vs = append(vs, lay.of(o.shape...))
				}
				about := fmt.Sprintf("%v %s %+v, %s, sample %d, shapes %v", typ, s.k.Name, s.options, lay.name, i, shapes(vs))
				want := s.call(uint64(i), typ, vs)
				if err := s.k.Reference(want); err != nil {
					t.Fatalf("%s: %v", about, err)
				}
				for _, tile := range tiles {
					halfTile = tile
					got := s.call(uint64(i), typ, vs)
					if err := CPU.Run(s.k, got); err != nil {
						t.Fatalf("%s: %v", about, err)
					}
					for k := range want.Out {
						near(t, fmt.Sprint(about, ", output ", k, ", parts of ", tile), got.Out[k], want.Out[k], halfEps(want.Out[k].Type)*max(1, s.tolerance))
					}
				}
			}
		}
	}
}

func halfEps(t dtype.Type) float64 {
	switch t {
	case dtype.Float16:
		return 0x1p-9
	case dtype.BFloat16:
		return 0x1p-6
	case dtype.Float32:
		return 1e-4
	}
	return 0
}

// TestPartsOfCallsNeedLittleMemory normalizes the rows of a matrix of 16-bit floats of 8 MiB.
func TestPartsOfCallsNeedLittleMemory(t *testing.T) {
	x, err := storage.Make(storage.CPU, dtype.BFloat16, 4096, 1024)
	must(err)
	rows := func() storage.Array { return storage.From(make([]float32, 4096), 4096) }
	c := &Call{Out: []storage.Array{x, rows(), rows()}, In: []storage.Array{x}, Options: LayerNormOptions{Epsilon: 1e-3}}
	c.Out[0], err = storage.Make(storage.CPU, dtype.BFloat16, 4096, 1024)
	must(err)
	if n := bytesAllocated(func() { must(CPU.Run(LayerNorm, c)) }); n > 4<<20 {
		t.Errorf("%d bytes allocated", n)
	}
}

func bytesAllocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
