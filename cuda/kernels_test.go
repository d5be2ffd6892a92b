package cuda_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/kernels/device"
	"github.com/h5dnn/h5dnn/kernels/launch"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A trial is a call of a kernel whose results on a GPU should equal the results of the
// reference on the CPU. Package tensor tests all its operations like this, in
// every layout; here are calls that no operation makes, and sizes with launches of their own.
type trial struct {
	k         *kernels.Kernel
	set       any
	out, in   []spec
	tolerance float64 // relative to 1 + |want|; 0 is the same bits
}

// A spec describes an operand: its type, and its elements, which are normal numbers unless below or is is set.
type spec struct {
	shape []int
	t     dtype.Type
	below int // integers from 0 up to this
	is    []float64
	lies  func(views.View) views.View
}

func of(shape ...int) spec { return spec{shape: shape, t: dtype.Float32} }

func (s spec) as(t dtype.Type) spec { s.t = t; return s }
func (s spec) up(below int) spec    { s.below = below; return s }

// these is the operand that holds exactly that.
func these(t dtype.Type, elems ...float64) spec {
	return spec{shape: []int{len(elems)}, t: t, is: elems}
}

// rowMajor and channelsLast lay an image out so.
func (s spec) rowMajor() spec { return s }

func (s spec) channelsLast() spec {
	s.lies = func(v views.View) views.View {
		return views.ChannelsLast(v.Shape...)
	}
	return s
}

// perRow has the same element all along each row.
func (s spec) perRow() spec {
	s.lies = func(v views.View) views.View { return ofRows(views.View{Stride: []int{1}}, v.Shape) }
	return s
}

// ofRows returns the view of an index of each row of a shape, for all its elements.
func ofRows(index views.View, shape []int) views.View {
	v := views.View{Offset: index.Offset, Shape: shape, Stride: make([]int, len(shape))}
	v.Stride[0] = index.Stride[0]
	return v
}

func list(specs ...spec) []spec { return specs }

// computable reports whether GPUs cast elements of type t.
func computable(t dtype.Type) bool { return !t.IsComplex() && !t.StorageOnly() }

func trials() []trial {
	floats := slices.Concat(reducing(), multiplying(), pooling(), learning())
	all := slices.Concat(moving(), recasting(), floats, normalizing(), elementwise(), counting(), capturable())
	for _, c := range floats {
		for _, t := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
			if half, ok := c.narrowed(t, halves[t]); ok {
				all = append(all, half)
			}
		}
	}
	return all
}

// halves are the tolerances of 16-bit floats, in results of up to eight roundings.
var halves = map[dtype.Type]float64{dtype.Float16: 0x1p-8, dtype.BFloat16: 0x1p-5}

// narrowed is a trial of float32 as one of a half, or false.
func (c trial) narrowed(t dtype.Type, tolerance float64) (trial, bool) {
	half := func(specs []spec) []spec {
		specs = slices.Clone(specs)
		for i := range specs {
			if specs[i].t == dtype.Float32 {
				specs[i].t = t
			}
		}
		return specs
	}
	if t0 := append(c.in, c.out...)[0].t; t0 != dtype.Float32 {
		return c, false
	}
	c.out, c.in = half(c.out), half(c.in)
	if c.tolerance > 0 {
		c.tolerance = tolerance
	}
	if c.k == kernels.ActGradBias { // its sums are of rounded numbers
		c.tolerance *= 4
	}
	return c, true
}

// normalizing tries layer norm by a warp and by a block for each row, and with several splits of the rows.
// Statistics of 16-bit floats are float32.
func normalizing() (all []trial) {
	options := kernels.LayerNormOptions{Epsilon: 1e-3}
	tolerances := map[dtype.Type]float64{dtype.Float32: 1e-4, dtype.Float64: 1e-12, dtype.Float16: halves[dtype.Float16], dtype.BFloat16: halves[dtype.BFloat16]}
	for _, t := range dtype.All() {
		tolerance, ok := tolerances[t]
		if !ok {
			continue
		}
		for _, shape := range [][2]int{{70, 33}, {200, 40}, {3, 1500}, {5, 1}} {
			x, row, column := of(shape[:]...).as(t), of(shape[0]), of(shape[1]).as(t)
			if t == dtype.Float64 {
				row.t = t
			}
			all = append(all, trial{kernels.LayerNorm, options, list(x, row, row), list(x, column, column), tolerance}, trial{kernels.LayerNorm, options, list(x, row, row), list(x), tolerance},
				trial{kernels.LayerNormGrad, nil, list(x, column, column), list(x, x, row, row, column), tolerance}, trial{kernels.LayerNormGrad, nil, list(x), list(x, x, row, row), tolerance})
		}
	}
	return all
}

// counting tries the reductions of integers and bools.
func counting() (all []trial) {
	for _, t := range dtype.All() {
		if !t.IsInt() && t != dtype.Bool {
			continue
		}
		for _, shape := range [][2][]int{{{10000}, {1}}, {{300, 40}, {1, 40}}, {{300, 9}, {300, 1}}, {{4, 5, 6, 7}, {4, 1, 6, 1}}} {
			x, y := of(shape[0]...).as(t), of(shape[1]...).as(t)
			all = append(all, trial{kernels.Sum, nil, list(y), list(x.up(90)), 0}, trial{kernels.Max, nil, list(y), list(x), 0},
				trial{kernels.Min, nil, list(y), list(x), 0})
			if t != dtype.Uint64 {
				all = append(all, trial{kernels.Sum, nil, list(y.as(dtype.Int64)), list(x.up(90)), 0})
			}
		}
		if t.IsSigned() {
			all = append(all, trial{kernels.Max, nil, list(of(1).as(t)), list(these(t, -5, -3, -9)), 0})
		}
		for _, x := range []spec{of(30, 5), of(3, 2000)} {
			y, index := of(x.shape[0], 1).as(t), of(x.shape[0], 1).as(dtype.Int64)
			all = append(all, trial{kernels.ArgMax, nil, list(index), list(x.as(t).up(9)), 0}, trial{kernels.MaxIndex, nil, list(y, index), list(x.as(t).up(9)), 0})
		}
	}
	return all
}

// moving tries copies and casts between all types.
func moving() (all []trial) {
	for _, t := range dtype.All() {
		a := of(7, 5).as(t).up(2)
		wide := of(3, 4, 2, 32).as(t).up(2)                                        // rows of neighbours: they move as wider elements
		tiles, odd := of(2, 40, 6, 8).as(t).up(100), of(2, 33, 5, 7).as(t).up(100) // are transposed in tiles
		all = append(all, trial{kernels.Copy, nil, list(a), list(a), 0},
			trial{kernels.Copy, nil, list(wide), list(wide), 0}, trial{kernels.Copy, nil, list(wide), list(wide.channelsLast()), 0},
			trial{kernels.Copy, nil, list(wide.channelsLast()), list(wide.channelsLast()), 0},
			trial{kernels.Fill, kernels.FillOptions{Value: 1}, list(a), nil, 0},
			trial{kernels.Copy, nil, list(tiles), list(tiles.channelsLast()), 0}, trial{kernels.Copy, nil, list(odd.channelsLast()), list(odd), 0},
			trial{kernels.Where, nil, list(a), list(of(7, 5).as(dtype.Bool).up(2), a, a), 0})
		for _, to := range dtype.All() {
			if computable(t) && computable(to) {
				all = append(all, trial{kernels.Cast, nil, list(of(40).as(to)), list(of(40).as(t)), 0},
					trial{kernels.Cast, kernels.CastOptions{Scale: 2, Offset: 1}, list(of(9).as(to)), list(of(9).as(t).up(50)), 0})
			}
		}
	}
	return all
}

