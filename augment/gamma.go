package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native/images"
)

// GammaOptions are the settings of a Gamma.
type GammaOptions struct {
	Gamma Range   `json:"gamma"`         // exponent; a number v is 1-v to 1+v
	Max   float64 `json:"max,omitempty"` // the largest number of float images, which have 0 to max; 1 if 0
	P     float64 `json:"p"`             // probability; 1 if absent
}

// Gamma raises images, as parts of their largest number, to a random power.
type Gamma struct {
	only
	chance
	GammaOptions
}

// NewGamma returns a gamma correction.
func NewGamma(o GammaOptions) *Gamma {
	orDefault(&o.P, 1)
	return newGamma(o)
}

func newGamma(o GammaOptions) *Gamma {
	o.Gamma.check("gamma", "gamma", 1, 0, 100)
	checkProbability("gamma", o.P)
	checkMax("gamma", &o.Max)
	return &Gamma{only(Image), chance(o.P), o}
}

// Apply corrects a sample.
func (a *Gamma) Apply(to, from Sample, r *Random) error {
	if err := checkPixels(from, a.Max); err != nil {
		return err
	}
	gamma := a.Gamma.draw(r, 1)
	return each(Image, to, from, func(f Field, data []byte) {
		if f.Type == dtype.Uint8 {
			var table [256]uint8
			for i := range table {
				table[i] = uint8(math.Round(255 * math.Pow(float64(i)/255, gamma)))
			}
			images.Lookup(data, &table)
			return
		}
		for i, x := range dtype.Cast[float32](data) {
			dtype.Cast[float32](data)[i] = float32(a.Max * math.Pow(min(max(float64(x)/a.Max, 0), 1), gamma))
		}
	})
}

var _ = Register("gamma", newGamma, GammaOptions{P: 1})
