package nn

import (
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensor/linalg"
)

// OrthogonalInitializer draws weights whose rows, of all axes but the first, are orthogonal, or whose columns are if there are fewer, with the
// length gain: Q of a normal matrix, with the signs of R's diagonal (Saxe et al., arXiv:1312.6120); biases are 0.
type OrthogonalInitializer struct {
	Gain float64 `json:"gain"`
}

// Fills returns the fills for a layer.
func (i OrthogonalInitializer) Fills(int, int) (weight, bias Fill) {
	return hostFill(func(shape []int, key tensor.Key) *tensor.Tensor {
		if len(shape) < 2 {
			tensor.Fail("initializer", ErrConfig, "orthogonal for a parameter of %v; want two axes or more", shape)
		}
		rows, columns := shape[0], 1
		for _, n := range shape[1:] {
			columns *= n
		}
		q, r := linalg.QR(key.Randn(dtype.Float64, max(rows, columns), min(rows, columns)))
		q = q.Mul(r.Diagonal(0, 0, 1).Sign().MulScalar(i.Gain))
		if rows < columns {
			q = q.T()
		}
		return q.Contiguous().Reshape(shape...)
	}), ConstantFill(0)
}

// IdentityInitializer sets weights to gain where output and input have the same number, in the middle of a window, and to 0 elsewhere, as PyTorch's
// eye_ and dirac_ do; biases are 0.
type IdentityInitializer struct {
	Gain float64 `json:"gain"`
}

// Fills returns the fills for a layer.
func (i IdentityInitializer) Fills(int, int) (weight, bias Fill) {
	return hostFill(func(shape []int, _ tensor.Key) *tensor.Tensor {
		if len(shape) < 2 {
			tensor.Fail("initializer", ErrConfig, "identity for a parameter of %v; want two axes or more", shape)
		}
		w := tensor.Zeros(dtype.Float64, shape...)
		middle := w
		for _, n := range slices.Backward(shape[2:]) {
			middle = middle.Select(middle.Rank()-1, n/2)
		}
		middle.Diagonal(0, 0, 1).Fill(i.Gain)
		return w
	}), ConstantFill(0)
}

var (
	_ = RegisterInitializer("orthogonal", OrthogonalInitializer{1})
	_ = RegisterInitializer("identity", IdentityInitializer{1})
	_ = initializers.aliases("identity", "eye", "dirac")
)