// recasting tries casts between layouts, in tiles.
func recasting() (all []trial) {
	for _, half := range []dtype.Type{dtype.Float16, dtype.BFloat16} {
		for _, x := range []spec{of(2, 40, 6, 8), of(2, 33, 5, 7)} {
			all = append(all, trial{kernels.Cast, nil, list(x.as(half)), list(x.channelsLast()), 0}, trial{kernels.Cast, nil, list(x.channelsLast()), list(x.as(half)), 0})
		}
	}
	return all
}

func reducing() (all []trial) {
	for _, shape := range [][2][]int{{{100003}, {1}}, {{70, 300}, {1, 300}}, {{3000, 40}, {1, 40}}, {{40, 3000}, {40, 1}}, {{300, 70}, {300, 1}}, {{4, 5, 6, 7}, {1, 5, 1, 1}}, {{4, 5, 6, 7}, {4, 1, 6, 1}}} {
		x, y := of(shape[0]...), of(shape[1]...)
		for _, k := range []*kernels.Kernel{kernels.Sum, kernels.Mean, kernels.Max, kernels.Min, kernels.Squares} {
			all = append(all, trial{k, nil, list(y), list(x), 1e-5}, trial{k, nil, list(y.as(dtype.Float64)), list(x.as(dtype.Float64)), 1e-13})
		}
		all = append(all, trial{kernels.MaxGrad, nil, list(x), list(x.up(3), y.up(3), y), 1e-6}, trial{kernels.Squares, nil, list(y), list(x, y), 1e-5})
	}
	for _, shape := range [][]int{{3, 10}, {300, 33}, {2, 5000}, {7, 2, 3}} {
		x := of(shape...)
		for axis := range shape {
			set := kernels.SoftmaxOptions{Axis: axis}
			all = append(all, trial{kernels.Softmax, set, list(x), list(x), 1e-6}, trial{kernels.LogSoftmax, set, list(x), list(x), 1e-5},
				trial{kernels.SoftmaxGrad, set, list(x), list(x, x), 1e-4}, trial{kernels.LogSoftmaxGrad, set, list(x), list(x, x), 1e-4})
			shrunk := slices.Clone(shape)
			shrunk[axis] = 1
			y, index := of(shrunk...), of(shrunk...).as(dtype.Int64)
			all = append(all, trial{kernels.ArgMax, nil, list(index), list(x.up(20)), 0}, trial{kernels.MaxIndex, nil, list(y, index), list(x.up(20)), 0})
		}
	}
	return all
}

func multiplying() (all []trial) {
	for i, s := range [][3]int{{1, 1, 1}, {65, 7, 600}, {70, 130, 33}, {16, 16, 16}, {3, 200, 5}, {40, 72, 64}} {
		m, n, k := s[0], s[1], s[2]
		images := of(min(k, 90), 4, min(m, 9), min(n, 11)) // enough for sums to be split
		all = append(all, trial{kernels.MatMul, nil, list(of(m, n)), list(of(m, k), of(k, n)), 1e-4},
			trial{kernels.MatMul, nil, list(of(m, n).as(dtype.Float64)), list(of(m, k).as(dtype.Float64), of(k, n).as(dtype.Float64)), 1e-12},
			trial{kernels.MatMul, nil, list(of(2, 3, m, n)), list(of(3, m, k), of(2, 1, k, n)), 1e-4})
		all = append(all, trial{kernels.LinearGradW, nil, list(of(m, n), of(m)), list(of(k, n), of(k, m)), 1e-4},
			trial{kernels.LinearGradW, nil, list(of(m, n).transposed(), of(m)), list(of(k, n), of(k, m).transposed()), 1e-4},
			trial{kernels.LinearGradW, nil, list(of(m, n).as(dtype.Float64), of(m).as(dtype.Float64)), list(of(k, n).as(dtype.Float64), of(k, m).as(dtype.Float64)), 1e-12})
		for act := kernels.NoActivation + kernels.Activation(i%3); act <= kernels.SiLUActivation; act += 3 { // each with two shapes
			all = append(all, trial{kernels.Linear, kernels.LinearOptions{Act: act}, list(of(m, n)), list(of(m, k), of(n, k), of(n)), 1e-4},
				trial{kernels.Linear, kernels.LinearOptions{Act: act}, list(of(m, n), of(m, n)), list(of(m, k), of(n, k), of(n)), 1e-4},
				trial{kernels.LinearGradX, kernels.LinearGradXOptions{Act: act}, list(of(m, n)), list(of(m, k), of(k, n), of(m, n)), 1e-4},
				trial{kernels.BiasAct, kernels.ActOptions{Act: act}, list(of(m, n)), list(of(m, n), of(n)), 1e-5},
				trial{kernels.BiasAct, kernels.ActOptions{Act: act}, list(of(m, n), of(m, n)), list(of(m, n), of(n)), 1e-5},
				trial{kernels.ActGrad, kernels.ActOptions{Act: act}, list(of(m, n)), list(of(m, n), of(m, n)), 1e-6},
				trial{kernels.ActGradBias, kernels.ActOptions{Act: act}, list(of(m, n), of(n)), list(of(m, n), of(m, n)), 1e-5},
				trial{kernels.ActGradBias, kernels.ActOptions{Act: act}, list(images.channelsLast(), of(4)), list(images.channelsLast(), images), 3e-4})
		}
	}
	for _, set := range []kernels.ConvOptions{{}, {Padding: kernels.Pad(1, 2), Act: kernels.ReLUActivation}, {Stride: [3]int{2, 3}, Padding: kernels.Pad(1, 0), Act: kernels.SiLUActivation}} {
		stride := [2]int{max(1, set.Stride[0]), max(1, set.Stride[1])}
		h, w := (9+2*set.Padding[0][0]-3)/stride[0]+1, (8+2*set.Padding[1][0]-2)/stride[1]+1
		bare := set
		bare.Act = kernels.NoActivation
		for _, o := range []int{5, 40} {
			x, y, f := of(3, 8, 9, 8), of(3, o, h, w), of(o, 8, 3, 2)
			all = append(all, trial{kernels.Conv, set, list(y, y), list(x, f, of(o)), 1e-4}, trial{kernels.Conv, set, list(y.channelsLast(), y), list(x.channelsLast(), f), 1e-4},
				trial{kernels.Conv, set, list(y), list(x, f, of(o)), 1e-4}, trial{kernels.Conv, set, list(y.channelsLast()), list(x.channelsLast(), f), 1e-4},
				trial{kernels.Conv, set, list(y.channelsLast()), list(x.channelsLast(), f.channelsLast()), 1e-4},
				trial{kernels.ConvGradX, bare, list(x), list(y, f), 1e-4}, trial{kernels.ConvGradX, bare, list(x.channelsLast()), list(y.channelsLast(), f.channelsLast()), 1e-4},
				trial{kernels.ConvGradW, bare, list(f), list(x.channelsLast(), y.channelsLast()), 1e-4}, trial{kernels.ConvGradW, bare, list(f, of(o)), list(x, y), 1e-4}, trial{kernels.ConvGradW, bare, list(f.as(dtype.Float64)), list(x.as(dtype.Float64), y.as(dtype.Float64)), 1e-12})
		}
	}
	all = append(all, trial{kernels.ConvGradX, nil, list(of(2, 40, 5, 5)), list(of(2, 3, 3, 3), of(3, 40, 3, 3)), 1e-4},
		trial{kernels.Conv, nil, list(of(2, 36, 24, 23).channelsLast()), list(of(2, 8, 26, 24).channelsLast(), of(36, 8, 3, 2)), 1e-4}, // enough windows to move weights for
		trial{kernels.ConvGradX, nil, list(of(2, 8, 26, 24).channelsLast()), list(of(2, 36, 24, 23).channelsLast(), of(36, 8, 3, 2)), 1e-4},
		trial{kernels.ConvGradW, nil, list(of(3, 1, 3, 3)), list(of(2, 1, 40, 40), of(2, 3, 38, 38)), 1e-3})
	return append(all, convolutions([]convolution{ // tiles over one axis, with dilation, and of each group
		{[]int{2, 3, 11}, []int{4, 3, 3}, []int{2, 4, 4}, kernels.ConvOptions{Stride: [3]int{2}, Dilation: [3]int{2}, Padding: [3][2]int{{1, 0}}}},
		{[]int{2, 4, 7, 6}, []int{6, 2, 3, 2}, []int{2, 6, 4, 5}, kernels.ConvOptions{Groups: 2, Dilation: [3]int{2, 1}, Padding: [3][2]int{{0, 1}, {0, 0}}, Act: kernels.ReLUActivation}},
	})...)
}

