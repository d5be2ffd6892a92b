package fft_test

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/fft"
)

func Example() {
	x := tensor.FromSlice([]float64{1, 2, 3, 4}, 4)
	fmt.Println(tensor.Values[complex128](fft.RFFT(x, -1, -1, fft.Backward)))
	// Output: [(10+0i) (-2+2i) (-2+0i)]
}

// numbers returns complex tensors, the same each time.
func numbers(shape ...int) *tensor.Tensor {
	r := rand.New(rand.NewPCG(1, 2))
	x := tensor.Zeros(dtype.Complex128, shape...)
	elems := make([]complex128, x.Len())
	for i := range elems {
		elems[i] = complex(r.NormFloat64(), r.NormFloat64())
	}
	return tensor.FromSlice(elems, shape...)
}

// sums is the definition along the middle axis of three.
func sums(x *tensor.Tensor, n int, sign float64) []complex128 {
	s, elems := x.Shape(), tensor.Values[complex128](x)
	y := make([]complex128, s[0]*n*s[2])
	for a := range s[0] {
		for k := range n {
			for c := range s[2] {
				for j := range min(n, s[1]) {
					y[(a*n+k)*s[2]+c] += elems[(a*s[1]+j)*s[2]+c] * cmplx.Exp(complex(0, sign*2*math.Pi*float64(j*k)/float64(n)))
				}
			}
		}
	}
	return y
}

func near(t *testing.T, what string, got *tensor.Tensor, want []complex128) {
	t.Helper()
	elems := tensor.Values[complex128](got)
	if len(elems) != len(want) {
		t.Fatalf("%s: %d elements, want %d", what, len(elems), len(want))
	}
	for i := range want {
		if cmplx.Abs(elems[i]-want[i]) > 1e-9 {
			t.Errorf("%s, element %d: got %v, want %v", what, i, elems[i], want[i])
		}
	}
}

func TestTransformsAreSums(t *testing.T) {
	x := numbers(2, 7, 3)
	for _, n := range []int{1, 4, 5, 7, 9, 12} {
		near(t, fmt.Sprint("fft of ", n), fft.FFT(x, n, 1, fft.Backward), sums(x, n, -1))
		near(t, fmt.Sprint("ifft of ", n), fft.IFFT(x, n, 1, fft.Forward), sums(x, n, 1))
	}
}

func TestInversesInvert(t *testing.T) {
	x := numbers(2, 6, 5)
	real := tensor.Key{Seed: 1}.Randn(dtype.Float64, 3, 5)
	for _, norm := range []fft.Norm{fft.Backward, fft.Ortho, fft.Forward} {
		near(t, "ifft", fft.IFFT(fft.FFT(x, -1, 1, norm), -1, 1, norm), tensor.Values[complex128](x))
		near(t, "ifftn", fft.IFFTN(fft.FFTN(x, norm), norm), tensor.Values[complex128](x))
		near(t, "irfft", fft.IRFFT(fft.RFFT(real, -1, -1, norm), 5, -1, norm), tensor.Values[complex128](real))
		near(t, "irfftn", fft.IRFFTN(fft.RFFTN(real, norm), 5, norm), tensor.Values[complex128](real))
	}
	near(t, "ifftshift", fft.IFFTShift(fft.FFTShift(real)), tensor.Values[complex128](real))
}

// TestHalfSpectrumIsTheFirstHalf, in float32, whose transform is complex64.
func TestHalfSpectrumIsTheFirstHalf(t *testing.T) {
	x := tensor.Key{Seed: 1}.Randn(dtype.Float64, 3, 8)
	near(t, "rfft", fft.RFFT(x, -1, -1, fft.Ortho), tensor.Values[complex128](fft.FFT(x, -1, -1, fft.Ortho).Narrow(1, 0, 5)))
	if got := fft.RFFT(x.Cast(dtype.Float32), -1, -1, fft.Ortho).DType(); got != dtype.Complex64 {
		t.Errorf("of float32: %v; want complex64", got)
	}
}

// TestFrequenciesAndWindows: numbers of torch.fft.fftfreq(5, 0.5), torch.hann_window(4) and their kin.
func TestFrequenciesAndWindows(t *testing.T) {
	near(t, "fftfreq", fft.FFTFreq(dtype.Float64, 5, 0.5), []complex128{0, 0.4, 0.8, -0.8, -0.4})
	near(t, "fftfreq", fft.FFTFreq(dtype.Float64, 4, 1), []complex128{0, 0.25, -0.5, -0.25})
	near(t, "rfftfreq", fft.RFFTFreq(dtype.Float64, 4, 1), []complex128{0, 0.25, 0.5})
	near(t, "fftshift", fft.FFTShift(fft.FFTFreq(dtype.Float64, 5, 0.5)), []complex128{-0.8, -0.4, 0, 0.4, 0.8})
	near(t, "hann", fft.Hann(dtype.Float64, 4, true), []complex128{0, 0.5, 1, 0.5})
	near(t, "hann", fft.Hann(dtype.Float64, 5, false), []complex128{0, 0.5, 1, 0.5, 0})
	near(t, "hamming", fft.Hamming(dtype.Float64, 4, true), []complex128{0.08, 0.54, 1, 0.54})
	near(t, "blackman", fft.Blackman(dtype.Float64, 4, true), []complex128{0, 0.34, 1, 0.34})
}

func TestRefusals(t *testing.T) {
	if err := tensor.Try(func() { fft.RFFT(numbers(2, 3), -1, -1, fft.Backward) }); !errors.Is(err, tensor.ErrType) {
		t.Errorf("rfft of complex numbers: %v; want an error of type", err)
	}
	if err := tensor.Try(func() { fft.FFT(numbers(2, 3), -1, 2, fft.Backward) }); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("axis 2 of 2: %v; want an error of shape", err)
	}
	if err := tensor.Try(func() { fft.FFT(numbers(2, 0), -1, 1, fft.Backward) }); !errors.Is(err, tensor.ErrShape) {
		t.Errorf("no elements: %v; want an error of shape", err)
	}
	if x := fft.FFT(tensor.NewMeta(dtype.Float32, 2, 3), 5, 1, fft.Backward); x.Shape()[1] != 5 || !x.IsMeta() {
		t.Errorf("of a meta tensor: %v", x)
	}
}
