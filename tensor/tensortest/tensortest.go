// Package tensortest tests operations: their gradients against finite differences, their
// values and gradients on other devices, in other element types and for other layouts of
// their operands against float64 loops on the CPU, and their behaviour on empty batches
// and on meta tensors. Package tensor is held to it with every operation it has; [Check]
// does the same for an operation written elsewhere.
package tensortest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// A Sample is a call to test, with the distributions of its inputs.
type Sample = samples.Sample[*tensor.Tensor]

// An Input is the distribution that an input is drawn from.
type Input = samples.Input

// The kinds of input, for [Input.Of].
const (
	Normal   = samples.Normal   // floats, mean 0, standard deviation 1
	Positive = samples.Positive // floats in [½, 2]
	Distinct = samples.Distinct // floats no two of which are closer than a finite difference reaches
	Labels   = samples.Labels   // uint8 in [0, Count)
	Indices  = samples.Indices  // int64 in [0, Count)
	Unit     = samples.Unit     // floats in [-0.9, 0.9]
	Bools    = samples.Bools
)

// In returns normal input of the given shape.
func In(shape ...int) Input { return samples.In(shape...) }

// Classes returns n labels out of count.
func Classes(count, n int) Input { return samples.Classes(count, n) }

// Samples lists the calls that the operations of package tensor are tested on.
func Samples() []Sample { return samples.All[*tensor.Tensor]() }

