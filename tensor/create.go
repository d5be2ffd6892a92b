package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Constructors make constants in host memory; To moves them. Those of names that end in Like make constants of the type,
// on the device and in the step of another tensor, without a copy.

// Empty returns a constant of type t whose elements have no particular values.
func Empty(t dtype.Type, shape ...int) *Tensor { return empty("empty", t, shape) }

// Full returns a constant of type t, value all over: a Go number or bool, which t must hold if it is an integer.
func Full(t dtype.Type, value any, shape ...int) *Tensor {
	x := empty("full", t, shape)
	one := x.number("full", t, numberOf("full", value))
	run("full", kernels.Copy, nil, []storage.Array{x.array}, one.array)
	return x
}

// Zeros returns a constant of zeros.
func Zeros(t dtype.Type, shape ...int) *Tensor { return Full(t, 0, shape...) }

// Ones returns a constant of ones.
func Ones(t dtype.Type, shape ...int) *Tensor { return Full(t, 1, shape...) }

// EmptyLike returns a constant of x's shape whose elements have no particular values.
func EmptyLike(x *Tensor) *Tensor {
	checkGiven("empty like", x)
	c := Context{device: device("empty like", x), tape: x.tape}
	a, b, err := c.alloc(x.DType(), views.Of(x.Shape()...))
	check("empty like", err)
	return &Tensor{array: a, block: b, noGrad: x.noGrad, tape: x.tape}
}

// FullLike returns a constant of x's shape, value all over, as [Full] does.
func FullLike(x *Tensor, value any) *Tensor {
	y := EmptyLike(x)
	one := y.number("full like", x.DType(), numberOf("full like", value))
	run("full like", kernels.Copy, nil, []storage.Array{y.array}, one.array)
	return y
}

// ZerosLike returns a constant of x's shape of zeros.
func ZerosLike(x *Tensor) *Tensor { return FullLike(x, 0) }

// OnesLike returns a constant of x's shape of ones.
func OnesLike(x *Tensor) *Tensor { return FullLike(x, 1) }

// RandLike returns a constant of x's shape of numbers that are uniform in [0, 1), drawn by x.NextKey.
func RandLike(x *Tensor) *Tensor { return x.drawLike("rand like", kernels.Uniform, 0, 1, nil) }

// RandnLike returns a constant of x's shape of standard normal numbers, drawn by x.NextKey.
func RandnLike(x *Tensor) *Tensor { return x.drawLike("randn like", kernels.Normal, 0, 1, nil) }

// Arange returns start, start+step, … before stop.
func Arange(t dtype.Type, start, stop, step float64) *Tensor {
	if !(step != 0 && (stop-start)/step >= 0 && (stop-start)/step < 1<<40) {
		fail("arange", ErrShape, "from %v to %v by %v", start, stop, step)
	}
	whole := func(x float64) bool { return x == math.Trunc(x) && math.Abs(x) < 1<<63 }
	if t.IsInt() && whole(start) && whole(stop) && whole(step) {
		var elems []int64 // which counts beyond 2⁵³
		for x, n := int64(start), (uint64(math.Abs(stop-start))+uint64(math.Abs(step))-1)/uint64(math.Abs(step)); n > 0; n-- {
			elems = append(elems, x)
			x += int64(step)
		}
		return FromSlice(elems, len(elems)).Cast(t)
	}
	var elems []float64
	for i := 0; (start+float64(i)*step-stop)*step < 0; i++ {
		elems = append(elems, start+float64(i)*step)
	}
	return FromSlice(elems, len(elems)).Cast(t)
}

// Linspace returns n numbers evenly spaced from start to stop, both included.
func Linspace(t dtype.Type, start, stop float64, n int) *Tensor {
	if n < 0 {
		fail("linspace", ErrShape, "%d numbers", n)
	}
	elems := make([]float64, n)
	for i := range elems {
		if i == n-1 && i > 0 {
			elems[i] = stop // exactly
			break
		}
		elems[i] = start + (stop-start)*float64(i)/float64(max(n-1, 1))
	}
	return FromSlice(elems, n).Cast(t)
}

// Logspace returns n powers of base whose exponents are evenly spaced from start to stop, both included.
func Logspace(t dtype.Type, start, stop float64, n int, base float64) *Tensor {
	elems := Values[float64](Linspace(dtype.Float64, start, stop, n))
	for i, x := range elems {
		elems[i] = math.Pow(base, x)
	}
	return FromSlice(elems, n).Cast(t)
}

// Eye returns the n×n matrix with ones on its diagonal and zeros elsewhere; n×columns, if a second number is given.
func Eye(t dtype.Type, n int, columns ...int) *Tensor {
	x := Zeros(t, n, append(columns, n)[0])
	v, err := x.array.View.Diagonal(0, 1, 0)
	check("eye", err)
	FromArray(x.array.With(v)).Fill(1)
	return x
}

// empty returns uninitialised host memory.
func empty(act string, t dtype.Type, shape []int) *Tensor {
	a, err := storage.Make(storage.CPU, t, shape...)
	check(act, err)
	return FromArray(a)
}
