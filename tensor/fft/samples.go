package fft

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

func init() {
	// Results are the real parts, and then the imaginary ones.
	register := func(name string, f func(in ...*tensor.Tensor) *tensor.Tensor, in ...samples.Input) {
		samples.RegisterHostOnly(name, func(in ...*tensor.Tensor) *tensor.Tensor {
			z := f(in...)
			if z.DType().IsComplex() {
				z = tensor.Cat(-1, z.Real(), z.Imag())
			}
			return z.Cast(in[0].DType())
		}, in...)
	}
	numbers := func(in []*tensor.Tensor) *tensor.Tensor {
		re, im := in[0], in[1]
		if re.DType().IsFloat() && re.DType().Size() == 2 {
			re, im = re.Cast(dtype.Float32), im.Cast(dtype.Float32)
		}
		return tensor.Complex(re, im)
	}
	of := func(name string, f func(x *tensor.Tensor) *tensor.Tensor, in ...samples.Input) {
		register(name, func(in ...*tensor.Tensor) *tensor.Tensor {
			if len(in) == 2 {
				return f(numbers(in))
			}
			return f(in[0])
		}, in...)
	}
	x := samples.In(3, 5).Rows()
	of("fft", func(x *tensor.Tensor) *tensor.Tensor { return FFT(x, -1, -1, Backward) }, x)
	of("fft complex", func(x *tensor.Tensor) *tensor.Tensor { return FFT(x, 4, 0, Ortho) }, samples.In(3, 5), samples.In(3, 5))
	of("ifft", func(x *tensor.Tensor) *tensor.Tensor { return IFFT(x, 3, -1, Backward) }, x, x)
	of("fftn", func(x *tensor.Tensor) *tensor.Tensor { return FFTN(x, Forward) }, samples.In(3, 4), samples.In(3, 4))
	of("rfft", func(x *tensor.Tensor) *tensor.Tensor { return RFFT(x, -1, -1, Backward) }, x)
	of("rfft even", func(x *tensor.Tensor) *tensor.Tensor { return RFFT(x, 8, -1, Forward) }, x)
	of("irfft", func(x *tensor.Tensor) *tensor.Tensor { return IRFFT(x, -1, -1, Backward) }, x, x)
	of("irfft odd", func(x *tensor.Tensor) *tensor.Tensor { return IRFFT(x, 7, -1, Ortho) }, x, x)
	of("irfft long", func(x *tensor.Tensor) *tensor.Tensor { return IRFFT(x, 4, -1, Backward) }, x, x)
	of("irfft short", func(x *tensor.Tensor) *tensor.Tensor { return IRFFT(x, 12, -1, Forward) }, x, x)
	of("rfftn", func(x *tensor.Tensor) *tensor.Tensor { return RFFTN(x, Backward) }, samples.In(3, 4))
	of("irfftn", func(x *tensor.Tensor) *tensor.Tensor { return IRFFTN(x, 5, Ortho) }, samples.In(3, 3), samples.In(3, 3))
}
