package kernels

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A sample is a call that tests run for every real type, layout and number of threads.
type sample struct {
	k         *Kernel
	options   any
	out, in   []operand
	tolerance float64 // of float32, relative to 1 + |want|; 0 is exact
	updates   bool    // outputs are read
	slow      bool    // has no optimized implementation for these operands
}

// An operand has the real type that is being tried, unless it has its own.
type operand struct {
	shape []int
	t     dtype.Type
	value func(r *rand.Rand) float64
}

func of(shape ...int) operand {
	return operand{shape: shape, value: func(r *rand.Rand) float64 { return float64(float32(r.NormFloat64())) }}
}

func (o operand) as(t dtype.Type) operand { o.t = t; return o }

func (o operand) drawn(value func(r *rand.Rand) float64) operand { o.value = value; return o }

// positive keeps away from where a function is steep or undefined.
func positive(r *rand.Rand) float64 { return float64(float32(0.25 + r.ExpFloat64())) }

func below(n int) func(r *rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return float64(r.IntN(n)) }
}

// shapesTried straddle blocks, vectors, narrow rows and the grain of parallelism.
var shapesTried = [][]int{
	{}, {1}, {5}, {0, 3}, {16}, {17}, {1025}, {4097}, {70001},
	{3, 5}, {300, 3}, {33, 65}, {300, 257}, {2, 3, 0, 5}, {2, 3, 4, 5}, {4, 16, 9, 11}, {2, 1, 3, 2, 1, 2, 2, 2, 2, 1, 2},
}

var everyActivation = []Activation{NoActivation, ReLUActivation, TanhActivation, SigmoidActivation, GELUActivation, GELUTanhActivation, SiLUActivation}

func zipSamples() (all []sample) {
	for _, shape := range shapesTried {
		for _, k := range []*Kernel{Add, Sub, Mul, Maximum, Minimum, ReLUGrad, TanhGrad, SigmoidGrad, GELUGrad, GELUTanhGrad, SiLUGrad} {
			all = append(all, sample{k: k, out: []operand{of(shape...)}, in: []operand{of(shape...), of(shape...)}, tolerance: 1e-6})
		}
		all = append(all, sample{k: Div, out: []operand{of(shape...)}, in: []operand{of(shape...), of(shape...).drawn(positive)}, tolerance: 1e-6})
		for _, k := range []*Kernel{Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual} {
			all = append(all, sample{k: k, out: []operand{of(shape...).as(dtype.Bool)}, in: []operand{of(shape...).drawn(below(3)), of(shape...).drawn(below(3))}})
		}
		for _, k := range []*Kernel{MultiplyAdd, Lerp, Clamp} {
			all = append(all, sample{k: k, out: []operand{of(shape...)}, in: []operand{of(shape...), of(shape...), of(shape...)}, tolerance: 1e-6})
		}
		all = append(all, sample{k: Where, out: []operand{of(shape...)}, in: []operand{of(shape...).as(dtype.Bool).drawn(below(2)), of(shape...), of(shape...)}})
		for _, act := range everyActivation {
			all = append(all, sample{k: ActGrad, options: ActOptions{Act: act}, out: []operand{of(shape...)}, in: []operand{of(shape...), of(shape...)}, tolerance: 1e-6})
		}
	}
	return all
}

func mapSamples() (all []sample) {
	for _, shape := range shapesTried {
		for _, k := range []*Kernel{Neg, Abs, ReLU, Exp, Tanh, Sigmoid, GELU, GELUTanh, SiLU, Softplus, Copy} {
			all = append(all, sample{k: k, out: []operand{of(shape...)}, in: []operand{of(shape...)}, tolerance: 2e-6})
		}
		for _, k := range []*Kernel{Log, Sqrt} {
			all = append(all, sample{k: k, out: []operand{of(shape...)}, in: []operand{of(shape...).drawn(positive)}, tolerance: 1e-6})
		}
		all = append(all,
			sample{k: ScaleOffset, options: ScaleOffsetOptions{-1.5, 0.25}, out: []operand{of(shape...)}, in: []operand{of(shape...)}, tolerance: 1e-6},
			sample{k: ELU, options: ELUOptions{1.5, 0.75}, out: []operand{of(shape...)}, in: []operand{of(shape...)}, tolerance: 2e-6},
			sample{k: ELUGrad, options: ELUOptions{1.5, 0.75}, out: []operand{of(shape...)}, in: []operand{of(shape...), of(shape...)}, tolerance: 2e-6},
			sample{k: Fill, options: FillOptions{2.5}, out: []operand{of(shape...)}},
			sample{k: Cast, out: []operand{of(shape...)}, in: []operand{of(shape...)}},
			sample{k: Cast, options: CastOptions{1. / 255, -0.5}, out: []operand{of(shape...)}, in: []operand{of(shape...).as(dtype.Uint8).drawn(below(256))}, tolerance: 1e-6},
		)
	}
	return all
}

