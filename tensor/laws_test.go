package tensor

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
	"github.com/h5dnn/h5dnn/views"
)

// Every registered call is tried here. A new operation needs no test of its own
// to be held to these laws:
//
//   - its gradient matches finite differences,
//   - inputs that lie strided, flipped, permuted or repeated give the same result,
//   - narrower floats on every device agree with the float64 loop,
//   - an empty batch gives an empty result and gradients of zero.

type Sample = samples.Sample[*Tensor]

func eachSample(t *testing.T, f func(t *testing.T, s Sample)) {
	for _, s := range samples.All[*Tensor]() {
		t.Run(s.String(), func(t *testing.T) {
			if err := Try(func() { f(t, s) }); err != nil {
				t.Error(err)
			}
		})
	}
}

// draw returns the sample's inputs, the same each time, with numbers of type t.
func draw(s Sample, t dtype.Type) []storage.Array {
	r := rand.New(rand.NewPCG(1, 2))
	in := make([]storage.Array, len(s.In))
	for i, want := range s.In {
		n := views.Of(want.Shape...).Len()
		switch want.Kind {
		case samples.Labels:
			labels := make([]uint8, n)
			for k := range labels {
				labels[k] = uint8(r.IntN(want.Count))
			}
			in[i] = storage.From(labels, want.Shape...)
		case samples.Bools:
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
			in[i] = Of(storage.From(floats, want.Shape...)).Cast(t).CloneDetached().Array
		}
	}
	return in
}

// number draws the k-th float of an input.
func number(r *rand.Rand, kind samples.Kind, k int) float64 {
	switch kind {
	case samples.Positive:
		return 0.5 + 1.5*r.Float64()
	case samples.Distinct: // 97 and 31 have no common factor, so neighbours in k are far apart
		return float64(k*31%97)/20 - 2.4 + 0.01*r.Float64()
	}
	return r.NormFloat64()
}

// leaves wraps in, asking for gradients where there can be one.
func leaves(in []storage.Array) []*Tensor {
	xs := make([]*Tensor, len(in))
	for i, a := range in {
		xs[i] = Of(a)
		if a.Type.IsFloat() {
			xs[i].RequireGrad()
		}
	}
	return xs
}

// weighted returns Σ w·y for fixed random w, so that no gradient hides in a symmetry.
func weighted(y *Tensor) *Tensor {
	r := rand.New(rand.NewPCG(3, 4))
	w := make([]float64, y.Len())
	for i := range w {
		w[i] = r.NormFloat64()
	}
	there, err := From(w, y.Shape...).Cast(y.Type).To(y.Data.Device())
	if err != nil {
		panic(err)
	}
	return y.Mul(Of(there)).Sum()
}

// outcome is a call's value and its gradients in row-major order; nil where
// there is none.
func outcome(s Sample, in []storage.Array) (value []float64, grads [][]float64) {
	xs := leaves(in)
	y := s.Call(xs...)
	grads = make([][]float64, len(in))
	if y.RequiresGrad() {
		all := Gradients(weighted(y))
		for i, x := range xs {
			if g := all[x]; g != nil {
				if !slices.Equal(g.Shape, x.Shape) {
					fail("law", ErrShape, "gradient %v of input %v", g.Shape, x.Shape)
				}
				grads[i] = Values[float64](g)
			}
		}
	}
	return Values[float64](y), grads
}

// agree reports where two outcomes differ by more than tolerance, relatively
// where they are large.
func agree(t *testing.T, tolerance float64, s Sample, got, want []storage.Array) {
	t.Helper()
	gv, gg := outcome(s, got)
	wv, wg := outcome(s, want)
	near(t, "value", gv, wv, tolerance)
	for i := range gg {
		if (gg[i] == nil) != (wg[i] == nil) {
			t.Errorf("gradient %d is there in one case only", i)
		}
		near(t, "gradient", gg[i], wg[i], tolerance)
	}
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s has %d elements, want %d", what, len(got), len(want))
	}
	for k := range got {
		if !(math.Abs(got[k]-want[k]) <= tolerance*(1+math.Abs(want[k]))) {
			t.Errorf("%s, element %d: got %v, want %v", what, k, got[k], want[k])
		}
	}
}

func TestGradientsMatchFiniteDifferences(t *testing.T) {
	const h, tolerance = 1e-5, 1e-6
	gpu := cudatest.Devices(t, cudatest.Eager)[1]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		t.Run(d.String(), func(t *testing.T) {
			eachSample(t, func(t *testing.T, s Sample) { matchDifferences(t, s, d, h, tolerance) })
		})
	}
}

// matchDifferences holds the gradients of a sample on d to what its value does
// when elements change by h.
func matchDifferences(t *testing.T, s Sample, d storage.Device, h, tolerance float64) {
	in := draw(s, dtype.Float64)
	there := func() []storage.Array { return moved(t, in, d, func(a storage.Array) storage.Array { return a }) }
	_, grads := outcome(s, there())
	for i, a := range in {
		if grads[i] == nil {
			continue
		}
		elems := storage.Elements[float64](a)
		for k := range elems {
			at := func(x float64) float64 {
				defer func(old float64) { elems[k] = old }(elems[k])
				elems[k] = x
				return weighted(s.Call(inputs(there())...)).Item()
			}
			want := (at(elems[k]+h) - at(elems[k]-h)) / (2 * h)
			if got := grads[i][k]; !(math.Abs(got-want) <= tolerance*(1+math.Abs(want))) {
				t.Errorf("input %d, element %d: gradient %v, finite difference %v", i, k, got, want)
			}
		}
	}
}

