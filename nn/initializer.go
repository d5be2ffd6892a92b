package nn

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Fill gives an array its first values, random ones from key's stream.
type Fill func(a storage.Array, key tensor.Key)

// An Initializer says what the weight and the bias of a layer start as when in
// inputs meet in each of its outputs and out outputs see each of its inputs.
type Initializer func(in, out int) (weight, bias Fill)

// initializers by name. Kaiming is He et al., arXiv:1502.01852, xavier is
// Glorot and Bengio, AISTATS 2010.
var initializers = map[string]Initializer{
	// What PyTorch's layers start as: Kaiming's rule with a leak of √5.
	"kaiming": func(in, _ int) (weight, bias Fill) {
		bound := 1 / math.Sqrt(float64(in))
		return Uniform(bound), Uniform(bound)
	},
	"he_uniform":    func(in, _ int) (weight, bias Fill) { return Uniform(math.Sqrt(6 / float64(in))), Constant(0) },
	"he_normal":     func(in, _ int) (weight, bias Fill) { return Normal(math.Sqrt(2 / float64(in))), Constant(0) },
	"xavier":        func(in, out int) (weight, bias Fill) { return Uniform(math.Sqrt(6 / float64(in+out))), Constant(0) },
	"xavier_normal": func(in, out int) (weight, bias Fill) { return Normal(math.Sqrt(2 / float64(in+out))), Constant(0) },
	"zeros":         func(_, _ int) (weight, bias Fill) { return Constant(0), Constant(0) },
	"ones":          func(_, _ int) (weight, bias Fill) { return Constant(1), Constant(0) },
}

// RegisterInitializer makes an initializer known by name to layers and
// configurations. A name that is taken is a bug.
func RegisterInitializer(name string, i Initializer) {
	if _, taken := initializers[name]; taken {
		panic(fmt.Sprintf("nn: initializer %q registered twice", name))
	}
	initializers[name] = i
}

// initializer returns the fills that the named initializer gives a layer.
func initializer(layer, name string, in, out int) (weight, bias Fill) {
	i, ok := initializers[name]
	if !ok {
		tensor.Fail(layer, ErrConfig, "no initializer %q; known are %v", name, slices.Sorted(maps.Keys(initializers)))
	}
	return i(in, out)
}

// Uniform fills with numbers uniform in ±bound.
func Uniform(bound float64) Fill {
	return func(a storage.Array, key tensor.Key) { tensor.FillUniform(a, -bound, bound, key) }
}

// Normal fills with normal numbers of mean 0.
func Normal(deviation float64) Fill {
	return func(a storage.Array, key tensor.Key) { tensor.FillNormal(a, 0, deviation, key) }
}

// Constant fills with value.
func Constant(value float64) Fill {
	return func(a storage.Array, _ tensor.Key) { tensor.Of(a).Fill(value) }
}