func castSamples() (all []sample) {
	for _, from := range dtype.All() {
		for _, shape := range [][]int{{33}, {7, 19}} {
			slow := !native.Castable(dtype.Float32, from)
			all = append(all, sample{k: Cast, out: []operand{of(shape...)}, in: []operand{of(shape...).as(from).drawn(below(2))}, slow: slow})
			if computeTypeOf(from) != dtype.Invalid {
				all = append(all, sample{k: Cast, options: CastOptions{3, 1}, out: []operand{of(shape...)}, in: []operand{of(shape...).as(from).drawn(below(100))}, tolerance: 1e-6, slow: slow})
			}
			all = append(all, sample{k: Cast, out: []operand{of(shape...).as(from)}, in: []operand{of(shape...).drawn(below(2))}, slow: isHalf(from) || !native.Castable(from, dtype.Float32)})
			all = append(all, sample{k: Copy, out: []operand{of(shape...).as(from)}, in: []operand{of(shape...).as(from).drawn(below(2))}})
			all = append(all, sample{k: Fill, options: FillOptions{1}, out: []operand{of(shape...).as(from)}})
		}
	}
	return all
}

// reduced are shapes and what remains of them.
var reduced = [][2][]int{
	{{}, {}}, {{7}, {1}}, {{1025}, {1}}, {{100003}, {1}}, {{0, 3}, {0, 1}}, {{1, 5}, {1, 1}},
	{{3, 5}, {3, 1}}, {{3, 5}, {1, 5}}, {{3, 5}, {1, 1}}, {{3, 5}, {3, 5}}, {{65, 33}, {65, 1}}, {{65, 33}, {1, 33}},
	{{700, 90}, {1, 90}}, {{700, 90}, {700, 1}}, {{3, 20011}, {3, 1}}, {{20011, 3}, {1, 3}}, {{70, 1100}, {1, 1100}}, {{2000, 30}, {1, 30}},
	{{2, 3, 4, 5}, {2, 1, 4, 1}}, {{2, 3, 4, 5}, {1, 3, 1, 1}}, {{2, 3, 4, 5}, {2, 3, 1, 1}}, {{4, 16, 9, 11}, {1, 16, 1, 1}}, {{4, 16, 9, 11}, {4, 1, 9, 11}},
	{{8, 40, 15, 17}, {1, 40, 1, 1}},
}