// TestEverySampleHasAGradient keeps the law above from passing for want of one.
func TestEverySampleHasAGradient(t *testing.T) {
	eachSample(t, func(t *testing.T, s Sample) {
		in := draw(s, dtype.Float64)
		y := s.Call(leaves(in)...)
		_, grads := outcome(s, in)
		for i, g := range grads {
			if y.Type.IsFloat() && in[i].Type.IsFloat() && g == nil {
				t.Errorf("no gradient reaches input %d", i)
			}
		}
	})
}

func TestViewsGiveTheSameResult(t *testing.T) {
	for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		tolerance := map[dtype.Type]float64{dtype.Float32: 2e-5, dtype.Float64: 1e-12}[float]
		for name, lay := range layouts {
			t.Run(float.String()+" "+name, func(t *testing.T) {
				eachSample(t, func(t *testing.T, s Sample) {
					plain := draw(s, float)
					laid := make([]storage.Array, len(plain))
					for i, a := range plain {
						laid[i] = lay(a)
					}
					agree(t, tolerance, s, laid, plain)
				})
			})
		}
	}
}

// layouts are ways for the same elements to lie in memory.
var layouts = map[string]func(a storage.Array) storage.Array{
	"permuted": func(a storage.Array) storage.Array { // axes in reverse order
		order := make([]int, a.Rank())
		for axis := range order {
			order[axis] = a.Rank() - 1 - axis
		}
		return relaid(a, func(v views.View) views.View { return must(v.Transpose(order...)) }, func(n int) int { return n })
	},
	"channels last": func(a storage.Array) storage.Array {
		if a.Rank() < 3 {
			return a
		}
		order := []int{0, a.Rank() - 1} // in memory: N, …, C
		for axis := 1; axis < a.Rank()-1; axis++ {
			order = append(order, axis)
		}
		return relaid(a, func(v views.View) views.View { return must(v.Transpose(order...)) }, func(n int) int { return n })
	},
	"gapped and flipped": func(a storage.Array) storage.Array {
		return relaid(a, func(v views.View) views.View {
			for axis := range v.Shape {
				v = must(v.Slice(axis, 1, v.Shape[axis], 2))
				v = must(v.Flip(axis))
			}
			return v
		}, func(n int) int { return 2*n + 1 })
	},
}

// relaid returns a copy of a in memory that see makes a's shape of: roomy memory
// has room(n) for each axis of n, permuted as see undoes.
func relaid(a storage.Array, see func(views.View) views.View, room func(n int) int) storage.Array {
	sizes := make([]int, a.Rank())
	for axis, n := range a.Shape {
		sizes[axis] = room(n)
	}
	v := see(views.Of(sizes...))
	if !slices.Equal(v.Shape, a.Shape) { // see permutes: start from the permuted shape
		back := see(views.Of(indicesOf(a.Rank())...)).Shape
		permuted := make([]int, a.Rank())
		for k, axis := range back {
			permuted[axis] = sizes[k]
		}
		v = see(views.Of(permuted...))
	}
	b, err := storage.Make(storage.CPU, a.Type, sizes...)
	if err != nil {
		panic(err)
	}
	Of(b.With(v)).Assign(Of(a))
	return b.With(v)
}

// indicesOf returns 0, 1, … n-1.
func indicesOf(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func must(v views.View, err error) views.View {
	if err != nil {
		panic(err)
	}
	return v
}

// TestRepeatedInputsGiveTheSameResult tries inputs whose first axis repeats one
// row by a stride of zero.
func TestRepeatedInputsGiveTheSameResult(t *testing.T) {
	for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		tolerance := map[dtype.Type]float64{dtype.Float32: 2e-5, dtype.Float64: 1e-12}[float]
		t.Run(float.String(), func(t *testing.T) {
			eachSample(t, func(t *testing.T, s Sample) {
				repeated := draw(s, float)
				plain := make([]storage.Array, len(repeated))
				for i, a := range repeated {
					if a.Rank() > 0 && s.In[i].Kind != samples.Distinct {
						a.View = must(a.View.Slice(0, 0, 1, 1))
						a.View, _ = a.View.Broadcast(s.In[i].Shape...)
					}
					repeated[i], plain[i] = a, Of(a).CloneDetached().Array
				}
				agree(t, tolerance, s, repeated, plain)
			})
		})
	}
}

// narrow are the floats that float64 is the meaning of, and how near to it an
// operation and its derivative come: that of sums of a few dozen terms, in units
// of the last place.
var narrow = map[dtype.Type]float64{dtype.Float32: 2e-5, dtype.Float16: 1e-2, dtype.BFloat16: 6e-2}

func TestNarrowFloatsAgreeWithFloat64(t *testing.T) {
	for float, tolerance := range narrow {
		t.Run(float.String(), func(t *testing.T) {
			eachSample(t, func(t *testing.T, s Sample) {
				in := draw(s, float)
				agree(t, tolerance, s, in, widened(in))
			})
		})
	}
}

func TestEmptyBatchesGiveEmptyResults(t *testing.T) {
	eachSample(t, func(t *testing.T, s Sample) {
		empty, found := emptied(s)
		if !found {
			t.Skip("has no batch axis")
		}
		for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
			_, grads := outcome(empty, draw(empty, float))
			for i, g := range grads {
				for k, x := range g {
					if x != 0 {
						t.Errorf("%v: gradient %d, element %d is %v, want 0", float, i, k, x)
					}
				}
			}
		}
	})
}

// emptied returns s with batches of nothing, and whether it has any.
func emptied(s Sample) (empty Sample, found bool) {
	empty = Sample{Name: s.Name, Call: s.Call, In: slices.Clone(s.In)}
	for i, in := range s.In {
		if in.Batch {
			empty.In[i].Shape = slices.Clone(in.Shape)
			empty.In[i].Shape[0] = 0
			found = true
		}
	}
	return empty, found
}