type convolution struct {
	x, f, y []int
	set     kernels.ConvOptions
}

// convolutions tries convolutions and their gradients, in both layouts of images.
func convolutions(of []convolution) (all []trial) {
	for _, c := range of {
		all = append(all, c.trials()...)
	}
	return all
}

func (c convolution) trials() []trial {
	bare := c.set
	bare.Act = kernels.NoActivation
	x, f, y, b := of(c.x...), of(c.f...), of(c.y...), of(c.f[0])
	return []trial{
		{kernels.Conv, c.set, list(y), list(x, f, b), 1e-4}, {kernels.Conv, c.set, list(y, y), list(x, f, b), 1e-4}, {kernels.Conv, c.set, list(y.channelsLast()), list(x.channelsLast(), f), 1e-4},
		{kernels.ConvGradX, bare, list(x.channelsLast()), list(y.channelsLast(), f), 1e-4}, {kernels.ConvGradX, bare, list(x), list(y, f), 1e-4},
		{kernels.ConvGradW, bare, list(f, b), list(x.channelsLast(), y.channelsLast()), 1e-4}, {kernels.ConvGradW, bare, list(f.as(dtype.Float64)), list(x.as(dtype.Float64), y.as(dtype.Float64)), 1e-12},
	}
}

// pooling tries pools, and convolutions that are no products of tiles: of many groups and over three axes.
func pooling() (all []trial) {
	all = convolutions([]convolution{
		{[]int{2, 8, 6, 5}, []int{16, 1, 3, 3}, []int{2, 16, 3, 5}, kernels.ConvOptions{Groups: 8, Stride: [3]int{2, 1}, Padding: kernels.Pad(1, 1), Act: kernels.TanhActivation}},
		{[]int{2, 3, 4, 5, 3}, []int{4, 3, 2, 3, 2}, []int{2, 4, 4, 2, 2}, kernels.ConvOptions{Stride: [3]int{1, 2, 1}, Dilation: [3]int{2, 1, 1}, Padding: [3][2]int{{1, 1}, {0, 0}, {0, 0}}, Act: kernels.ReLUActivation}},
	})
	for _, c := range []struct {
		x, y []int
		set  kernels.PoolOptions
	}{
		{[]int{2, 3, 9, 8}, []int{2, 3, 4, 4}, kernels.PoolOptions{Kernel: [3]int{2, 2}}},
		{[]int{2, 8, 9, 8}, []int{2, 8, 4, 4}, kernels.PoolOptions{Kernel: [3]int{2, 2}}}, // packs of channels
		{[]int{2, 16, 9, 8}, []int{2, 16, 5, 9}, kernels.PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{2, 1}, Padding: kernels.Pad(1, 1)}},
		{[]int{2, 3, 4, 8, 6}, []int{2, 3, 4, 4, 3}, kernels.PoolOptions{Kernel: [3]int{1, 2, 2}}},
		{[]int{2, 3, 9, 8}, []int{2, 3, 5, 9}, kernels.PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{2, 1}, Padding: kernels.Pad(1, 1)}},
		{[]int{2, 3, 9}, []int{2, 3, 4}, kernels.PoolOptions{Kernel: [3]int{3}, Stride: [3]int{3}, Padding: kernels.Pad(1), Ceil: true, ExcludePadding: true}},
		{[]int{2, 3, 4, 5, 6}, []int{2, 3, 2, 4, 3}, kernels.PoolOptions{Kernel: [3]int{2, 2, 2}, Stride: [3]int{2, 1, 2}}},
	} {
		x, y := of(c.x...), of(c.y...)
		index := y.as(dtype.Int32)
		all = append(all, trial{kernels.MaxPool, c.set, list(y, index), list(x), 0}, trial{kernels.MaxPool, c.set, list(y.channelsLast()), list(x.channelsLast()), 0},
			trial{kernels.MaxPoolGrad, c.set, list(x), list(y, index.up(9), y), 1e-6}, trial{kernels.MaxPoolGrad, c.set, list(x.channelsLast()), list(y.channelsLast(), index.up(9)), 1e-6},
			trial{kernels.MaxPool, c.set, list(y.channelsLast(), index.channelsLast()), list(x.channelsLast()), 0}, trial{kernels.MaxPool, c.set, list(y.channelsLast(), index), list(x), 0},
			trial{kernels.MaxPoolGrad, c.set, list(x.channelsLast()), list(y.channelsLast(), index.up(40).channelsLast(), y.channelsLast()), 1e-6},
			trial{kernels.AvgPool, c.set, list(y.channelsLast()), list(x.channelsLast()), 1e-6}, trial{kernels.AvgPoolGrad, c.set, list(x.channelsLast()), list(y.channelsLast()), 1e-6},
			trial{kernels.AvgPool, c.set, list(y), list(x), 1e-6}, trial{kernels.AvgPoolGrad, c.set, list(x.channelsLast()), list(y), 1e-6})
	}
	dilated := kernels.PoolOptions{Kernel: [3]int{3, 2}, Stride: [3]int{1, 2}, Dilation: [3]int{2, 3}, Padding: kernels.Pad(1, 1)}
	all = append(all, trial{kernels.MaxPool, dilated, list(of(2, 3, 7, 4), of(2, 3, 7, 4).as(dtype.Int32)), list(of(2, 3, 9, 8)), 0})
	return all
}

