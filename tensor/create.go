package tensor

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// Full returns a constant of type t in host memory, value all over.
func Full(t dtype.Type, value float64, shape ...int) *Tensor {
	x := empty("full", t, shape)
	x.Fill(value)
	return x
}

// Zeros returns a constant of zeros in host memory.
func Zeros(t dtype.Type, shape ...int) *Tensor { return Full(t, 0, shape...) }

// Ones returns a constant of ones in host memory.
func Ones(t dtype.Type, shape ...int) *Tensor { return Full(t, 1, shape...) }

// Rand returns a constant of numbers of key's stream, uniform in [0, 1), in host memory.
func Rand(t dtype.Type, key Key, shape ...int) *Tensor {
	x := empty("rand", t, shape)
	FillUniform(x.array, 0, 1, key)
	return x
}

// Randn returns a constant of standard normal numbers of key's stream in host memory.
func Randn(t dtype.Type, key Key, shape ...int) *Tensor {
	x := empty("randn", t, shape)
	FillNormal(x.array, 0, 1, key)
	return x
}

// Arange returns start, start+step, … before stop, in host memory.
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

// Linspace returns n numbers evenly spaced from start to stop, both included, in host
// memory.
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

// Eye returns the n×n identity matrix in host memory.
func Eye(t dtype.Type, n int) *Tensor {
	x := Zeros(t, n, n)
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