// Each runs f as a subtest of each sample of package tensor.
func Each(t *testing.T, f func(t *testing.T, s Sample)) {
	for _, s := range Samples() {
		t.Run(s.String(), func(t *testing.T) {
			if err := tensor.Try(func() { f(t, s) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check runs every test on s, on the CPU and on other devices.
func Check(t *testing.T, s Sample, devices ...storage.Device) {
	t.Helper()
	if err := tensor.Try(func() {
		CheckMeta(t, s)
		CheckSecondGradients(t, s)
	}); err != nil {
		t.Errorf("%v: %v", s, err)
	}
	for _, d := range append([]storage.Device{storage.CPU}, devices...) {
		CheckDevice(t, s, d)
	}
}

// CheckDevice compares s on d with float64 loops on the CPU: values and gradients, in every
// element type, row-major and in every layout, and of empty batches. With [Each] and
// storagetest.TestDevice it is the test of a device that implements kernels.Runner.
func CheckDevice(t *testing.T, s Sample, d storage.Device) {
	t.Helper()
	if err := tensor.Try(func() {
		if CheckHostOnly(t, s, d) {
			return
		}
		CheckGradients(t, s, d)
		for elem := range Tolerances {
			host := Draw(s, elem)
			Agree(t, Tolerances[elem], s, To(t, host, d, RowMajor), Float64(host))
			for _, lay := range Layouts {
				Agree(t, Tolerances[elem], s, To(t, host, d, lay), Float64(host))
			}
		}
		CheckEmpty(t, s, d)
	}); err != nil {
		t.Errorf("%v on %v: %v", s, d, err)
	}
}

// CheckHostOnly reports whether s is computed on the host only and d is not the host; d must
// then refuse it.
func CheckHostOnly(t *testing.T, s Sample, d storage.Device) bool {
	t.Helper()
	if !s.HostOnly || d == storage.CPU {
		return false
	}
	xs := Constants(To(t, Draw(s, dtype.Float32), d, RowMajor))
	if err := tensor.Try(func() { s.Call(xs...) }); !errors.Is(err, storage.ErrDevice) {
		t.Errorf("on %v: %v; want that it is refused there", d, err)
	}
	return true
}

// Draw returns the sample's inputs, the same each time, with numbers of type t.
func Draw(s Sample, t dtype.Type) []storage.Array {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]storage.Array, len(s.In))
	for i, want := range s.In {
		n := views.Of(want.Shape...).Len()
		switch want.Kind {
		case Labels:
			labels := make([]uint8, n)
			for k := range labels {
				labels[k] = uint8(r.IntN(want.Count))
			}
			in[i] = storage.From(labels, want.Shape...)
		case Indices:
			indices := make([]int64, n)
			for k := range indices {
				indices[k] = r.Int64N(int64(want.Count))
			}
			in[i] = storage.From(indices, want.Shape...)
		case Bools:
			bools := make([]bool, n)
			for k := range bools {
				bools[k] = r.IntN(2) == 1
			}
			in[i] = storage.From(bools, want.Shape...)
		default:
			floats := make([]float64, n)
			for k := range floats {
				if floats[k] = number(r, want.Kind, k); !t.IsFloat() {
					floats[k] *= 20
				}
			}
			in[i] = tensor.FromArray(storage.From(floats, want.Shape...)).Cast(t).CloneDetached().Array()
		}
	}
	return in
}

// number draws the k-th float of an input.
func number(r *rand.Rand, kind samples.Kind, k int) float64 {
	switch kind {
	case Positive:
		return 0.5 + 1.5*r.Float64()
	case Unit:
		return 1.8*r.Float64() - 0.9
	case Distinct: // 97 and 31 have no common factor, so neighbours in k are far apart
		return float64(k*31%97)/20 - 2.4 + 0.01*r.Float64()
	}
	return r.NormFloat64()
}

// Leaves wraps arrays, and requires gradients where there can be one.
func Leaves(in []storage.Array) []*tensor.Tensor {
	xs := make([]*tensor.Tensor, len(in))
	for i, a := range in {
		xs[i] = tensor.FromArray(a)
		if a.Type.IsFloat() {
			xs[i].RequireGrad()
		}
	}
	return xs
}

// Constants wraps arrays.
func Constants(in []storage.Array) []*tensor.Tensor {
	xs := make([]*tensor.Tensor, len(in))
	for i, a := range in {
		xs[i] = tensor.FromArray(a)
	}
	return xs
}

// weighted returns Σ w·y for the Weights w of y.
func weighted(y *tensor.Tensor) *tensor.Tensor { return y.Mul(Weights(y)).Sum() }

// Weights returns fixed random weights of y's shape, type and device: as its incoming gradient
// they let no mistake hide in a symmetry. They are odd multiples of 1/32, which every float type holds.
func Weights(y *tensor.Tensor) *tensor.Tensor {
	r := rand.New(rand.NewPCG(3, 4))
	w := make([]float64, y.Len())
	for i := range w {
		w[i] = math.Round(min(max(r.NormFloat64(), -3), 3)*16)/16 + 1./32
	}
	return tensor.FromSlice(w, y.Shape()...).To(y.DType(), y.Device())
}

// Outcome returns the value of a call and its gradients, in row-major order, or nil
// for operands without a gradient.
func Outcome(s Sample, in []storage.Array) (value []float64, grads [][]float64) {
	xs := Leaves(in)
	y := s.Call(xs...)
	grads = make([][]float64, len(in))
	if y.RequiresGrad() {
		all := tensor.Gradients(weighted(y))
		for i, x := range xs {
			if g := all[x]; g != nil {
				if !slices.Equal(g.Shape(), x.Shape()) {
					tensor.Fail("test", tensor.ErrShape, "gradient %v of input %v", g.Shape(), x.Shape())
				}
				grads[i] = tensor.Values[float64](g)
			}
		}
	}
	return tensor.Values[float64](y), grads
}

// Agree reports where the outcomes of two inputs differ by more than tolerance: see
// [Near].
func Agree(t *testing.T, tolerance float64, s Sample, got, want []storage.Array) {
	t.Helper()
	gv, gg := Outcome(s, got)
	wv, wg := Outcome(s, want)
	Near(t, "value", gv, wv, tolerance)
	for i := range gg {
		if (gg[i] == nil) != (wg[i] == nil) {
			t.Errorf("only one of two has a gradient of input %d", i)
		}
		Near(t, fmt.Sprintf("gradient of input %d", i), gg[i], wg[i], tolerance)
	}
}

// Near reports elements that differ by more than tolerance, relative to their own size
// and to the largest: small gradients are held to their own scale. NaN is equal to itself.
func Near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d elements, want %d", what, len(got), len(want))
	}
	largest := 0.0
	for _, w := range want {
		if !math.IsInf(w, 0) && !math.IsNaN(w) {
			largest = max(largest, math.Abs(w))
		}
	}
	for k := range got {
		if same := got[k] == want[k] || got[k] != got[k] && want[k] != want[k]; !same && !(math.Abs(got[k]-want[k]) <= tolerance*(largest+math.Abs(want[k]))+1e-12) {
			t.Errorf("%s, element %d: got %v, want %v", what, k, got[k], want[k])
		}
	}
}

// CheckGradients compares the gradients of a call on d with what its value does when
// elements change by h.
func CheckGradients(t *testing.T, s Sample, d storage.Device) {
	t.Helper()
	const h, tolerance = 1e-5, 1e-6
	in := Draw(s, dtype.Float64)
	there := func() []storage.Array { return To(t, in, d, RowMajor) }
	_, grads := Outcome(s, there())
	differences(t, in, grads, h, tolerance, func() float64 { return weighted(s.Call(Constants(there())...)).Item() })
}

// CheckSecondGradients compares the gradients of recorded gradients with finite
// differences of gradients that were not recorded. It returns false if the operation
// refuses because it has no second derivative.
func CheckSecondGradients(t *testing.T, s Sample) bool {
	t.Helper()
	const h, tolerance = 1e-5, 1e-5
	in := Draw(s, dtype.Float64)
	if !s.Call(Leaves(in)...).RequiresGrad() {
		return true
	}
	var got [][]float64
	err := tensor.Try(func() { got = secondGradients(s, in) })
	if errors.Is(err, tensor.ErrState) && strings.Contains(err.Error(), "has no second derivative") {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	differences(t, in, got, h, tolerance, func() float64 { return weightedGradients(s, in) })
	return true
}

// differences compares grads with finite differences of f, which reads in.
func differences(t *testing.T, in []storage.Array, grads [][]float64, h, tolerance float64, f func() float64) {
	t.Helper()
	for i, a := range in {
		if grads[i] == nil {
			continue
		}
		elems := storage.Elements[float64](a)
		for k := range elems {
			at := func(x float64) float64 {
				defer func(old float64) { elems[k] = old }(elems[k])
				elems[k] = x
				return f()
			}
			want := (at(elems[k]+h) - at(elems[k]-h)) / (2 * h)
			if got := grads[i][k]; !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
				t.Errorf("input %d, element %d: gradient %v, finite difference %v", i, k, got, want)
			}
		}
	}
}

// nonlinear returns Σ w·(y² + y) for fixed w: the gradient that reaches y depends on y.
func nonlinear(y *tensor.Tensor) *tensor.Tensor { return weighted(y.Mul(y).Add(y)) }

// weightedGradients returns Σ v·g over the gradients g of nonlinear, for fixed v.
func weightedGradients(s Sample, in []storage.Array) float64 {
	xs := Leaves(in)
	grads := tensor.Gradients(nonlinear(s.Call(xs...)))
	sum, r := 0.0, rand.New(rand.NewPCG(5, 6))
	for _, x := range xs {
		if x.RequiresGrad() {
			for _, g := range tensor.Values[float64](grads[x]) {
				sum += g * r.NormFloat64()
			}
		}
	}
	return sum
}

// secondGradients returns the gradients of weightedGradients, from a recorded pass.
// Those of inputs that it does not depend on are zeros.
func secondGradients(s Sample, in []storage.Array) [][]float64 {
	all := make([][]float64, len(in))
	xs := Leaves(in)
	var floats []*tensor.Tensor
	for i, x := range xs {
		if x.RequiresGrad() {
			floats, all[i] = append(floats, x), make([]float64, x.Len())
		}
	}
	y := nonlinear(s.Call(xs...))
	var sum *tensor.Tensor
	r := rand.New(rand.NewPCG(5, 6))
	for _, g := range tensor.Grad([]*tensor.Tensor{y}, floats, tensor.GradOptions{CreateGraph: true}) {
		v := make([]float64, g.Len())
		for i := range v {
			v[i] = r.NormFloat64()
		}
		if part := g.Mul(tensor.FromSlice(v, g.Shape()...)).Sum(); sum == nil {
			sum = part
		} else {
			sum = sum.Add(part)
		}
	}
	if !sum.RequiresGrad() { // the gradients are constants
		return all
	}
	second := tensor.Gradients(sum)
	for i, x := range xs {
		if g := second[x]; g != nil {
			all[i] = tensor.Values[float64](g)
		}
	}
	return all
}

// CheckMeta compares the type, the shape and the layout of results and gradients of meta
// tensors with those of tensors on the CPU. A dynamic operation refuses meta tensors.
func CheckMeta(t *testing.T, s Sample) {
	t.Helper()
	in := Draw(s, dtype.Float32)
	there := make([]storage.Array, len(in))
	for i, a := range in {
		there[i] = tensor.NewMeta(a.Type, a.Shape...).Array()
	}
	xs, ms := Leaves(in), Leaves(there)
	y := s.Call(xs...)
	var m *tensor.Tensor
	if err := tensor.Try(func() { m = s.Call(ms...) }); errors.Is(err, tensor.ErrState) && strings.Contains(err.Error(), "depends on values") {
		return
	} else if err != nil {
		t.Fatal(err)
	}
	sameSpec(t, "result", m, y)
	if !y.RequiresGrad() {
		return
	}
	dy, dm := tensor.Gradients(y.Sum()), tensor.Gradients(m.Sum())
	for i, x := range xs {
		if (dy[x] == nil) != (dm[ms[i]] == nil) {
			t.Errorf("only one of two has a gradient of input %d", i)
		} else if dy[x] != nil {
			sameSpec(t, fmt.Sprintf("gradient of input %d", i), dm[ms[i]], dy[x])
		}
	}
}

func sameSpec(t *testing.T, what string, meta, x *tensor.Tensor) {
	t.Helper()
	if !meta.IsMeta() {
		t.Errorf("%s of meta tensors is on %v", what, meta.Device())
	}
	if got, want := meta.Spec(), x.Spec(); got.Type != want.Type || !slices.Equal(got.Shape, want.Shape) || !slices.Equal(got.Stride, want.Stride) {
		t.Errorf("%s of meta tensors: %v %v with strides %v; of others %v %v with strides %v", what, got.Type, got.Shape, got.Stride, want.Type, want.Shape, want.Stride)
	}
}

// CheckEmpty wants gradients of zero where a batch axis has size 0.
func CheckEmpty(t *testing.T, s Sample, d storage.Device) {
	t.Helper()
	empty, found := Empty(s)
	if !found {
		return
	}
	for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		_, grads := Outcome(empty, To(t, Draw(empty, float), d, RowMajor))
		for i, g := range grads {
			for k, x := range g {
				if x != 0 {
					t.Errorf("%v: gradient %d, element %d is %v, want 0", float, i, k, x)
				}
			}
		}
	}
}

// Empty returns s with batches of size 0, and whether it has a batch axis.
func Empty(s Sample) (empty Sample, found bool) {
	empty = s
	empty.In = slices.Clone(s.In)
	for i, in := range s.In {
		if in.Batch {
			empty.In[i].Shape = slices.Clone(in.Shape)
			empty.In[i].Shape[0] = 0
			found = true
		}
	}
	return empty, found
}

// Tolerances of the element types that float64 on the CPU is the reference of: a few
// units in the last place, for sums of a few dozen terms.
var Tolerances = map[dtype.Type]float64{dtype.Float64: 1e-12, dtype.Float32: 2e-6, dtype.Float16: 2e-3, dtype.BFloat16: 1.2e-2}

// Float64 returns arrays whose floats are float64.
func Float64(in []storage.Array) []storage.Array {
	double := slices.Clone(in)
	for i, a := range in {
		if a.Type.IsFloat() {
			double[i] = tensor.FromArray(a).Cast(dtype.Float64).Array()
		}
	}
	return double
}