func learning() (all []trial) {
	x, c, set := of(6, 5, 3, 4), of(5), kernels.BatchNormOptions{Epsilon: 1e-3, Momentum: 0.1}
	relu := set
	relu.ReLU = true
	all = append(all, trial{kernels.BatchNorm, set, list(x, c, c, c, c), list(x, c, c), 1e-5},
		trial{kernels.BatchNormEval, set, list(x), list(x, c, c, c, c.up(3)), 1e-4},
		trial{kernels.BatchNormGrad, set, list(x, c, c), list(x, c, x.channelsLast(), c, c), 1e-4},
		trial{kernels.BatchNormEvalGrad, set, list(x, c, c), list(x, c, x, c, c.up(3)), 1e-3})
	all = append(all, trial{kernels.BatchNorm, relu, list(x, c, c, c, c), list(x, c, c), 1e-5}, trial{kernels.BatchNormEval, relu, list(x), list(x, c, c, c, c.up(3)), 1e-4},
		trial{kernels.BatchNormGrad, relu, list(x, c, c), list(x, c, x, c, c, x), 1e-4})
	half := x.as(dtype.BFloat16)
	all = append(all, trial{kernels.BatchNorm, set, list(half, c, c, c, c), list(half, c, c), 1.6e-2},
		trial{kernels.BatchNormEval, set, list(half), list(half, c, c, c, c.up(3)), 1.6e-2},
		trial{kernels.BatchNormGrad, set, list(half, c, c), list(half, c, half.channelsLast(), c, c), 1.6e-2},
		trial{kernels.BatchNormEvalGrad, set, list(half, c, c), list(half, c, half, c, c.up(3)), 1.6e-2})
	for _, t := range []dtype.Type{dtype.Uint8, dtype.Int8, dtype.Int64, dtype.Uint16, dtype.Int32} {
		logits, labels := of(70, 10), of(70).as(t).up(10)
		all = append(all, trial{kernels.CrossEntropy, nil, list(of(), logits), list(logits, labels), 1e-5}, trial{kernels.CrossEntropy, nil, list(of()), list(logits, labels), 1e-5},
			trial{kernels.Correct, nil, list(of().as(dtype.Int64)), list(logits.up(5), labels), 0},
			trial{kernels.CrossEntropy, nil, list(of(), logits, of().as(dtype.Int64)), list(logits.up(5), labels), 1e-5})
		for _, float := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
			all = append(all, trial{kernels.LabelMask, kernels.LabelMaskOptions{Classes: 9, Ignore: 9, Ignores: true}, list(of(70).as(float)), list(labels), 0})
		}
	}
	factor, some := of().as(dtype.Float64), list(of(1000), of(3, 5), of(300, 40).as(dtype.Float64), of(7))
	all = append(all, trial{kernels.ClipFactor, kernels.ClipFactorOptions{Limit: 2}, list(factor), some, 1e-6}, trial{kernels.ClipFactor, kernels.ClipFactorOptions{Limit: 1e9}, list(factor), some, 0},
		trial{kernels.ClipFactor, kernels.ClipFactorOptions{Limit: 2, LossScale: true}, list(factor), append(some[:4:4], of(1).up(9)), 1e-6},
		trial{kernels.ClampAll, kernels.ClampAllOptions{Limit: 0.5}, some, some, 0}, trial{kernels.ClampAll, kernels.ClampAllOptions{Limit: 0.05}, some, append(some[:4:4], of(1).up(9)), 1e-6},
		trial{kernels.Scale, nil, some, append(some[:4:4], factor), 1e-6})
	all = append(all, trial{kernels.MeanSquaredError, nil, list(of(), of(300, 40)), list(of(300, 40), of(300, 40)), 1e-6}, trial{kernels.MeanSquaredError, nil, list(of(1)), list(of(3), of(3)), 1e-6})
	p := of(1000)
	for _, set := range []kernels.SGDOptions{{Rate: 0.1}, {Rate: 0.1, Decay: 0.2}, {Rate: 0.1, Momentum: 0.9, Decay: 0.2}, {Rate: 0.1, Momentum: 0.9, Nesterov: true}} {
		out := list(p, p)
		if set.Momentum == 0 {
			out = list(p)
		}
		all = append(all, trial{kernels.SGD, set, out, list(p), 1e-6})
	}
	for _, decoupled := range []bool{false, true} {
		all = append(all, trial{kernels.Adam, kernels.AdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: decoupled, Step: 3}, list(p, p.up(2), p.up(3)), list(p), 1e-5})
	}
	for _, u := range rules {
		for _, g := range []spec{of(1000), of(2, 3, 4, 5).channelsLast()} {
			all = append(all, trial{u.k, u.set, u.outputs(of(g.shape...)), list(g), 1e-5})
		}
	}
	random := kernels.RandomOptions{Seed: 1<<40 + 7, Stream: 3, A: -2, B: 5}
	all = append(all, trial{kernels.Uniform, random, list(of(33, 7)), nil, 1e-6}, trial{kernels.Normal, random, list(of(33, 7)), nil, 1e-5},
		trial{kernels.Normal, random, list(of(33, 7).as(dtype.Float64)), nil, 1e-13}, trial{kernels.Dropout, kernels.DropoutOptions{P: 0.4, Seed: 9, Stream: 1}, list(of(33, 7)), list(of(33, 7)), 1e-6})
	for _, x := range []spec{of(6, 8), of(2, 6, 5, 8), of(2, 6, 5, 8).channelsLast(), of(2, 6, 8, 5).channelsLast()} { // four elements of each block of random words
		for _, y := range []spec{x, of(x.shape...)} {
			all = append(all, trial{kernels.Uniform, random, list(x), nil, 1e-6}, trial{kernels.Normal, random, list(x), nil, 1e-5},
				trial{kernels.Dropout, kernels.DropoutOptions{P: 0.4, Seed: 9, Stream: 1}, list(y), list(x), 1e-6}, trial{kernels.Dropout, kernels.DropoutOptions{P: 0.4, Seed: 9, Stream: 1}, list(x), list(y), 1e-6})
		}
	}
	return all
}