func reduceSamples() (all []sample) {
	for _, shape := range reduced {
		x, y := of(shape[0]...), of(shape[1]...)
		empty := views.Of(shape[0]...).Len() == 0
		all = append(all,
			sample{k: Sum, out: []operand{y}, in: []operand{x}, tolerance: 2e-5, slow: empty},
			sample{k: Mean, out: []operand{y}, in: []operand{x}, tolerance: 1e-6, slow: empty},
			sample{k: Max, out: []operand{y}, in: []operand{x}, tolerance: 1e-6, slow: empty},
			sample{k: Min, out: []operand{y}, in: []operand{x}, tolerance: 1e-6, slow: empty},
			sample{k: Squares, out: []operand{y}, in: []operand{x}, tolerance: 2e-5, slow: empty},
			sample{k: Squares, out: []operand{y}, in: []operand{x, y}, tolerance: 2e-5, slow: empty},
			sample{k: Max, out: []operand{y}, in: []operand{x.drawn(below(3))}, slow: empty},
			sample{k: MaxGrad, out: []operand{x}, in: []operand{x.drawn(below(3)), y.drawn(func(*rand.Rand) float64 { return 2 }), y.drawn(below(9))}, tolerance: 1e-6})
		if gone := len(shape[0]) - kept(shape); gone <= 1 {
			all = append(all,
				sample{k: ArgMax, out: []operand{y.as(dtype.Int64)}, in: []operand{x}, slow: gone == 0},
				sample{k: ArgMax, out: []operand{y.as(dtype.Int64)}, in: []operand{x.drawn(below(4))}, slow: gone == 0},
				sample{k: MaxIndex, out: []operand{y, y.as(dtype.Int64)}, in: []operand{x}, tolerance: 1e-7, slow: gone == 0},
				sample{k: MaxIndex, out: []operand{y, y.as(dtype.Int64)}, in: []operand{x.drawn(below(4))}, slow: gone == 0})
		}
	}
	for _, t := range []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Int8, dtype.Uint16, dtype.Int16, dtype.Uint32, dtype.Int32, dtype.Uint64, dtype.Int64} {
		sum := dtype.Int64
		if t == dtype.Uint64 {
			sum = t
		}
		all = append(all, sample{k: Sum, out: []operand{of(3, 1).as(sum)}, in: []operand{of(3, 5).as(t).drawn(below(2))}},
			sample{k: Max, out: []operand{of(3, 1).as(t)}, in: []operand{of(3, 5).as(t).drawn(below(2))}},
			sample{k: Min, out: []operand{of(3, 1).as(t)}, in: []operand{of(3, 5).as(t).drawn(below(2))}},
			sample{k: MaxIndex, out: []operand{of(3, 1).as(t), of(3, 1).as(dtype.Int64)}, in: []operand{of(3, 5).as(t).drawn(below(2))}, slow: t == dtype.Bool})
		for _, shape := range [][2][]int{{{3, 100}, {3, 1}}, {{70, 5}, {1, 5}}, {{2, 40, 300}, {2, 1, 300}}} {
			x, y := of(shape[0]...).as(t).drawn(below(100)), of(shape[1]...)
			all = append(all, sample{k: Sum, out: []operand{y.as(sum)}, in: []operand{x}},
				sample{k: Max, out: []operand{y.as(t)}, in: []operand{x}},
				sample{k: Min, out: []operand{y.as(t)}, in: []operand{x}},
				sample{k: MaxIndex, out: []operand{y.as(t), y.as(dtype.Int64)}, in: []operand{x}, slow: t == dtype.Bool},
				sample{k: ArgMax, out: []operand{y.as(dtype.Int64)}, in: []operand{x}, slow: t == dtype.Bool})
		}
	}
	return all
}

// kept counts axes that a reduction keeps.
func kept(shape [2][]int) (n int) {
	for axis := range shape[0] {
		if shape[0][axis] == shape[1][axis] {
			n++
		}
	}
	return n
}

func lineSamples() (all []sample) {
	for _, shape := range [][]int{{7}, {1}, {3, 0}, {0, 3}, {3, 10}, {64, 10}, {5, 16}, {5, 17}, {33, 1000}, {300, 90}, {2, 3, 4, 5}, {3, 70, 9, 11}} {
		for axis := range shape {
			for _, k := range []*Kernel{Softmax, LogSoftmax} {
				all = append(all, sample{k: k, options: SoftmaxOptions{axis}, out: []operand{of(shape...)}, in: []operand{of(shape...)}, tolerance: 2e-6})
			}
			for _, k := range []*Kernel{SoftmaxGrad, LogSoftmaxGrad} {
				all = append(all, sample{k: k, options: SoftmaxOptions{axis}, out: []operand{of(shape...)}, in: []operand{of(shape...), of(shape...)}, tolerance: 3e-5})
			}
			first := slices.Clone(shape)
			first[axis] = (shape[axis] + 2) / 3
			for i, x := range []operand{of(shape...), of(shape...).drawn(below(5))} {
				set := SortOptions{axis, i == 1}
				all = append(all, sample{k: CumSum, options: CumSumOptions{axis}, out: []operand{x}, in: []operand{x}, tolerance: 1e-5},
					sample{k: Sort, options: set, out: []operand{x, of(shape...).as(dtype.Int64)}, in: []operand{x}, tolerance: 1e-7},
					sample{k: Sort, options: set, out: []operand{of(first...), of(first...).as(dtype.Int64)}, in: []operand{x}, tolerance: 1e-7})
			}
		}
	}
	for _, t := range []dtype.Type{dtype.Bool, dtype.Uint8, dtype.Int8, dtype.Uint16, dtype.Int16, dtype.Uint32, dtype.Int32, dtype.Uint64, dtype.Int64, dtype.Float16, dtype.BFloat16} {
		x := of(3, 70).as(t).drawn(below(2))
		if t != dtype.Bool {
			x = of(3, 70).as(t).drawn(below(100))
		}
		for _, descending := range []bool{false, true} {
			all = append(all, sample{k: Sort, options: SortOptions{1, descending}, out: []operand{x, of(3, 70).as(dtype.Int64)}, in: []operand{x}})
		}
	}
	return all
}

