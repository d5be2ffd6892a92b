package nn

import (
	"math"

	"github.com/h5dnn/h5dnn/tensor"
)

// VarianceScalingInitializer draws weights with variance scale/n, for the number n of inputs (fan_in), outputs (fan_out) or their mean (fan_avg);
// biases are 0. The normal distribution is truncated at 2 standard deviations, as in Keras. Named after Glorot and Bengio (AISTATS 2010),
// He et al. (arXiv:1502.01852) and LeCun et al. (Efficient BackProp, 1998).
type VarianceScalingInitializer struct {
	Scale        float64 `json:"scale"`
	Mode         string  `json:"mode"`         // fan_in, fan_out or fan_avg
	Distribution string  `json:"distribution"` // truncated_normal, untruncated_normal or uniform
}

// truncatedStd is the standard deviation of the standard normal distribution truncated at ±2.
const truncatedStd = 0.87962566103423978

// Fills returns the fills for a layer.
func (i VarianceScalingInitializer) Fills(fanIn, fanOut int) (weight, bias Fill) {
	if !(i.Scale > 0) || math.IsInf(i.Scale, 0) {
		tensor.Fail("initializer", ErrConfig, "scale %v; want a positive number", i.Scale)
	}
	var n float64
	switch i.Mode {
	case "fan_in":
		n = float64(fanIn)
	case "fan_out":
		n = float64(fanOut)
	case "fan_avg":
		n = float64(fanIn+fanOut) / 2
	default:
		tensor.Fail("initializer", ErrConfig, "mode %q; want fan_in, fan_out or fan_avg", i.Mode)
	}
	std := math.Sqrt(i.Scale / n)
	switch i.Distribution {
	case "truncated_normal":
		std /= truncatedStd
		weight = TruncatedNormalFill(0, std, -2*std, 2*std)
	case "untruncated_normal":
		weight = NormalFill(std)
	case "uniform":
		weight = UniformFill(math.Sqrt(3) * std)
	default:
		tensor.Fail("initializer", ErrConfig, "distribution %q; want truncated_normal, untruncated_normal or uniform", i.Distribution)
	}
	return weight, ConstantFill(0)
}

// KaimingInitializer draws weights with the standard deviation gain/√n, for the number n of inputs (fan_in) or outputs (fan_out), as PyTorch's functions
// kaiming_uniform_ and kaiming_normal_; biases are 0.
type KaimingInitializer struct {
	A            float64 `json:"a"`            // slope of the leaky_relu
	Mode         string  `json:"mode"`         // fan_in or fan_out
	Nonlinearity string  `json:"nonlinearity"` // sets the gain: linear and sigmoid 1, tanh 5/3, relu √2, leaky_relu √(2/(1+a²)), selu 3/4
	distribution string
}

// Fills returns the fills for a layer.
func (i KaimingInitializer) Fills(fanIn, fanOut int) (weight, bias Fill) {
	gains := map[string]float64{"linear": 1, "sigmoid": 1, "tanh": 5. / 3, "relu": math.Sqrt2, "leaky_relu": math.Sqrt(2 / (1 + i.A*i.A)), "selu": 0.75}
	gain, ok := gains[i.Nonlinearity]
	if !ok {
		tensor.Fail("initializer", ErrConfig, "nonlinearity %q; want linear, sigmoid, tanh, relu, leaky_relu or selu", i.Nonlinearity)
	}
	return VarianceScalingInitializer{gain * gain, i.Mode, i.distribution}.Fills(fanIn, fanOut)
}

// XavierInitializer draws weights with variance gain²·2/(inputs + outputs), as PyTorch's functions xavier_uniform_ and xavier_normal_; biases are 0.
type XavierInitializer struct {
	Gain         float64 `json:"gain"`
	distribution string
}

// Fills returns the fills for a layer.
func (i XavierInitializer) Fills(fanIn, fanOut int) (weight, bias Fill) {
	return VarianceScalingInitializer{i.Gain * i.Gain, "fan_avg", i.distribution}.Fills(fanIn, fanOut)
}

// LayerInitializer draws weights and biases uniformly between ±1/√inputs, as PyTorch's layers do.
type LayerInitializer struct{}

// Fills returns the fills for a layer.
func (LayerInitializer) Fills(fanIn, _ int) (weight, bias Fill) {
	bound := 1 / math.Sqrt(float64(fanIn))
	return UniformFill(bound), UniformFill(bound)
}

var (
	_ = RegisterInitializer("kaiming", LayerInitializer{})
	_ = RegisterInitializer("kaiming_uniform", KaimingInitializer{0, "fan_in", "leaky_relu", "uniform"})
	_ = RegisterInitializer("kaiming_normal", KaimingInitializer{0, "fan_in", "leaky_relu", "untruncated_normal"})
	_ = RegisterInitializer("xavier_uniform", XavierInitializer{1, "uniform"})
	_ = RegisterInitializer("xavier_normal", XavierInitializer{1, "untruncated_normal"})
	_ = RegisterInitializer("variance_scaling", VarianceScalingInitializer{1, "fan_in", "truncated_normal"})
	_ = RegisterInitializer("glorot_uniform", VarianceScalingInitializer{1, "fan_avg", "uniform"})
	_ = RegisterInitializer("glorot_normal", VarianceScalingInitializer{1, "fan_avg", "truncated_normal"})
	_ = RegisterInitializer("he_uniform", VarianceScalingInitializer{2, "fan_in", "uniform"})
	_ = RegisterInitializer("he_normal", VarianceScalingInitializer{2, "fan_in", "truncated_normal"})
	_ = RegisterInitializer("lecun_uniform", VarianceScalingInitializer{1, "fan_in", "uniform"})
	_ = RegisterInitializer("lecun_normal", VarianceScalingInitializer{1, "fan_in", "truncated_normal"})
	_ = initializers.aliases("xavier_uniform", "xavier")
)