// rules are the updates by lines of updates.h beside SGD and Adam.
var rules = []rule{
	{kernels.Adam, kernels.AdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-2, Decay: 0.1, Step: 3, AMSGrad: true}, 3, []float64{0.05, 0.729, 0.97}},
	{kernels.NAdam, kernels.NAdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-2, Decay: 0.1, MomentumDecay: 4e-3, Step: 3, Momenta: 0.1}, 2, []float64{0.05, 0.9, 0.99, 0.1}},
	{kernels.Adamax, kernels.AdamaxOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 0.1, Decay: 0.1, Step: 4}, 2, []float64{0.05, 0.6}},
	{kernels.Adagrad, kernels.AdagradOptions{Rate: 0.1, RateDecay: 0.1, Eps: 0.1, Decay: 0.1, Step: 4}, 1, []float64{0.05, 7}},
	{kernels.Adadelta, kernels.AdadeltaOptions{Rate: 0.9, Rho: 0.9, Eps: 0.1, Decay: 0.1}, 2, []float64{0.05}},
	{kernels.RMSProp, kernels.RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 0.1, Decay: 0.1}, 1, []float64{0.05}},
	{kernels.RMSProp, kernels.RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 0.1, Momentum: 0.5}, 2, []float64{0.05}},
	{kernels.RMSProp, kernels.RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 0.1, Centered: true}, 2, []float64{0.05}},
	{kernels.RMSProp, kernels.RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 0.1, Centered: true, Momentum: 0.5}, 3, []float64{0.05}},
	{kernels.Lion, kernels.LionOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Decay: 0.1}, 1, []float64{0.05}},
}

// A rule is a kernel of updates with options, the number of its buffers, and hyperparameters.
type rule struct {
	k       *kernels.Kernel
	set     any
	buffers int
	hyper   []float64
}

// outputs returns a parameter and its buffers: squares that are no less than the square of a mean.
func (u rule) outputs(p spec) []spec {
	all := list(p, p.up(3), p.up(1), p.up(3))[:1+u.buffers]
	if u.k == kernels.RMSProp {
		all[1].is = slices.Repeat([]float64{4}, views.Of(p.shape...).Len())
	}
	return all
}

// capturable tries hyperparameters, loss scaling and metrics in device memory, for graph replay.
func capturable() (all []trial) {
	p, rate, hyperparameters, stream := of(1000), these(dtype.Float64, 0.05), these(dtype.Float64, 0.05, 0.97, 1.2), these(dtype.Uint64, 1<<40)
	nan, inf := math.NaN(), math.Inf(1)
	sgd := kernels.SGDOptions{Rate: 3, Momentum: 0.9, Decay: 0.2}
	adam := kernels.AdamOptions{Rate: 3, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: true, Step: 3}
	all = append(all, trial{kernels.SGD, sgd, list(p, p), list(p, rate), 1e-6}, trial{kernels.Adam, adam, list(p, p.up(2), p.up(3)), list(p, hyperparameters), 1e-5},
		trial{kernels.Dropout, kernels.DropoutOptions{P: 0.4, Seed: 9, Stream: 1}, list(of(33, 7)), list(of(33, 7), stream), 1e-6})
	for _, guard := range []spec{these(dtype.Float32, 8, 3, 0, 2), these(dtype.Float32, 8, 3, 1, 0), these(dtype.Float32, 0x1p-126, 3, 1, 0)} {
		all = append(all, trial{kernels.SGD, sgd, list(p, p), list(p, rate, guard), 1e-6}, trial{kernels.Adam, adam, list(p, p.up(2), p.up(3)), list(p, hyperparameters, guard), 1e-5},
			trial{kernels.UpdateScale, kernels.UpdateScaleOptions{GrowthInterval: 4}, list(guard), nil, 0}, trial{kernels.UpdateScale, kernels.UpdateScaleOptions{GrowthInterval: 9}, list(guard), nil, 0})
		for _, u := range rules {
			all = append(all, trial{u.k, u.set, u.outputs(p), list(p, these(dtype.Float64, u.hyper...), guard), 1e-5})
		}
		for _, x := range []spec{p, p.as(dtype.Float64), these(dtype.Float32, 1, 2, inf), these(dtype.Float16, 1, 2, -inf), these(dtype.BFloat16, nan, 2, 0)} {
			all = append(all, trial{kernels.FindInf, nil, list(guard), list(x), 0}, trial{kernels.FindInf, nil, list(guard), list(p, x, p.as(dtype.Float64)), 0})
		}
	}
	for _, loss := range []spec{of(), of(1).as(dtype.Float64), of().as(dtype.Float16), these(dtype.Float32, nan), these(dtype.BFloat16, -inf)} {
		for _, sums := range []spec{these(dtype.Float64, 3, 5, 2, 0, 1), these(dtype.Float64, nan, 5, 2, 1, 0)} {
			all = append(all, trial{kernels.AddMetrics, kernels.MetricsOptions{Samples: 7}, list(sums), list(loss, of().as(dtype.Int64).up(8)), 1e-15},
				trial{kernels.AddMetrics, kernels.MetricsOptions{Samples: 7}, list(sums), list(loss, of().as(dtype.Int64).up(8), of(1).as(dtype.Int64).up(3)), 1e-15},
				trial{kernels.AddMetrics, kernels.MetricsOptions{Samples: 7}, list(sums), list(loss), 1e-15})
		}
	}
	all = append(all, several(rate)...)
	for _, t := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
		all = append(all, trial{kernels.GatherCast, kernels.ScaleOffsetOptions{Scale: 0.5, Offset: -3}, list(of(9, 5, 4).as(t)), list(of(50, 5, 4).as(dtype.Uint8).up(256), of(9).as(dtype.Int64).up(50)), 0})
	}
	for _, t := range dtype.All() {
		for axis, whole := range []spec{of(7, 4, 3).as(t).up(3), of(9, 2, 3).as(t).up(3), of(9, 4, 8).as(t).up(3)} {
			part, index := of(9, 4, 3).as(t).up(3), of(9, 4, 3).as(dtype.Int64).up(whole.shape[axis])
			all = append(all, trial{kernels.Gather, kernels.GatherOptions{Axis: axis}, list(part), list(whole, index), 0},
				trial{kernels.Scatter, kernels.ScatterOptions{Axis: axis}, list(whole), list(part, index), 0})
			if computable(t) {
				for join := kernels.ScatterAdd; join <= kernels.ScatterMin; join++ {
					all = append(all, trial{kernels.Scatter, kernels.ScatterOptions{Axis: axis, Reduce: join}, list(whole), list(part.channelsLast(), index), 0})
				}
			}
		}
	}
	for _, t := range []dtype.Type{dtype.Uint8, dtype.Int16, dtype.Float32, dtype.Float64, dtype.Complex128} {
		for _, row := range [][]int{nil, {3}, {4}, {2, 8}, {3, 2, 2}} {
			x, y := append([]int{50}, row...), append([]int{9}, row...)
			take := trial{kernels.Gather, nil, list(of(y...).as(t)), list(of(x...).as(t).up(100), of(y...).as(dtype.Int64).up(50).perRow()), 0}
			all = append(all, take)
			if len(row) == 3 {
				all = append(all, trial{kernels.Gather, nil, list(take.out[0].channelsLast()), list(take.in[0].channelsLast(), take.in[1]), 0})
			}
		}
	}
	return all
}