func lossSamples() (all []sample) {
	for _, shape := range [][2]int{{1, 1}, {1, 10}, {64, 10}, {7, 16}, {7, 17}, {1000, 100}, {3, 20000}} {
		rows, classes := shape[0], shape[1]
		x := of(rows, classes)
		for _, t := range []dtype.Type{dtype.Uint8, dtype.Int64, dtype.Int8, dtype.Int16, dtype.Uint16, dtype.Int32, dtype.Uint32, dtype.Uint64} {
			if rows*classes > threaded && t == dtype.Int8 { // the type of labels does not change how rows are divided
				break
			}
			labels := of(rows).as(t).drawn(below(min(classes, 100)))
			all = append(all,
				sample{k: CrossEntropy, out: []operand{of(), x}, in: []operand{x, labels}, tolerance: 2e-6},
				sample{k: CrossEntropy, out: []operand{of(1)}, in: []operand{x, labels}, tolerance: 2e-6},
				sample{k: Correct, out: []operand{of().as(dtype.Int64)}, in: []operand{x, labels}})
		}
	}
	for _, t := range []dtype.Type{dtype.Uint8, dtype.Int16, dtype.Int64} {
		labels := of(33).as(t).drawn(below(7))
		all = append(all, sample{k: LabelMask, options: LabelMaskOptions{Classes: 7}, out: []operand{of(33)}, in: []operand{labels}},
			sample{k: LabelMask, options: LabelMaskOptions{Classes: 6, Ignore: 6, Ignores: true}, out: []operand{of(33)}, in: []operand{labels}})
	}
	for _, shape := range [][]int{{1}, {17}, {3, 5}, {300, 257}, {2, 3, 4, 5}} {
		x := of(shape...)
		all = append(all,
			sample{k: MeanSquaredError, out: []operand{of(), x}, in: []operand{x, x}, tolerance: 2e-6, slow: true},
			sample{k: MeanSquaredError, out: []operand{of()}, in: []operand{x, x}, tolerance: 2e-6, slow: true})
	}
	return all
}

func biasSamples() (all []sample) {
	for _, shape := range [][]int{{1, 1}, {0, 3}, {64, 10}, {64, 128}, {5, 17}, {130, 600}, {2000, 33}, {2, 3, 4, 5}, {4, 16, 9, 11}, {13, 20, 15, 17}} {
		x, b := of(shape...), of(shape[1])
		for _, act := range everyActivation {
			all = append(all,
				sample{k: BiasAct, options: ActOptions{Act: act}, out: []operand{x}, in: []operand{x, b}, tolerance: 2e-6},
				sample{k: ActGradBias, options: ActOptions{Act: act}, out: []operand{x, b}, in: []operand{x, x}, tolerance: 3e-5, slow: x.shape[0] == 0})
		}
	}
	relu := ActOptions{Act: ReLUActivation, Dropped: 0.4}
	x, b := of(64, 10), of(10)
	return append(all, sample{k: ActGradBias, options: relu, out: []operand{x, b}, in: []operand{x, x}, tolerance: 3e-5, slow: true})
}

// indexSamples have an index of each element, and one of each row, whose elements it selects by strides of 0.
func indexSamples() (all []sample) {
	for _, c := range []struct {
		shape   []int // of the elements that are selected or added
		axis, n int   // and the size of that axis where they come from or go to
	}{{[]int{5}, 0, 3}, {[]int{70001}, 0, 30}, {[]int{0, 3}, 0, 4}, {[]int{4, 0}, 0, 4}, {[]int{70, 64}, 0, 40}, {[]int{3, 5}, 1, 9}, {[]int{140, 33}, 1, 7}, {[]int{4, 9, 11}, 1, 20}, {[]int{2, 3, 1, 5}, 2, 6}} {
		whole := slices.Clone(c.shape)
		whole[c.axis] = c.n
		x, part, index := of(whole...), of(c.shape...), of(c.shape...).as(dtype.Int64).drawn(below(c.n))
		for _, t := range []dtype.Type{dtype.Invalid, dtype.Uint8, dtype.Int16, dtype.Int32, dtype.Int64, dtype.Float16} {
			if views.Of(c.shape...).Len() > 1000 && t.Valid() {
				break
			}
			if t.Valid() {
				x, part = x.as(t).drawn(below(9)), part.as(t).drawn(below(9))
			}
			all = append(all, sample{k: Gather, options: GatherOptions{c.axis}, out: []operand{part}, in: []operand{x, index}},
				sample{k: Scatter, options: ScatterOptions{Axis: c.axis}, out: []operand{x}, in: []operand{part, index}, updates: true},
				sample{k: Scatter, options: ScatterOptions{c.axis, ScatterAdd}, out: []operand{x}, in: []operand{part, index}, updates: true, tolerance: 2e-5, slow: t == dtype.Float16})
		}
	}
	return all
}

