package kernels

import "math"

// An Act is an activation function that a kernel can apply to its result on the
// way out: BiasAct, Linear and Conv2d have it as a setting.
type Act uint8

const (
	ActNone Act = iota
	ActRelu
	ActTanh
	ActSigmoid
)

// of returns the activation of z. Relu of a NaN is a NaN, as everywhere.
func (a Act) of(z float64) float64 {
	switch a {
	case ActRelu:
		if z < 0 {
			return 0
		}
		return z
	case ActTanh:
		return math.Tanh(z)
	case ActSigmoid:
		return 1 / (1 + math.Exp(-z))
	}
	return z
}
