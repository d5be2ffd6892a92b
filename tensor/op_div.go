package tensor

import (
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/tensor/internal/samples"
)

// Div returns x / y, elementwise, broadcasting their shapes. Quotients of integers are float32, as PyTorch's true
// division makes them, where NumPy's are float64.
func (x *Tensor) Div(y *Tensor) *Tensor { return floats(kernels.Div, divGrad, x, y) }

func divGrad(x, y, z, dz *Tensor) (dx, dy *Tensor) {
	return x.ifNeeded(func() *Tensor { return dz.Div(y) }), y.ifNeeded(func() *Tensor { return dz.Mul(z).Div(y).Neg() })
}

var _ = registerBroadcasts("div", (*Tensor).Div, samples.Positive)
