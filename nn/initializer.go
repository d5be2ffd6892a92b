package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Fill sets the initial values of an array. Random ones are drawn from the
// stream of key.
type Fill func(a storage.Array, key tensor.Key)

// An Initializer returns the initial values of the weight and the bias of a layer
// with the given fan-in and fan-out.
type Initializer func(fanIn, fanOut int) (weight, bias Fill)

// initializers by name: Kaiming's by He et al., arXiv:1502.01852, Xavier's by
// Glorot and Bengio, AISTATS 2010.
var initializers = map[string]Initializer{
	// PyTorch's default: Kaiming's rule for a leaky ReLU of slope √5.
	"kaiming": func(in, _ int) (weight, bias Fill) {
		bound := 1 / math.Sqrt(float64(in))
		return UniformFill(bound), UniformFill(bound)
	},
	"he_uniform": func(in, _ int) (weight, bias Fill) { return UniformFill(math.Sqrt(6 / float64(in))), ConstantFill(0) },
	"he_normal":  func(in, _ int) (weight, bias Fill) { return NormalFill(math.Sqrt(2 / float64(in))), ConstantFill(0) },
	"xavier": func(in, out int) (weight, bias Fill) {
		return UniformFill(math.Sqrt(6 / float64(in+out))), ConstantFill(0)
	},
	"normal": func(_, _ int) (weight, bias Fill) { return NormalFill(1), ConstantFill(0) }, // as PyTorch fills tables of embeddings
	"xavier_normal": func(in, out int) (weight, bias Fill) {
		return NormalFill(math.Sqrt(2 / float64(in+out))), ConstantFill(0)
	},
	"zeros": func(_, _ int) (weight, bias Fill) { return ConstantFill(0), ConstantFill(0) },
	"ones":  func(_, _ int) (weight, bias Fill) { return ConstantFill(1), ConstantFill(0) },
}

// RegisterInitializer makes an initializer available under name. It panics if the
// name is taken.
func RegisterInitializer(name string, i Initializer) {
	if _, taken := initializers[name]; taken {
		panic(fmt.Sprintf("nn: initializer %q registered twice", name))
	}
	initializers[name] = i
}

// fillsOf returns the fills of the named initializer.
func fillsOf(layer, name string, fanIn, fanOut int) (weight, bias Fill) {
	i, ok := initializers[name]
	if !ok {
		tensor.Fail(layer, ErrConfig, "no initializer %q; known are %v", name, slices.Sorted(maps.Keys(initializers)))
	}
	return i(fanIn, fanOut)
}

// UniformFill draws from the uniform distribution over ±bound.
func UniformFill(bound float64) Fill {
	return func(a storage.Array, key tensor.Key) { tensor.FillUniform(a, -bound, bound, key) }
}

// NormalFill draws from the normal distribution with mean 0.
func NormalFill(std float64) Fill {
	return func(a storage.Array, key tensor.Key) { tensor.FillNormal(a, 0, std, key) }
}

// ConstantFill sets every element to value.
func ConstantFill(value float64) Fill {
	return func(a storage.Array, _ tensor.Key) { tensor.FromArray(a).Fill(value) }
}
