package augment

import "math"

// BlurOptions are the settings of a Blur.
type BlurOptions struct {
	Sigma Range   `json:"sigma"` // standard deviation in pixels; a number v is 0 to v
	P     float64 `json:"p"`     // probability; 1 if absent
}

// Blur convolves images with a Gaussian, of max(3, ⌊6.6σ−2.3⌋ or the next odd number) pixels, as augpy does. Pixels outside are the
// nearest.
type Blur struct {
	only
	chance
	BlurOptions
}

// NewBlur returns a blur.
func NewBlur(o BlurOptions) *Blur {
	orDefault(&o.P, 1)
	return newBlur(o)
}

func newBlur(o BlurOptions) *Blur {
	if len(o.Sigma) == 1 {
		o.Sigma = Range{0, o.Sigma[0]}
	}
	o.Sigma.check("blur", "sigma", 0, 0, 100)
	checkProbability("blur", o.P)
	return &Blur{only(Image), chance(o.P), o}
}

// gaussian returns the weights of a Gaussian, whose sum is 2¹⁶.
func gaussian(sigma float64) []uint32 {
	size := max(3, int(6.6*sigma-2.3)|1)
	weights, sum, k := make([]float64, size), 0.0, make([]uint32, size)
	for i := range weights {
		x := float64(i - size/2)
		weights[i] = math.Exp(-x * x / (2 * sigma * sigma))
		sum += weights[i]
	}
	rest := uint32(1 << 16)
	for i, w := range weights {
		k[i] = uint32(math.Round(w / sum * (1 << 16)))
		rest -= k[i]
	}
	k[size/2] += rest
	return k
}

// Apply blurs a sample.
func (a *Blur) Apply(to, from Sample, r *Random) error {
	if sigma := a.Sigma.draw(r, 0); sigma > 1e-3 {
		return convolve(to, from, gaussian(sigma))
	}
	return convolve(to, from, nil)
}

// convolve copies a sample and convolves its images along both axes with weights, whose sum is 2¹⁶; nil changes nothing.
func convolve(to, from Sample, weights []uint32) (err error) {
	each(Image, to, from, func(f Field, data []byte) {
		if weights != nil && err == nil {
			err = f.image().Blur(f.pixelType(), data, data, weights)
		}
	})
	return err
}

var _ = Register("blur", newBlur, BlurOptions{P: 1})