// several tries updates of more parameters than one launch takes, of two types, one of
// whose layout is another than its gradient's.
func several(rate spec) (all []trial) {
	var out, in []spec
	for i := range 150 {
		p := of(1 + 37*i%400)
		if i%50 == 7 {
			p = of(2, 3, 4, 5)
		}
		if i > 120 {
			p.t = dtype.Float64
		}
		out, in = append(out, p, p), append(in, p.or(i%50 == 7, spec.channelsLast))
	}
	set := kernels.SGDOptions{Rate: 0.1, Momentum: 0.9}
	return append(all, trial{kernels.SGD, set, out, in, 1e-6}, trial{kernels.SGD, set, out, append(in, rate), 1e-6})
}

// or is another operand if that is asked for.
func (s spec) or(other bool, make func(spec) spec) spec {
	if other {
		return make(s)
	}
	return s
}

// elementwise tries lines of ops.h with every type they are defined on.
func elementwise() (all []trial) {
	for _, t := range dtype.All() {
		if !computable(t) {
			continue
		}
		a := of(1000).as(t)
		for _, k := range ofEveryType[:5] {
			all = append(all, trial{k, nil, list(a), list(a.up(7), a.up(5)), 0})
		}
		for _, k := range []*kernels.Kernel{kernels.MultiplyAdd, kernels.Clamp} {
			all = append(all, trial{k, nil, list(a), list(a.up(7), a.up(5), a.up(9)), 0})
		}
		for _, k := range []*kernels.Kernel{kernels.Less, kernels.LessEqual, kernels.Greater, kernels.GreaterEqual, kernels.Equal, kernels.NotEqual} {
			all = append(all, trial{k, nil, list(a.as(dtype.Bool)), list(a.up(3), a.up(3)), 0})
		}
		all = append(all, trial{kernels.Neg, nil, list(a), list(a.up(9)), 0}, trial{kernels.Abs, nil, list(a), list(a), 0})
		for _, k := range divisions {
			all = append(all, trial{k, nil, list(a), list(a.up(7), a.up(5)), floatTolerances[t]})
		}
		if t.IsFloat() {
			all = append(all, floats(a)...)
			continue
		}
		for _, k := range bitKernels {
			all = append(all, trial{k, nil, list(a), list(a.up(100), a.up(70)), 0})
		}
	}
	return all
}

// bitKernels are the elementwise kernels that floats do not have.
var bitKernels = []*kernels.Kernel{kernels.BitAnd, kernels.BitOr, kernels.BitXor, kernels.ShiftLeft, kernels.ShiftRight}

// divisions are kernels of all types with formulas of their own for integers.
var divisions = []*kernels.Kernel{kernels.Pow, kernels.FMod, kernels.Remainder, kernels.FloorDiv}

var floatTolerances = map[dtype.Type]float64{dtype.Float16: 1e-3, dtype.BFloat16: 1e-2, dtype.Float32: 2e-6, dtype.Float64: 1e-14}

// ofEveryType are the elementwise kernels that integers have too.
var ofEveryType = []*kernels.Kernel{
	kernels.Add, kernels.Sub, kernels.Mul, kernels.Maximum, kernels.Minimum, kernels.Neg, kernels.Abs, kernels.MultiplyAdd, kernels.Clamp,
	kernels.Less, kernels.LessEqual, kernels.Greater, kernels.GreaterEqual, kernels.Equal, kernels.NotEqual,
}

// floats tries operations that are defined for floats only.
func floats(a spec) (all []trial) {
	tolerance := floatTolerances[a.t]
	for _, k := range kernels.All() {
		if k.HostOnly || slices.Contains(bitKernels, k) || slices.Contains(divisions, k) {
			continue
		}
		switch in := slices.Repeat(list(a), k.Elementwise()); {
		case k == kernels.Log || k == kernels.Sqrt:
			all = append(all, trial{k, nil, list(a), list(a.up(900)), tolerance})
		case len(in) > 0 && !slices.Contains(ofEveryType, k):
			all = append(all, trial{k, nil, list(a), in, tolerance})
		}
	}
	for act := kernels.NoActivation; act <= kernels.SiLUActivation; act++ {
		image, bias := of(5, 20).as(a.t), of(20).as(a.t)
		all = append(all, trial{kernels.BiasAct, kernels.ActOptions{Act: act}, list(image), list(image, bias), 2 * tolerance})
	}
	elu := kernels.ELUOptions{Alpha: 1.5, Scale: 0.75}
	all = append(all, trial{kernels.ELU, elu, list(a), list(a), 2 * tolerance}, trial{kernels.ELUGrad, elu, list(a), list(a, a), 2 * tolerance})
	return append(all, trial{kernels.ScaleOffset, kernels.ScaleOffsetOptions{Scale: -1.5, Offset: 0.25}, list(a), list(a), 2 * tolerance},
		trial{kernels.ScaleOffset, kernels.ScaleOffsetOptions{}, list(a), list(a), 0}, trial{kernels.Cast, kernels.CastOptions{Offset: 3}, list(a), list(a), 2 * tolerance})
}

func (c trial) String() string {
	name := c.k.Name
	for _, s := range append(slices.Clone(c.out), c.in...) {
		name += fmt.Sprintf(" %v%v", s.t, s.shape)
	}
	return name
}

// drawn returns an operand on the CPU.
func (s spec) drawn(r *rand.Rand) storage.Array {
	v := views.Of(s.shape...)
	floats := make([]float64, v.Len())
	for i := range floats {
		floats[i] = r.NormFloat64()
		if s.below > 0 {
			floats[i] = float64(r.IntN(s.below))
		}
		if s.is != nil {
			floats[i] = s.is[i]
		}
	}
	if s.lies != nil {
		v = s.lies(v)
	}
	a, err := storage.Make(storage.CPU, s.t, len(floats))
	if err != nil {
		panic(err)
	}
	if err := dtype.Convert(a.Data.(storage.Host).Bytes(), s.t, dtype.Bytes(floats), dtype.Float64); err != nil {
		panic(err)
	}
	return a.With(v)
}

// call returns the trial's call on the CPU and, with the same elements, on d.
func (c trial) call(t *testing.T, d storage.Device) (host, there kernels.Call) {
	r := rand.New(rand.NewPCG(5, 6))
	host.Options, there.Options = c.set, c.set
	for _, side := range []struct {
		specs       []spec
		host, there *[]storage.Array
	}{{c.out, &host.Out, &there.Out}, {c.in, &host.In, &there.In}} {
		for _, s := range side.specs {
			a := s.drawn(r)
			data, err := d.Alloc(a.Data.Len())
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Upload(data, 0, a.Data.(storage.Host).Bytes()); err != nil {
				t.Fatal(err)
			}
			*side.host = append(*side.host, a)
			*side.there = append(*side.there, storage.Array{Data: data, Type: a.Type, View: a.View})
		}
	}
	return host, there
}

// agrees compares the trial's results on d with the reference's, and returns them.
func (c trial) agrees(t *testing.T, d *cuda.Device) []storage.Array {
	t.Helper()
	host, there := c.call(t, d)
	if err := c.k.Reference(&host); err != nil {
		t.Fatal(err)
	}
	if err := d.Run(c.k, &there); err != nil {
		t.Fatal(err)
	}
	for i := range host.Out {
		same(t, fmt.Sprintf("output %d", i), there.Out[i], host.Out[i], c.tolerance)
	}
	return there.Out
}

