// Package fft is Fourier transforms of real and complex tensors along their axes, through gonum, in complex128, on the
// host: operands on other devices are refused, by name. Their gradients are transforms, and have gradients in turn.
//
// A size of -1 is the size of the operand; elements are cut off, or zeros appended, to reach another size.
package fft

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// A Norm says which transform is divided by what.
type Norm int

// The norms, as PyTorch and NumPy name them.
const (
	Backward Norm = iota // the inverse, by n
	Ortho                // both, by √n
	Forward              // the other, by n
)

// factor is the scale of a transform of n elements.
func (norm Norm) factor(n int, inverse bool) float64 {
	switch {
	case norm == Ortho:
		return 1 / math.Sqrt(float64(n))
	case (norm == Backward) == inverse:
		return 1 / float64(n)
	}
	return 1
}

// A transform is of n elements along an axis, in the time domain: of the operand's first ones, or with zeros appended.
type transform struct {
	name            string
	axis, n         int
	scale           float64
	inverse         bool
	realIn, realOut bool
	keep            int // elements of the result along the axis: the first ones, or with zeros appended
}

func (op transform) Name() string { return op.name }

// Infer describes the result.
func (op transform) Infer(in []tensor.Spec) []tensor.Spec {
	t := in[0].Type
	if op.realIn && t.IsComplex() {
		tensor.Fail(op.name, tensor.ErrType, "of %v; want real numbers, or another transform", t)
	}
	shape := slices.Clone(in[0].Shape)
	shape[op.axis] = op.keep
	single := t == dtype.Float32 || t == dtype.Complex64
	out := dtype.Complex128
	switch {
	case single && op.realOut:
		out = dtype.Float32
	case single:
		out = dtype.Complex64
	case op.realOut:
		out = dtype.Float64
	}
	return []tensor.Spec{{Type: out, View: views.Of(shape...)}}
}

func (op transform) Forward(c *tensor.Context, out, in []storage.Array) error {
	x, y := in[0], out[0]
	if d := x.Data.Device(); d == tensor.Meta {
		return nil
	} else if d != storage.CPU {
		return fmt.Errorf("is computed on the host only, not on %v; move its operand there with CPU(): %w", d, storage.ErrDevice)
	}
	elems, err := storage.Read[complex128](x)
	if err != nil {
		return err
	}
	from, to := x.Shape[op.axis], y.Shape[op.axis]
	inner := 1
	for _, n := range x.Shape[op.axis+1:] {
		inner *= n
	}
	result := make([]complex128, y.Len())
	plan := fourier.NewCmplxFFT(op.n)
	line := make([]complex128, op.n)
	scale := complex(op.scale, 0)
	for k := range y.Len() / max(to, 1) {
		outer, at := k/inner, k%inner
		clear(line)
		for i := range min(from, op.n) {
			line[i] = elems[(outer*from+i)*inner+at]
		}
		if op.realOut { // the other half is the conjugate of the first
			for i := op.n/2 + 1; i < op.n; i++ {
				mirror := line[op.n-i]
				line[i] = complex(real(mirror), -imag(mirror))
			}
			line[0] = complex(real(line[0]), 0)
			if op.n%2 == 0 {
				line[op.n/2] = complex(real(line[op.n/2]), 0)
			}
		}
		if op.inverse {
			plan.Sequence(line, line)
		} else {
			plan.Coefficients(line, line)
		}
		for i := range min(to, op.n) {
			result[(outer*to+i)*inner+at] = line[i] * scale
		}
	}
	if op.realOut {
		reals := make([]float64, len(result))
		for i, z := range result {
			reals[i] = real(z)
		}
		return storage.From(reals, y.Shape...).CopyTo(y)
	}
	return storage.From(result, y.Shape...).CopyTo(y)
}

