package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A layout lays a shape out over a storage.
type layout struct {
	name string
	of   func(shape ...int) views.View
}

var (
	rowMajorLayout     = layout{"row-major", views.Of}
	channelsLastLayout = layout{"channels-last", func(s ...int) views.View {
		if len(s) < 3 {
			return views.Of(s...)
		}
		return views.ChannelsLast(s...)
	}}
	transposedLayout = layout{"transposed", func(s ...int) views.View {
		v := views.View{Offset: 5, Shape: s, Stride: make([]int, len(s))}
		step := 1
		for axis := range s {
			v.Stride[axis] = step
			step *= max(s[axis], 1)
		}
		return v
	}}
	spaced = layout{"spaced", func(s ...int) views.View {
		v := views.Of(s...)
		v.Offset = 3
		for axis := range v.Stride {
			v.Stride[axis] *= 2
		}
		return v
	}}
	gappedLayout = layout{"rows apart", func(s ...int) views.View {
		v := views.Of(s...)
		for axis := range len(s) - 1 {
			v.Stride[axis] *= 3
		}
		return v
	}}
	flipped = layout{"flipped", func(s ...int) views.View {
		v := views.Of(s...)
		for axis, size := range s {
			v.Offset += max(size-1, 0) * v.Stride[axis]
			v.Stride[axis] *= -1
		}
		return v
	}}
	repeated = layout{"repeated", func(s ...int) views.View {
		return views.View{Shape: s, Stride: make([]int, len(s))}
	}}
	layouts = []layout{rowMajorLayout, channelsLastLayout, transposedLayout, spaced, gappedLayout, flipped}
)

// operands are arrays of both real types that hold the same values; what the
// views leave out holds a mark that must stay.
type operands struct{ f32, f64 []storage.Array }

const mark = 77.25

func operandsOf(r *rand.Rand, random bool, vs ...views.View) (o operands) {
	for _, v := range vs {
		_, hi := v.Bounds()
		singles, doubles := make([]float32, hi+4), make([]float64, hi+4)
		for i := range singles {
			singles[i], doubles[i] = mark, mark
		}
		views.Walk(func(at, step []int, n int) {
			for k := range n {
				x := float32(math.NaN())
				if random {
					x = float32(r.NormFloat64())
				}
				singles[at[0]+k*step[0]], doubles[at[0]+k*step[0]] = x, float64(x)
			}
		}, v)
		o.f32 = append(o.f32, storage.From(singles, len(singles)).With(v))
		o.f64 = append(o.f64, storage.From(doubles, len(doubles)).With(v))
	}
	return o
}

// agree compares k on the CPU in float32, and its optimized implementation in float64 if there is one,
// with the reference in float64. Calls use 1, 2 and 3 threads in turn.
func agree(t *testing.T, k *Kernel, outs, ins []views.View, options any, tolerance float64) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	in := operandsOf(r, true, ins...)
	want := operandsOf(r, false, outs...)
	if err := k.Reference(&Call{Out: want.f64, In: in.f64, Options: options}); err != nil {
		t.Fatalf("%s%v %+v: plain: %v", k.Name, shapes(ins), options, err)
	}
	defer native.SetThreads(native.Threads())
	turn++
	threads := 1 + turn%3
	native.SetThreads(threads)
	got := operandsOf(r, false, outs...)
	if err := CPU.Run(k, &Call{Out: got.f32, In: in.f32, Options: options}); err != nil {
		t.Fatalf("%s%v %+v: %v", k.Name, shapes(ins), options, err)
	}
	double, err := k.Optimized(&Call{Out: got.f64, In: in.f64, Options: options})
	if err != nil {
		t.Fatalf("%s%v %+v: float64: %v", k.Name, shapes(ins), options, err)
	}
	for i := range outs {
		about := fmt.Sprintf("%s%v %+v, strides %v -> %v, output %d, %d threads", k.Name, shapes(ins), options, stridesOf(ins), stridesOf(outs), i, threads)
		compare(t, about, wide32(got.f32[i]), storage.Elements[float64](want.f64[i]), tolerance)
		if !double {
			continue
		}
		compare(t, about+", float64", storage.Elements[float64](got.f64[i]), storage.Elements[float64](want.f64[i]), 1e-10)
	}
}

var turn int

// compare checks that every element of a storage agrees, in and beside the view.
func compare(t *testing.T, about string, got, want []float64, tolerance float64) {
	t.Helper()
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tolerance*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: position %d: got %v, want %v", about, i, got[i], want[i])
		}
	}
}

func wide32(a storage.Array) []float64 {
	if a.Type == dtype.Float64 {
		return storage.Elements[float64](a)
	}
	var wide []float64
	for _, x := range storage.Elements[float32](a) {
		wide = append(wide, float64(x))
	}
	return wide
}

func shapes(vs []views.View) (s [][]int) {
	for _, v := range vs {
		s = append(s, v.Shape)
	}
	return s
}

func stridesOf(vs []views.View) (s [][]int) {
	for _, v := range vs {
		s = append(s, v.Stride)
	}
	return s
}
