package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// LocalResponseNormOptions are the settings of a LocalResponseNorm.
type LocalResponseNormOptions struct {
	Size  int     `json:"size"`  // channels of a window; required
	Alpha float64 `json:"alpha"` // 1e-4 if 0
	Beta  float64 `json:"beta"`  // 0.75 if 0
	K     float64 `json:"k"`     // 1 if 0
}

// LocalResponseNorm is x/(k + α·mean)^β for x (N, C, …), where mean is the mean of the squares of the channels around
// each, with zeros beyond the first and last (Krizhevsky et al., NeurIPS 2012).
type LocalResponseNorm struct{ LocalResponseNormOptions }

var localResponseDefaults = LocalResponseNormOptions{Alpha: 1e-4, Beta: 0.75, K: 1}

// NewLocalResponseNorm returns a LocalResponseNorm. Size is required.
func NewLocalResponseNorm(o LocalResponseNormOptions) *LocalResponseNorm {
	return newLocalResponseNorm(withDefaults(o, localResponseDefaults))
}

func newLocalResponseNorm(o LocalResponseNormOptions) *LocalResponseNorm {
	if o.Size < 1 {
		tensor.Fail("local_response_norm", views.ErrShape, "size %d; want at least 1", o.Size)
	}
	return &LocalResponseNorm{o}
}

// Forward normalizes x.
func (l *LocalResponseNorm) Forward(x *tensor.Tensor) *tensor.Tensor {
	if l.Size < 1 || x.Rank() < 3 {
		tensor.Fail("local_response_norm", views.ErrShape, "input %v, size %d; want samples, channels and spatial axes, and a size of at least 1", x.Shape(), l.Size)
	}
	n, c := x.Shape()[0], x.Shape()[1]
	squares := x.Mul(x).Contiguous().Reshape(n, 1, c, -1).PadConstant(0, 0, 0, l.Size/2, (l.Size-1)/2)
	var window tensor.PoolOptions
	copy(window.Kernel[:], []int{l.Size, 1})
	copy(window.Stride[:], []int{1, 1})
	mean := squares.AvgPool(window).Reshape(x.Shape()...)
	return x.Div(mean.MulScalar(l.Alpha).AddScalar(l.K).PowScalar(l.Beta))
}

var _ = RegisterLayer("local_response_norm", newLocalResponseNorm, localResponseDefaults)