// updateRules are updates by every line of updates.h.
var updateRules = []struct {
	k       *Kernel
	options updateOptions
}{
	{SGD, SGDOptions{Rate: 0.1}}, {SGD, SGDOptions{Rate: 0.1, Decay: 0.01}}, {SGD, SGDOptions{Rate: 0.1, Momentum: 0.9}},
	{SGD, SGDOptions{Rate: 0.1, Momentum: 0.9, Nesterov: true, Decay: 0.1}},
	{Adam, AdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Step: 1}}, {Adam, AdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Decay: 0.1, Step: 7}},
	{Adam, AdamOptions{Rate: 0.1, Beta1: 0.8, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: true, Step: 1000}},
	{Adam, AdamOptions{Rate: 0.1, Beta1: 0.8, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Step: 9, AMSGrad: true}},
	{NAdam, NAdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, MomentumDecay: 4e-3, Step: 3, Momenta: 0.1}},
	{NAdam, NAdamOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-3, Decay: 0.1, Decoupled: true, MomentumDecay: 4e-3, Step: 30, Momenta: 1e-9}},
	{Adamax, AdamaxOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Eps: 1e-2, Decay: 0.1, Step: 4}},
	{Adagrad, AdagradOptions{Rate: 0.1, RateDecay: 0.2, Eps: 1e-3, Decay: 0.1, Step: 4}},
	{Adadelta, AdadeltaOptions{Rate: 0.9, Rho: 0.9, Eps: 1e-3, Decay: 0.1}},
	{RMSProp, RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 1e-3, Decay: 0.1}}, {RMSProp, RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 1e-3, Momentum: 0.8}},
	{RMSProp, RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 1e-3, Centered: true}}, {RMSProp, RMSPropOptions{Rate: 0.1, Alpha: 0.9, Eps: 1e-3, Momentum: 0.8, Centered: true}},
	{Lion, LionOptions{Rate: 0.1, Beta1: 0.9, Beta2: 0.99, Decay: 0.1}},
}