// Backward is the conjugate transpose of the transform: the transform in the other direction, of the same scale. As the
// second half of a spectrum that is read as real is the conjugate of the first, elements of the first with a mirror count twice.
func (op transform) Backward(out, grads, in []*tensor.Tensor) []*tensor.Tensor {
	x := in[0]
	back := transform{name: op.name + " grad", axis: op.axis, n: op.n, scale: op.scale, inverse: !op.inverse, keep: x.Shape()[op.axis]}
	dx := tensor.Apply(back, grads[0])
	if op.realOut {
		times, column := make([]float64, back.keep), make([]int, x.Rank())
		for i := range times {
			switch {
			case i == 0 || 2*i == op.n:
				times[i] = 1
			case 2*i < op.n:
				times[i] = 2
			}
		}
		for axis := range column {
			column[axis] = 1
		}
		column[op.axis] = back.keep
		dx = dx.Mul(tensor.FromSlice(times, column...).Cast(dx.Real().DType()))
	}
	if !x.DType().IsComplex() {
		dx = dx.Real()
	}
	return []*tensor.Tensor{dx.Cast(x.DType())}
}

// apply runs a transform along one axis.
func (op transform) apply(x *tensor.Tensor, n, axis int, norm Norm) *tensor.Tensor {
	at, err := views.Axis(axis, x.Rank())
	if err != nil {
		tensor.Fail(op.name, tensor.ErrShape, "%v has no axis %d", x.Shape(), axis)
	}
	if n == -1 {
		n = x.Shape()[at]
		if op.realOut {
			n = 2 * (n - 1)
		}
	}
	if n < 1 {
		tensor.Fail(op.name, tensor.ErrShape, "%d elements along axis %d of %v; want at least 1", n, at, x.Shape())
	}
	op.n, op.axis, op.scale, op.keep = n, at, norm.factor(n, op.inverse), n
	if op.realIn {
		op.keep = n/2 + 1
	}
	return tensor.Apply(op, x)
}

// FFT returns the transform of n elements along axis: y[k] = Σ x[j]·exp(−2πi·j·k/n).
func FFT(x *tensor.Tensor, n, axis int, norm Norm) *tensor.Tensor {
	return transform{name: "fft"}.apply(x, n, axis, norm)
}

// IFFT returns the inverse of [FFT].
func IFFT(x *tensor.Tensor, n, axis int, norm Norm) *tensor.Tensor {
	return transform{name: "ifft", inverse: true}.apply(x, n, axis, norm)
}

// RFFT returns the first n/2 + 1 elements of the [FFT] of n real numbers along axis: the others are their conjugates.
func RFFT(x *tensor.Tensor, n, axis int, norm Norm) *tensor.Tensor {
	return transform{name: "rfft", realIn: true}.apply(x, n, axis, norm)
}

// IRFFT returns the inverse of [RFFT], n real numbers along axis; n of -1 is 2·(m − 1) for m elements.
func IRFFT(x *tensor.Tensor, n, axis int, norm Norm) *tensor.Tensor {
	return transform{name: "irfft", inverse: true, realOut: true}.apply(x, n, axis, norm)
}

// FFTN returns the FFT along each of axes, or all if none are named.
func FFTN(x *tensor.Tensor, norm Norm, axes ...int) *tensor.Tensor {
	return each(FFT, x, norm, orAll(x, axes))
}

// IFFTN returns the inverse of [FFTN].
func IFFTN(x *tensor.Tensor, norm Norm, axes ...int) *tensor.Tensor {
	return each(IFFT, x, norm, orAll(x, axes))
}

// RFFTN returns the RFFT along the last of axes, or of all if none are named, and the FFT along the others.
func RFFTN(x *tensor.Tensor, norm Norm, axes ...int) *tensor.Tensor {
	axes = orAll(x, axes)
	last := len(axes) - 1
	if last < 0 {
		tensor.Fail("rfftn", tensor.ErrShape, "of %v; want at least one axis", x.Shape())
	}
	return each(FFT, RFFT(x, -1, axes[last], norm), norm, axes[:last])
}

// IRFFTN returns the inverse of [RFFTN], n real numbers along the last axis: see [IRFFT].
func IRFFTN(x *tensor.Tensor, n int, norm Norm, axes ...int) *tensor.Tensor {
	axes = orAll(x, axes)
	last := len(axes) - 1
	if last < 0 {
		tensor.Fail("irfftn", tensor.ErrShape, "of %v; want at least one axis", x.Shape())
	}
	return IRFFT(each(IFFT, x, norm, axes[:last]), n, axes[last], norm)
}

