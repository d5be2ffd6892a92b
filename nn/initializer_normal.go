package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// NormalInitializer draws weights from a normal distribution; biases are 0. PyTorch's functions begin at mean 0 and standard deviation 1, Keras's
// RandomNormal at 0.05.
type NormalInitializer struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// Fills returns the fills for a layer.
func (i NormalInitializer) Fills(int, int) (weight, bias Fill) {
	checkStd(i.Std)
	return func(a storage.Array, key tensor.Key) { tensor.FillNormal(a, i.Mean, i.Std, key) }, ConstantFill(0)
}

func checkStd(std float64) {
	if !(std >= 0) || math.IsInf(std, 0) {
		tensor.Fail("initializer", ErrConfig, "std %v; want at least 0", std)
	}
}

// TruncatedNormalInitializer draws weights from a normal distribution truncated at 2 standard deviations, as Keras's TruncatedNormal; biases are 0.
type TruncatedNormalInitializer NormalInitializer

// Fills returns the fills for a layer.
func (i TruncatedNormalInitializer) Fills(int, int) (weight, bias Fill) {
	return TruncNormalInitializer{i.Mean, i.Std, i.Mean - 2*i.Std, i.Mean + 2*i.Std}.Fills(0, 0)
}

// TruncNormalInitializer draws weights from a normal distribution truncated to the range from a to b, as PyTorch's function trunc_normal_; biases are 0.
type TruncNormalInitializer struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
}

// Fills returns the fills for a layer.
func (i TruncNormalInitializer) Fills(int, int) (weight, bias Fill) {
	checkStd(i.Std)
	if !(i.Std > 0 && i.A < i.B) {
		tensor.Fail("initializer", ErrConfig, "std %v from %v to %v; want a positive number, and a below b", i.Std, i.A, i.B)
	}
	return TruncatedNormalFill(i.Mean, i.Std, i.A, i.B), ConstantFill(0)
}

// UniformInitializer draws weights from the uniform distribution from a to b; biases are 0. PyTorch's function uniform_ has the range from 0 to 1,
// Keras's RandomUniform ±0.05.
type UniformInitializer struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// Fills returns the fills for a layer.
func (i UniformInitializer) Fills(int, int) (weight, bias Fill) {
	if !(i.A < i.B) {
		tensor.Fail("initializer", ErrConfig, "from %v to %v; want a below b", i.A, i.B)
	}
	return func(a storage.Array, key tensor.Key) { tensor.FillUniform(a, i.A, i.B, key) }, ConstantFill(0)
}

var (
	_ = RegisterInitializer("normal", NormalInitializer{0, 1})
	_ = RegisterInitializer("random_normal", NormalInitializer{0, 0.05})
	_ = RegisterInitializer("truncated_normal", TruncatedNormalInitializer{0, 0.05})
	_ = RegisterInitializer("trunc_normal", TruncNormalInitializer{0, 1, -2, 2})
	_ = RegisterInitializer("uniform", UniformInitializer{0, 1})
	_ = RegisterInitializer("random_uniform", UniformInitializer{-0.05, 0.05})
)
