package nn

import (
	"encoding/json"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Fill sets the initial values of an array. Random ones are drawn from the
// stream of key.
type Fill func(a storage.Array, key tensor.Key)

// An Initializer returns the initial values of the weight and the bias of a layer
// with the given fan-in and fan-out. It fails for settings that it cannot satisfy.
type Initializer interface {
	Fills(fanIn, fanOut int) (weight, bias Fill)
}

var initializers = factory[Initializer]{kind: "initializer"}

// RegisterInitializer makes initializers of type I available under name, which are made of
// their settings as configurations have them. It panics if the name is taken.
func RegisterInitializer[I Initializer](name string, defaults I) bool {
	return register(&initializers, name, func(i I) I { return i }, defaults)
}

// An InitializerSetting is an initializer as a setting of a layer: its name, or JSON of
// {name: settings}.
type InitializerSetting string

// UnmarshalJSON takes a name, or {name: settings}, and refuses what is no initializer.
func (s *InitializerSetting) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) == nil {
		*s = InitializerSetting(name)
		return nil
	}
	*s = InitializerSetting(text)
	_, err := s.initializer()
	return err
}

// MarshalJSON returns the name, or {name: settings}.
func (s InitializerSetting) MarshalJSON() ([]byte, error) {
	if json.Valid([]byte(s)) {
		return []byte(s), nil
	}
	return json.Marshal(string(s))
}

func (s InitializerSetting) initializer() (Initializer, error) {
	text, err := s.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return initializers.build(text, nil)
}

// fillsOf returns the fills of an initializer.
func fillsOf(layer string, s InitializerSetting, fanIn, fanOut int) (weight, bias Fill) {
	i, err := s.initializer()
	if err != nil {
		tensor.Fail(layer, ErrConfig, "initializer: %v", err)
	}
	return i.Fills(fanIn, fanOut)
}

// UniformFill draws from the uniform distribution over ±bound.
func UniformFill(bound float64) Fill {
	return func(a storage.Array, key tensor.Key) { tensor.FillUniform(a, -bound, bound, key) }
}

// NormalFill draws from the normal distribution with mean 0.
func NormalFill(std float64) Fill {
	return func(a storage.Array, key tensor.Key) { tensor.FillNormal(a, 0, std, key) }
}

// TruncatedNormalFill draws from the part of the normal distribution between low and high: the inverse of its
// distribution function of uniform numbers.
func TruncatedNormalFill(mean, std, low, high float64) Fill {
	erf := func(x float64) float64 { return math.Erf((x - mean) / (std * math.Sqrt2)) }
	return hostFill(func(shape []int, key tensor.Key) *tensor.Tensor {
		x := key.Uniform(dtype.Float64, erf(low), erf(high), shape...).Erfinv()
		return x.MulScalar(std*math.Sqrt2).AddScalar(mean).Clamp(low, high)
	})
}

// ConstantFill sets every element to value.
func ConstantFill(value float64) Fill {
	return func(a storage.Array, _ tensor.Key) { tensor.FromArray(a).Fill(value) }
}

// hostFill sets the elements to values, of float64, which are computed on the host: they are the same on every device.
func hostFill(values func(shape []int, key tensor.Key) *tensor.Tensor) Fill {
	return func(a storage.Array, key tensor.Key) {
		if a.Data.Device() != tensor.Meta {
			assign("initializer", a, values(a.Shape, key))
		}
	}
}