// orAll returns axes, or all axes of x if there are none.
func orAll(x *tensor.Tensor, axes []int) []int {
	if len(axes) == 0 {
		for axis := range x.Shape() {
			axes = append(axes, axis)
		}
	}
	return axes
}

func each(f func(x *tensor.Tensor, n, axis int, norm Norm) *tensor.Tensor, x *tensor.Tensor, norm Norm, axes []int) *tensor.Tensor {
	for _, axis := range axes {
		x = f(x, -1, axis, norm)
	}
	return x
}

// FFTFreq returns the frequencies of the elements of an FFT of n samples that are d apart: 0, 1, …, −2, −1, divided by n·d.
func FFTFreq(t dtype.Type, n int, d float64) *tensor.Tensor {
	return frequencies("fftfreq", t, n, n, d)
}

// RFFTFreq returns the frequencies of the elements of an RFFT of n samples that are d apart: 0, 1, …, n/2, divided by n·d.
func RFFTFreq(t dtype.Type, n int, d float64) *tensor.Tensor {
	return frequencies("rfftfreq", t, n, n/2+1, d)
}

func frequencies(op string, t dtype.Type, n, count int, d float64) *tensor.Tensor {
	if n < 1 || d == 0 {
		tensor.Fail(op, tensor.ErrShape, "of %d samples %v apart", n, d)
	}
	elems := make([]float64, count)
	for k := range elems {
		at := k
		if count == n && k >= (n+1)/2 {
			at -= n
		}
		elems[k] = float64(at) / (float64(n) * d)
	}
	return tensor.FromSlice(elems, count).Cast(t)
}

// FFTShift returns x with the element of frequency 0 in the middle of axes, or of all if none are named.
func FFTShift(x *tensor.Tensor, axes ...int) *tensor.Tensor {
	return shifted(x, axes, func(n int) int { return (n + 1) / 2 })
}

// IFFTShift returns the inverse of [FFTShift].
func IFFTShift(x *tensor.Tensor, axes ...int) *tensor.Tensor {
	return shifted(x, axes, func(n int) int { return n / 2 })
}

// shifted returns x with the elements from first(n) on before the others.
func shifted(x *tensor.Tensor, axes []int, first func(n int) int) *tensor.Tensor {
	for _, axis := range orAll(x, axes) {
		at, err := views.Axis(axis, x.Rank())
		if err != nil {
			tensor.Fail("fftshift", tensor.ErrShape, "%v has no axis %d", x.Shape(), axis)
		}
		n := x.Shape()[at]
		x = tensor.Cat(at, x.Narrow(at, first(n), n-first(n)), x.Narrow(at, 0, first(n)))
	}
	return x
}

// Hann returns a window of n numbers, ½ − ½·cos(2π·k/m), for m of n if it is periodic, as PyTorch's windows are by default, else of n − 1.
func Hann(t dtype.Type, n int, periodic bool) *tensor.Tensor {
	return window("hann", t, n, periodic, 0.5, 0.5, 0)
}

// Hamming returns a window of n numbers, 0.54 − 0.46·cos(2π·k/m): see [Hann].
func Hamming(t dtype.Type, n int, periodic bool) *tensor.Tensor {
	return window("hamming", t, n, periodic, 0.54, 0.46, 0)
}

// Blackman returns a window of n numbers, 0.42 − 0.5·cos(2π·k/m) + 0.08·cos(4π·k/m): see [Hann].
func Blackman(t dtype.Type, n int, periodic bool) *tensor.Tensor {
	return window("blackman", t, n, periodic, 0.42, 0.5, 0.08)
}

func window(op string, t dtype.Type, n int, periodic bool, a, b, c float64) *tensor.Tensor {
	if n < 0 {
		tensor.Fail(op, tensor.ErrShape, "of %d numbers", n)
	}
	m := n - 1
	if periodic {
		m = n
	}
	elems := make([]float64, n)
	for k := range elems {
		angle := 2 * math.Pi * float64(k) / float64(max(m, 1))
		elems[k] = a - b*math.Cos(angle) + c*math.Cos(2*angle)
		if n == 1 {
			elems[k] = 1
		}
	}
	return tensor.FromSlice(elems, n).Cast(t)
}