// repeats checks that there are the same bits from the trial on d again, although other threads take
// its elements: nothing is summed in an order of chance.
func (c trial) repeats(t *testing.T, d *cuda.Device, want []storage.Array) {
	t.Helper()
	_, there := c.call(t, d)
	if there.Geometry = (launch.Geometry{Threads: 40, Blocks: 3}); there.Out[0].Len() < 40 {
		there.Geometry = launch.Geometry{Threads: 1}
	}
	if err := d.Run(c.k, &there); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		exact(t, fmt.Sprintf("output %d, once more,", i), there.Out[i], want[i])
	}
}

func TestKernelsMatchReference(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	for i, c := range trials() {
		t.Run(c.String(), func(t *testing.T) {
			defer cudatest.Reset()
			c.repeats(t, gpus[i%2], c.agrees(t, gpus[i%2]))
		})
	}
	roundedFactorsAgree(t, gpus)
	if !t.Failed() && !cudatest.RealGPU() {
		everyEntryRan(t)
	}
}

// roundedFactorsAgree holds products that may be rounded to TF32, on GPUs that can, to
// references over factors that were rounded before.
func roundedFactorsAgree(t *testing.T, gpus [2]*cuda.Device) {
	for _, d := range gpus {
		d.AllowTF32(true)
		defer d.AllowTF32(false)
	}
	multiply := []*kernels.Kernel{kernels.MatMul, kernels.Linear, kernels.Conv, kernels.ConvGradX, kernels.ConvGradW}
	for i, c := range multiplying() {
		if !slices.Contains(multiply, c.k) || c.in[0].t != dtype.Float32 {
			continue
		}
		t.Run("TF32 "+c.String(), func(t *testing.T) {
			defer cudatest.Reset()
			d := gpus[i%2]
			host, there := c.call(t, d)
			if d.Capability >= 80 {
				roundToTF32(host.In[0])
				roundToTF32(host.In[1])
			}
			if err := errors.Join(c.k.Reference(&host), d.Run(c.k, &there)); err != nil {
				t.Fatal(err)
			}
			same(t, "the product", there.Out[0], host.Out[0], c.tolerance)
		})
	}
}

// roundToTF32 rounds each float32 of a to 10 bits of mantissa, halves away from 0.
func roundToTF32(a storage.Array) {
	bytes := a.Data.(storage.Host).Bytes()
	for i := 0; i < len(bytes); i += 4 {
		bits := binary.LittleEndian.Uint32(bytes[i:])
		binary.LittleEndian.PutUint32(bytes[i:], (bits+1<<12)&^(1<<13-1))
	}
}

// everyEntryRan checks that each entry of the device code was launched; float32
// and float64 are one template. What never ran agrees with nothing.
func everyEntryRan(t *testing.T) {
	entries, err := device.Entries(80)
	if err != nil {
		t.Fatal(err)
	}
	kind := strings.NewReplacer("_f32", "", "_f64", "", "_tf32", " tf32")
	ran := map[string]bool{}
	for entry := range cudatest.LaunchCounts() {
		ran[kind.Replace(entry)] = true
	}
	for _, name := range entries {
		if !ran[kind.Replace(name)] {
			t.Errorf("no trial launches %s", name)
		}
	}
}

// same compares the elements of two arrays within tolerance; NaN equals NaN.
func same(t *testing.T, what string, got, want storage.Array, tolerance float64) {
	t.Helper()
	if tolerance == 0 {
		exact(t, what, got, want)
		return
	}
	g, err := storage.Read[float64](got)
	if err != nil {
		t.Fatal(err)
	}
	w, err := storage.Read[float64](want)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w {
		if apart(g[i], w[i]) > tolerance {
			t.Fatalf("%s, element %d: got %v, want %v", what, i, g[i], w[i])
		}
	}
}

// apart returns how far x is from y, relative to 1 + |y|. Any NaN is any other.
func apart(x, y float64) float64 {
	if x == y || x != x && y != y {
		return 0
	}
	if d := math.Abs(x-y) / (1 + math.Abs(y)); d == d {
		return d
	}
	return math.Inf(1)
}

func exact(t *testing.T, what string, got, want storage.Array) {
	t.Helper()
	there, err := got.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	host, err := want.To(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	g, _ := there.Bytes()
	w, _ := host.Bytes()
	if !slices.Equal(g, w) {
		at := slices.IndexFunc(w, func(b byte) bool { return true })
		for i := range w {
			if g[i] != w[i] {
				at = i
				break
			}
		}
		t.Fatalf("%s differs from byte %d, of element %d: got %x, want %x", what, at, at/want.Type.Size(), g[at], w[at])
	}
}

func TestEveryKernelIsTried(t *testing.T) {
	tried := map[*kernels.Kernel]bool{}
	for _, c := range trials() {
		tried[c.k] = true
	}
	for _, k := range kernels.All() {
		if !tried[k] && !k.HostOnly {
			t.Errorf("no trial of %s", k.Name)
		}
	}
}

// TestGradientsOfManyPixelsSplitEvenly has enough pixels that their sum is split into as many parts
// as possible; none may reach beyond the end.
func TestGradientsOfManyPixelsSplitEvenly(t *testing.T) {
	y := of(32_900, 8)
	trial{kernels.ActGradBias, kernels.ActOptions{Act: kernels.ReLUActivation}, list(y, of(8)), list(y, y), 1e-4}.agrees(t, cudatest.Devices(t, cudatest.Deferred)[0])
}

func TestWrongLabelsAreNamed(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		for _, k := range []*kernels.Kernel{kernels.CrossEntropy, kernels.Correct, kernels.LabelMask} {
			labels, err := storage.From([]int32{0, 3, 1, -7, 2}, 5).To(d)
			if err != nil {
				t.Fatal(err)
			}
			out, err := storage.Make(d, map[bool]dtype.Type{true: dtype.Int64, false: dtype.Float32}[k == kernels.Correct])
			if err != nil {
				t.Fatal(err)
			}
			call := &kernels.Call{Out: []storage.Array{out}, In: []storage.Array{numbers(t, d, 15).With(views.Of(5, 3)), labels}}
			if k == kernels.LabelMask {
				call = &kernels.Call{Out: []storage.Array{numbers(t, d, 5)}, In: call.In[1:], Options: kernels.LabelMaskOptions{Classes: 3}}
			}
			if err := d.Run(k, call); err != nil {
				t.Fatal(err)
			}
			if err := d.Sync(); err == nil || !strings.Contains(err.Error(), "cuda:0: row 1 has label 3; want 0 to 2") {
				t.Errorf("%s: error %v; want one that names row 1", k.Name, err)
			}
			if err := d.Sync(); err != nil {
				t.Errorf("%s: reported twice: %v", k.Name, err)
			}
		}
	})
}

