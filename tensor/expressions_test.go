package tensor_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// steps are operations that keep the shape (3, 4) and stay finite on results of one another.
var steps = []func(x, y *tensor.Tensor) *tensor.Tensor{
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Add(y) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(y.Mul(x)).Tanh() },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sigmoid().Mul(y) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Tanh().Exp().Sub(y.Sin()) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Softmax(-1).AddCMul(x.Cos(), y, 0.5) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sub(x.Mean(0, tensor.KeepDims)).GELU() },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.LogSumExp(-1, tensor.KeepDims).Mul(y) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Flip(1).Roll(0, 1).Atan2(y.Square().AddScalar(1)) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.CumSum(-1).Softplus().Log1p() },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sin().AddInPlace(y).MulScalar(0.5) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.Sin().InPlace((*tensor.Tensor).SiLU).MulInPlace(x) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return tensor.Stack(0, x.Unbind(0)...).Erf().Lerp(y, 0.25) },
	func(x, y *tensor.Tensor) *tensor.Tensor { return x.MatMul(x.Tanh().T()).Tanh().MatMul(x).DivScalar(4) },
	func(x, y *tensor.Tensor) *tensor.Tensor {
		return tensor.Einsum("ij,ij->ij", x, y.Expand(3, 4)).Hypot(x.AddScalar(3))
	},
	func(x, y *tensor.Tensor) *tensor.Tensor {
		return x.IndexSelect(0, tensor.New([]int{2, 0, 1})).Expm1().Tanh()
	},
}

// TestRandomExpressions compares expressions of random operations in float32 with float64, and their gradients with
// finite differences.
func TestRandomExpressions(t *testing.T) {
	for seed := range uint64(60) {
		expression := func(in ...*tensor.Tensor) *tensor.Tensor {
			r := rand.New(rand.NewPCG(seed, 1))
			values := []*tensor.Tensor{in[0], in[1].Expand(3, 4)}
			for range 6 {
				x, y := values[r.IntN(len(values))], values[r.IntN(len(values))]
				values = append(values, steps[r.IntN(len(steps))](x, y))
			}
			return values[len(values)-1].Add(values[len(values)-2])
		}
		s := tensortest.Sample{Name: fmt.Sprint("expression ", seed), Call: expression, In: []tensortest.Input{tensortest.In(3, 4), tensortest.In(4)}}
		t.Run(s.Name, func(t *testing.T) {
			if err := tensor.Try(func() {
				tensortest.CheckGradients(t, s, storage.CPU)
				in := tensortest.Draw(s, dtype.Float32)
				tensortest.Agree(t, 1e-4, s, in, tensortest.Float64(in))
			}); err != nil {
				t.Error(err)
			}
		})
	}
}
