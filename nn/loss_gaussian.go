package nn

import (
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// GaussianNLLLossOptions are the settings of a GaussianNLLLoss.
type GaussianNLLLossOptions struct {
	LogVariance bool    `json:"log_variance"`        // outputs are means and logarithms of variances
	Full        bool    `json:"full,omitempty"`      // with the constant log(2π)/2
	Eps         float64 `json:"eps"`                 // least variance; 1e-6 if 0
	Reduction   string  `json:"reduction,omitempty"` // mean (or empty) or sum
}

// GaussianNLLLoss is the mean of (log v + (m − t)²/v)/2, for outputs (N, 2·C, …): C means m, then their variances v, and
// targets t (N, C, …), or (N) if C is 1. It is PyTorch's GaussianNLLLoss, in which v is no less than eps and eps has no gradient.
type GaussianNLLLoss struct{ GaussianNLLLossOptions }

var gaussianDefaults = GaussianNLLLossOptions{LogVariance: true, Eps: 1e-6}

// NewGaussianNLLLoss returns a Gaussian negative log likelihood; an eps of 0 is 1e-6.
func NewGaussianNLLLoss(o GaussianNLLLossOptions) GaussianNLLLoss {
	if o.Eps == 0 {
		o.Eps = gaussianDefaults.Eps
	}
	return newGaussianNLL(o)
}

func newGaussianNLL(o GaussianNLLLossOptions) GaussianNLLLoss {
	checkRange("gaussian_nll", "eps", o.Eps, math.SmallestNonzeroFloat64, infinity)
	checkReduction("gaussian_nll", o.Reduction)
	return GaussianNLLLoss{o}
}

// Forward returns the negative log likelihood.
func (l GaussianNLLLoss) Forward(outputs, targets, weights *tensor.Tensor) Fraction {
	if outputs.Rank() < 2 || outputs.Shape()[1]%2 != 0 || !slices.Equal(longAxes(outputs.Slice(1, 0, outputs.Shape()[1]/2, 1)), longAxes(targets)) {
		tensor.Fail("gaussian_nll", views.ErrShape, "outputs %v and targets %v; want (N, 2·C, …), means and variances, and (N, C, …)", outputs.Shape(), targets.Shape())
	}
	x := outputs.ToFloat32()
	c := x.Shape()[1] / 2
	mean, v := x.Slice(1, 0, c, 1), x.Slice(1, c, 2*c, 1)
	t := targets.Cast(x.DType())
	if !slices.Equal(t.Shape(), mean.Shape()) {
		t = t.Contiguous().Reshape(mean.Shape()...)
	}
	if l.LogVariance {
		v = v.Exp()
	}
	v = v.Add(v.Detach().Clamp(l.Eps, nil).Sub(v.Detach()))
	each := v.Log().Add(mean.Sub(t).Square().Div(v)).MulScalar(0.5)
	if l.Full {
		each = each.AddScalar(0.5 * math.Log(2*math.Pi))
	}
	return reduceLoss("gaussian_nll", l.Reduction, each, weights)
}

// longAxes returns the axes of the samples of x that are not 1.
func longAxes(x *tensor.Tensor) []int {
	return slices.DeleteFunc(slices.Clone(x.Shape()[1:]), func(n int) bool { return n == 1 })
}

// Estimate returns the means.
func (l GaussianNLLLoss) Estimate(outputs *tensor.Tensor) *tensor.Tensor {
	return outputs.Slice(1, 0, outputs.Shape()[1]/2, 1)
}

var (
	_ = RegisterLoss("gaussian_nll", newGaussianNLL, gaussianDefaults)
	_ = losses.aliases("gaussian_nll", "gaussian_nll_loss")
)