// TestEveryUpdateHasSamples of every line of updates.h.
func TestEveryUpdateHasSamples(t *testing.T) {
	tried := map[string]bool{}
	for _, u := range updateRules {
		r, err := u.options.rule()
		must(err)
		tried[r.line] = true
	}
	for name := range updates {
		if !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

func updateSamples() (all []sample) {
	for _, shape := range [][]int{{}, {0}, {1}, {17}, {33, 65}, {300, 257}, {2, 3, 4, 5}} {
		p, v := of(shape...), of(shape...).drawn(positive)
		for _, u := range updateRules {
			r, err := u.options.rule()
			must(err)
			out := []operand{p}
			switch n := updates[r.line].Buffers; {
			case n == 1 && u.k == SGD, n == 1 && u.k == Lion:
				out = append(out, p)
			case u.k == RMSProp: // the mean of squares is not less than the square of the mean
				out = append(out, slices.Repeat([]operand{of(shape...).drawn(func(r *rand.Rand) float64 { return r.Float64() })}, n)...)
				out[1].value = func(r *rand.Rand) float64 { return 2 + r.Float64() }
			case n > 0:
				out = append(out, slices.Repeat([]operand{v}, n)...)
			}
			all = append(all, sample{k: u.k, options: u.options, out: out, in: []operand{p}, tolerance: 1e-6, updates: true, slow: true})
			if views.Of(shape...).Len() < grain { // two parameters
				all = append(all, sample{k: u.k, options: u.options, out: append(out, out...), in: []operand{p, p}, tolerance: 1e-6, updates: true, slow: true})
			}
		}
	}
	return all
}

func clipSamples() (all []sample) {
	for _, shape := range [][]int{{}, {0}, {17}, {33, 65}, {300, 257}, {2, 3, 4, 5}} {
		x, y, factor, scale := of(shape...), of(7), of().as(dtype.Float64), of().drawn(positive)
		for _, options := range []ClipFactorOptions{{Limit: 0.5}, {Limit: 1e6}} {
			all = append(all, sample{k: ClipFactor, options: options, out: []operand{factor}, in: []operand{x, y}, tolerance: 2e-6, slow: true})
			options.LossScale = true
			all = append(all, sample{k: ClipFactor, options: options, out: []operand{factor}, in: []operand{x, y, scale}, tolerance: 2e-6, slow: true})
		}
		clamp := ClampAllOptions{Limit: 0.7}
		all = append(all, sample{k: ClampAll, options: clamp, out: []operand{x, y}, in: []operand{x, y}, tolerance: 1e-6},
			sample{k: ClampAll, options: clamp, out: []operand{x, y}, in: []operand{x, y, scale}, tolerance: 1e-6})
		all = append(all, sample{k: Scale, out: []operand{x, y}, in: []operand{x, y, factor}, tolerance: 1e-6})
	}
	return all
}

func normSamples() (all []sample) {
	options := LayerNormOptions{Epsilon: 1e-3}
	for _, shape := range [][2]int{{0, 5}, {1, 1}, {3, 1}, {5, 17}, {70, 33}, {33, 768}, {300, 257}, {2, 20000}} {
		x, rows, columns := of(shape[:]...), of(shape[0]), of(shape[1])
		all = append(all,
			sample{k: LayerNorm, options: options, out: []operand{x, rows, rows}, in: []operand{x}, tolerance: 1e-5, slow: true},
			sample{k: LayerNorm, options: options, out: []operand{x, rows, rows}, in: []operand{x, columns, columns}, tolerance: 1e-5, slow: true},
			sample{k: LayerNormGrad, out: []operand{x}, in: []operand{x, x, rows, rows}, tolerance: 1e-4, slow: true},
			sample{k: LayerNormGrad, out: []operand{x, columns, columns}, in: []operand{x, x, rows, rows, columns}, tolerance: 1e-4, slow: true})
	}
	return all
}

func randomSamples() (all []sample) {
	for _, shape := range shapesTried {
		x := of(shape...)
		all = append(all,
			sample{k: Uniform, options: RandomOptions{1, 2, -1, 3}, out: []operand{x}, tolerance: 1e-6},
			sample{k: Normal, options: RandomOptions{1 << 40, 1 << 50, 1, 2}, out: []operand{x}, tolerance: 3e-6},
			sample{k: Dropout, options: DropoutOptions{0.3, 7, 1 << 33}, out: []operand{x}, in: []operand{x}, tolerance: 1e-6},
			sample{k: Dropout, options: DropoutOptions{0.3, 7, 1 << 33}, out: []operand{x}, in: []operand{x, of(1).as(dtype.Uint64).drawn(below(99))}, tolerance: 1e-6},
			sample{k: Dropout, options: DropoutOptions{1, 7, 3}, out: []operand{x}, in: []operand{x}},
			sample{k: Dropout, options: DropoutOptions{0, 7, 3}, out: []operand{x}, in: []operand{x}})
	}
	return all
}

func TestOptimizedAgreesWithReference(t *testing.T) {
	for _, family := range []struct {
		name    string
		samples []sample
	}{
		{"zip", zipSamples()},
		{"map", mapSamples()},
		{"cast", castSamples()},
		{"reduce", reduceSamples()},
		{"line", lineSamples()},
		{"loss", lossSamples()},
		{"bias", biasSamples()},
		{"update", updateSamples()},
		{"clip", clipSamples()},
		{"norm", normSamples()},
		{"random", randomSamples()},
		{"index", indexSamples()},
	} {
		t.Run(family.name, func(t *testing.T) {
			for i, s := range family.samples {
				s.hold(t, uint64(i))
			}
		})
	}
}

// hold tries s through every layout.
func (s sample) hold(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	trials := [][2]layout{{transposedLayout, gappedLayout}, {flipped, repeated}, {spaced, rowMajorLayout}, {repeated, transposedLayout}, {channelsLastLayout, rowMajorLayout}, {gappedLayout, channelsLastLayout}}
	for at := range uint64(3) { // half of the layouts, others for the next sample
		l := layouts[(seed+2*at)%6]
		trials = append(trials, [2]layout{l, l})
	}
	if s.size() >= threaded {
		trials = [][2]layout{{rowMajorLayout, rowMajorLayout}, trials[seed%uint64(len(trials))]}
	}
	for _, trial := range trials {
		s.try(t, seed, func(i int, writes bool, shape []int) views.View {
			l := trial[i%2]
			if l.name == repeated.name {
				if writes {
					l = rowMajorLayout
				} else {
					return partlyRepeated(r, shape)
				}
			}
			return l.of(shape...)
		})
	}
}

// partlyRepeated is a row-major view with some repeated axes.
func partlyRepeated(r *rand.Rand, shape []int) views.View {
	v := views.Of(shape...)
	for axis := range v.Stride {
		if r.IntN(2) == 0 {
			v.Stride[axis] = 0
		}
	}
	return v
}

// Kernels may distribute to threads this number of elements: those that sum or draw, and all of them (H5K_GRAIN).
const (
	threaded = 4096
	grain    = 65536
)

// size is the number of elements of the largest operand.
func (s sample) size() (n int) {
	for _, o := range slices.Concat(s.out, s.in) {
		n = max(n, views.Of(o.shape...).Len())
	}
	return n
}

// try compares results of float32 and float64 operands with the reference in float64, and the bits
// from 3 threads with those from one.
func (s sample) try(t *testing.T, seed uint64, lay func(i int, writes bool, shape []int) views.View) {
	t.Helper()
	var vs []views.View
	for i, o := range slices.Concat(s.out, s.in) {
		vs = append(vs, lay(i, i < len(s.out), o.shape))
	}
	about := fmt.Sprintf("%s %+v, sample %d, shapes %v, strides %v", s.k.Name, s.options, seed, shapes(vs), stridesOf(vs))
	double := s.call(seed, dtype.Float64, vs)
	want := double.withOutputs()
	if err := s.k.Reference(want); err != nil {
		t.Fatalf("%s: plain: %v", about, err)
	}
	wanted := make([][]float64, len(want.Out))
	for i, a := range want.Out {
		wanted[i] = elementsOf(a)
	}
	defer native.SetThreads(native.Threads())
	for _, real := range []dtype.Type{dtype.Float32, dtype.Float64} {
		drawn, first, done := double, (*Call)(nil), true
		if real == dtype.Float32 {
			drawn = s.call(seed, real, vs)
		}
		for threads := 1; threads <= 3 && done && (threads == 1 || s.size() >= threaded); threads += 2 {
			native.SetThreads(threads)
			got, err := drawn.withOutputs(), error(nil)
			if done = false; s.k.Optimized != nil {
				done, err = s.k.Optimized(got)
			}
			if err != nil {
				t.Fatalf("%s, %v: %v", about, real, err)
			}
			if !done && !s.slow && coalesces(vs) {
				t.Fatalf("%s, %v: left to the reference", about, real)
			}
			if !done { // on any number of threads
				must(s.k.Reference(got))
			}
			tolerance := s.tolerance
			if real == dtype.Float64 {
				tolerance = min(tolerance, 1e-12)
			}
			for i := range got.Out {
				if first == nil {
					nearElements(t, fmt.Sprintf("%s, %v, output %d", about, real, i), elementsOf(got.Out[i]), wanted[i], tolerance)
				} else if !bytes.Equal(got.Out[i].Data.(storage.Host).Bytes(), first.Out[i].Data.(storage.Host).Bytes()) {
					t.Fatalf("%s, %v, output %d: %d threads and 1 differ in their bits", about, real, i, threads)
				}
			}
			if first == nil {
				first = got
			}
		}
	}
}

// withOutputs returns the call with outputs of its own.
func (c *Call) withOutputs() *Call {
	return &Call{Out: cloneArrays(c.Out), In: c.In, Options: c.Options}
}

func cloneArrays(list []storage.Array) (all []storage.Array) {
	for _, a := range list {
		raw := a.Data.(storage.Host).Bytes()
		b := ok(storage.Make(storage.CPU, a.Type, len(raw)/a.Type.Size()))
		copy(b.Data.(storage.Host).Bytes(), raw)
		all = append(all, b.With(a.View))
	}
	return all
}

// coalesces reports whether C is meant to take views of these ranks.
func coalesces(vs []views.View) bool {
	for _, v := range vs {
		if v.Rank() > 8 {
			return false
		}
	}
	return true
}

// call draws operands; the same seed draws the same.
func (s sample) call(seed uint64, real dtype.Type, vs []views.View) *Call {
	r := rand.New(rand.NewPCG(seed, 2))
	c := &Call{Options: s.options}
	for i, o := range slices.Concat(s.out, s.in) {
		if o.t == dtype.Invalid {
			o.t = real
		}
		value := o.value
		if i < len(s.out) && !s.updates {
			value = func(*rand.Rand) float64 { return 3 } // uninitialised
		}
		a := o.array(r, vs[i], value)
		if i < len(s.out) {
			c.Out = append(c.Out, a)
		} else {
			c.In = append(c.In, a)
		}
	}
	return c
}

// array lays values out as v; what v leaves out holds ones, and must keep them.
func (o operand) array(r *rand.Rand, v views.View, value func(r *rand.Rand) float64) storage.Array {
	_, hi := v.Bounds()
	elems := make([]float64, hi+3)
	for i := range elems {
		elems[i] = 1
	}
	for p := range v.Positions() {
		elems[p] = value(r)
	}
	a := ok(storage.Make(storage.CPU, o.t, len(elems)))
	must(dtype.Convert(a.Data.(storage.Host).Bytes()[:len(elems)*o.t.Size()], o.t, dtype.Bytes(elems), dtype.Float64))
	return a.With(v)
}

// near checks that every element of a storage agrees, in and beside the view.
func near(t *testing.T, about string, got, want storage.Array, tolerance float64) {
	t.Helper()
	nearElements(t, about, elementsOf(got), elementsOf(want), tolerance)
}

func nearElements(t *testing.T, about string, gs, ws []float64, tolerance float64) {
	t.Helper()
	for i := range ws {
		if gs[i] != ws[i] && !(math.Abs(gs[i]-ws[i]) <= tolerance*(1+math.Abs(ws[i]))) && !(gs[i] != gs[i] && ws[i] != ws[i]) {
			t.Fatalf("%s: position %d: got %v, want %v", about, i, gs[i], ws[i])
		}
	}
}

// elementsOf returns all of a's storage as float64s.
func elementsOf(a storage.Array) []float64 {
	raw := a.Data.(storage.Host).Bytes()
	n := len(raw) / a.Type.Size()
	wide := make([]float64, n)
	must(dtype.Convert(dtype.Bytes(wide), dtype.Float64, raw[:n*a.Type.Size()], a.Type))
	return wide
}

// TestSpecialValues holds the float32 loops to the plain ones where numbers end,
// at every place in a vector and behind the last whole one.
func TestSpecialValues(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, float32(nan), float32(inf), float32(-inf),
		89, -89, 100, -104, 1e38, -1e38, 1e-37, -1e-37, 3e38, 0.5, -2, 20, -20}
	for _, k := range []*Kernel{Add, Sub, Mul, Div, Maximum, Minimum, Neg, Abs, Exp, Log, Sqrt, ReLU, Tanh, Sigmoid,
		Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual} {
		var xs, ys []float32
		for _, x := range values {
			for _, y := range values {
				xs, ys = append(xs, x), append(ys, y)
			}
		}
		in := []storage.Array{storage.From(xs, len(xs)), storage.From(ys, len(ys))}
		if k.Reference(&Call{Out: in[:1], In: in}) != nil && k.Reference(&Call{Out: []storage.Array{ok(storage.Make(storage.CPU, dtype.Float32, len(xs)))}, In: in[:1]}) == nil {
			in = in[:1]
		}
		out := dtype.Float32
		if k.Name == "less" || k.Name == "less equal" || k.Name == "greater" || k.Name == "greater equal" || k.Name == "equal" || k.Name == "not equal" {
			out = dtype.Bool
		}
		for n := range 40 {
			part := func(a storage.Array) storage.Array { return a.With(ok(a.Slice(0, n, len(xs), 1))) }
			call := func() *Call {
				c := &Call{Out: []storage.Array{ok(storage.Make(storage.CPU, out, len(xs)-n))}}
				for _, a := range in {
					c.In = append(c.In, part(a))
				}
				return c
			}
			got, want := call(), call()
			must(CPU.Run(k, got))
			must(k.Reference(want))
			gs, ws := elementsOf(got.Out[0]), elementsOf(want.Out[0])
			for i := range len(xs) - n {
				g, w := gs[i], ws[i]
				same := g == w || g != g && w != w || math.Abs(g-w) <= 1e-6*math.Abs(w)+1.2e-38 && !math.IsInf(g, 0)
				if !same {
					t.Fatalf("%s(%v, %v): got %v, want %v", k.Name, xs[n+i], ys[n+i], g, w)
				}
			}
		}
	}
}