func TestWrongRowsAreNamed(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		rows, err := storage.From([]int64{0, 9, 7, 4, 2, 10}, 6).To(d)
		if err != nil {
			t.Fatal(err)
		}
		v, err := rows.Slice(0, 5, 0, -2)
		if err != nil {
			t.Fatal(err)
		}
		out := numbers(t, d, 9).With(views.Of(3, 3))
		if err := d.Run(kernels.Gather, &kernels.Call{Out: []storage.Array{out}, In: []storage.Array{numbers(t, d, 30).With(views.Of(10, 3)), rows.With(ofRows(v, out.Shape))}}); err != nil {
			t.Fatal(err)
		}
		if err := d.Sync(); err == nil || !strings.Contains(err.Error(), "cuda:0: index 0 is 10; want 0 to 9") {
			t.Errorf("error %v; want one that names row 0", err)
		}
	})
}

// TestTheFirstFaultIsKeptWhole, of many at once and of several launches: a row and
// its own label, not two labels.
func TestTheFirstFaultIsKeptWhole(t *testing.T) {
	eachSchedule(t, func(t *testing.T, gpus [2]*cuda.Device) {
		d := gpus[0]
		const n = 600
		wrong := make([]int64, n) // from row 300 on each another
		for i := 300; i < n; i++ {
			wrong[i] = int64(10 + i)
		}
		labels, err := storage.From(wrong, n).To(d)
		if err != nil {
			t.Fatal(err)
		}
		late := labels.With(views.View{Offset: 1, Shape: []int{n - 1}, Stride: []int{1}})
		x, y, loss := numbers(t, d, 10*n).With(views.Of(n, 10)), numbers(t, d, 10*n).With(views.Of(n, 10)), numbers(t, d, 1)
		count, err := storage.Make(d, dtype.Int64)
		if err != nil {
			t.Fatal(err)
		}
		run := func(k *kernels.Kernel, out, x, labels storage.Array) func() error {
			return func() error {
				return d.Run(k, &kernels.Call{Out: []storage.Array{out}, In: []storage.Array{x, labels}})
			}
		}
		backwards := y.With(views.View{Offset: 10 * (n - 1), Shape: y.Shape, Stride: []int{-10, 1}}) // the first thread takes the last row
		take := run(kernels.Gather, backwards, x.With(views.Of(10, 10)), labels.With(ofRows(labels.View, x.Shape)))
		entropy, hits := run(kernels.CrossEntropy, loss, x.With(views.Of(n-1, 10)), late), run(kernels.Correct, count, x, labels)
		for _, c := range []struct {
			want string
			runs []func() error
		}{
			{"index 300 is 310; want 0 to 9", []func() error{take, entropy, hits}},
			{"row 299 has label 310; want 0 to 9", []func() error{entropy, take, hits}},
			{"row 300 has label 310; want 0 to 9", []func() error{hits, entropy, take}},
		} {
			for _, run := range c.runs {
				if err := run(); err != nil {
					t.Fatal(err)
				}
			}
			if err := d.Sync(); err == nil || !strings.Contains(err.Error(), "cuda:0: "+c.want) {
				t.Errorf("error %v; want %q", err, c.want)
			}
			if err := d.Sync(); err != nil {
				t.Errorf("reported twice: %v", err)
			}
		}
	})
}

// TestRowsAreTakenFromUnalignedMemory, such as memory of other libraries, which is aligned
// to its elements only.
func TestRowsAreTakenFromUnalignedMemory(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	lent := numbers(t, d, 13)
	x := storage.Array{Data: d.UnownedMemory(d.Address(lent.Data)+4, 48), Type: lent.Type, View: views.Of(3, 4)}
	rows, err := storage.From([]int64{2, 0}, 2).To(d)
	if err != nil {
		t.Fatal(err)
	}
	y := numbers(t, d, 8).With(views.Of(2, 4))
	if err := d.Run(kernels.Gather, &kernels.Call{Out: []storage.Array{y}, In: []storage.Array{x, rows.With(ofRows(rows.View, y.Shape))}}); err != nil {
		t.Fatal(err)
	}
	want, err := storage.Read[float32](lent)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[float32](y); err != nil || !slices.Equal(got, slices.Concat(want[9:], want[1:5])) {
		t.Errorf("%v, %v; want rows 2 and 0 of %v", got, err, want[1:])
	}
}

func TestKernelsWithoutCUDAAreNamed(t *testing.T) {
	d := cudatest.Devices(t, cudatest.Eager)[0]
	x := numbers(t, d, 4)
	if err := d.Run(&kernels.Kernel{Name: "frobnicate"}, &kernels.Call{Out: []storage.Array{x}}); err == nil || !strings.Contains(err.Error(), "frobnicate: not implemented on GPUs") {
		t.Errorf("error %v; want one that names the kernel", err)
	}
	ints, err := storage.From([]int32{1, 2}, 2).To(d)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(kernels.Exp, &kernels.Call{Out: []storage.Array{ints}, In: []storage.Array{ints}}); err == nil || !strings.Contains(err.Error(), "exp: not defined on int32; cast it first") {
		t.Errorf("error %v; want one that names the type", err)
	}
}

// TestMemoryAccessesAreCoalesced asserts what makes the main kernels fast: that
// neighbouring threads touch neighbouring memory, and different banks.
func TestMemoryAccessesAreCoalesced(t *testing.T) {
	cudatest.FakeOnly(t)
	half := func(shape ...int) spec { return of(shape...).as(dtype.BFloat16) }
	d := cudatest.Devices(t, cudatest.Eager)[0]
	for _, c := range []struct {
		trial
		sectors, wavefronts float64 // at most, a request
	}{
		{trial{k: kernels.Softmax, set: kernels.SoftmaxOptions{Axis: 1}, out: list(of(64, 256)), in: list(of(64, 256))}, 4, 0},
		{trial{k: kernels.MatMul, out: list(of(128, 128)), in: list(of(128, 128), of(128, 128))}, 10, 1.06}, // 16 bytes a thread,
		{trial{k: kernels.MatMul, out: list(half(128, 128)), in: list(half(128, 128), half(128, 128))}, 11.5, 1.43},
		{trial{k: kernels.Conv, out: list(of(4, 32, 16, 16).channelsLast()), in: list(of(4, 16, 18, 18).channelsLast(), of(32, 16, 3, 3).channelsLast())}, 11.1, 1.04},
		{trial{k: kernels.Conv, out: list(half(4, 32, 16, 16).channelsLast()), in: list(half(4, 16, 18, 18).channelsLast(), half(32, 16, 3, 3).channelsLast())}, 9.4, 1.56},
	} {
		counters := cudatest.CountInstructions(func() {
			_, there := c.call(t, d)
			if err := d.Run(c.k, &there); err != nil {
				t.Fatal(err)
			}
		})
		if got := float64(counters.Sectors) / float64(counters.Requests); !(got <= c.sectors) {
			t.Errorf("%v: %.3f sectors a request, want at most %v", c, got, c.sectors)
		}
		if got := float64(counters.Wavefronts) / float64(max(1, counters.SharedRequests)); got > c.wavefronts {
			t.Errorf("%v: %.3f wavefronts a request, want at most %v", c, got, c.wavefronts)
		}
	}
}
