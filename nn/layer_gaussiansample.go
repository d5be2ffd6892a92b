package nn

import (
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// GaussianSampleOptions are the settings of a GaussianSample.
type GaussianSampleOptions struct {
	KLWeight float64 `json:"kl_weight"` // of the divergence in the loss; 1 if 0
}

// GaussianSample takes C means and then the logarithms of C variances, (N, 2·C, …). In training it returns normal numbers of
// these (N, C, …), which have gradients of both, otherwise the means (Kingma and Welling, arXiv:1312.6114). The loss that training
// minimizes gets KLWeight times the divergence from standard normal numbers, Σ(m² + v − 1 − log v)/2, a mean over the samples.
// In a seeded step the numbers follow from its seed, as the masks of dropout do.
type GaussianSample struct {
	GaussianSampleOptions
	Mode
}

var gaussianSampleDefaults = GaussianSampleOptions{KLWeight: 1}

// NewGaussianSample returns a GaussianSample.
func NewGaussianSample(o GaussianSampleOptions) *GaussianSample {
	return newGaussianSample(withDefaults(o, gaussianSampleDefaults))
}

func newGaussianSample(o GaussianSampleOptions) *GaussianSample {
	checkRange("gaussian_sample", "kl_weight", o.KLWeight, 0, infinity)
	return &GaussianSample{GaussianSampleOptions: o}
}

// Forward returns normal numbers, or their means.
func (g *GaussianSample) Forward(x *tensor.Tensor) *tensor.Tensor {
	if x.Rank() < 2 || x.Shape()[1]%2 != 0 {
		tensor.Fail("gaussian_sample", views.ErrShape, "input %v; want (N, 2·C, …), means and logarithms of variances", x.Shape())
	}
	c := x.Shape()[1] / 2
	mean, logVariance := x.Narrow(1, 0, c), x.Narrow(1, c, c)
	AddLoss(x, func() Fraction {
		n := x.Shape()[0]
		sum := mean.Square().Add(logVariance.Exp()).Sub(logVariance).AddScalar(-1).Sum()
		return MeanFraction(sum.MulScalar(g.KLWeight/2/float64(n)), n)
	})
	if !g.Training() {
		return mean
	}
	return mean.Add(logVariance.MulScalar(0.5).Exp().Mul(tensor.RandnLike(mean)))
}

var (
	_ = RegisterLayer("gaussian_sample", newGaussianSample, gaussianSampleDefaults)
	_ = layers.aliases("gaussian_sample", "sampling")
)
