package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
)

// LightingOptions are the settings of a Lighting.
type LightingOptions struct {
	Contrast     Range   `json:"contrast,omitempty"`      // of the contrast curve, -1 to 1; a number v is -v to v
	Gamma        Range   `json:"gamma,omitempty"`         // exponent of all channels; a number v is 1-v to 1+v
	ChannelGamma Range   `json:"channel_gamma,omitempty"` // factor of the exponent of each channel, drawn anew; a number v is 1-v to 1+v
	Max          float64 `json:"max,omitempty"`           // the largest number of float images, which have 0 to max; 1 if 0
	P            float64 `json:"p"`                       // probability; 1 if absent
}

// Lighting changes the contrast, brightness and color of images as augpy's lighting does: numbers v, as parts of the largest, become
// (1−|c|)·v + |c|·f(v) for the contrast c, where f is a logistic curve if c is positive and an area hyperbolic tangent otherwise,
// and then powers of the product of both gammas.
type Lighting struct {
	only
	chance
	LightingOptions
}

// NewLighting returns a change of lighting.
func NewLighting(o LightingOptions) *Lighting {
	orDefault(&o.P, 1)
	return newLighting(o)
}

func newLighting(o LightingOptions) *Lighting {
	const name, most = "lighting", 100
	o.Contrast.check(name, "contrast", 0, -1, 1)
	o.Gamma.check(name, "gamma", 1, 0, most)
	o.ChannelGamma.check(name, "channel_gamma", 1, 0, most)
	checkProbability(name, o.P)
	checkMax(name, &o.Max)
	return &Lighting{only(Image), chance(o.P), o}
}

// contrasted returns v, in [0, 1], with a contrast of c. The numbers are augpy's: both curves go through 0, 1/2 and 1.
func contrasted(v, c float64) float64 {
	if c >= 0 {
		return (1-c)*v + c*(1.0037575963899724/(1+math.Exp(6.279-v*12.558))-0.0018787981949862)
	}
	return (1+c)*v - c*(0.1755606108304832*math.Atanh(v*1.986608-0.993304)+0.5)
}

// Apply changes the lighting of a sample.
func (a *Lighting) Apply(to, from Sample, r *Random) error {
	if err := checkPixels(from, a.Max); err != nil {
		return err
	}
	contrast, gamma := a.Contrast.draw(r, 0), a.Gamma.draw(r, 1)
	return each(Image, to, from, func(f Field, data []byte) {
		g := f.image()
		bytes := f.Type == dtype.Uint8
		for c := range int(g.C) {
			power := gamma * a.ChannelGamma.draw(r, 1)
			lit := func(v float64) float64 {
				return math.Pow(min(max(contrasted(min(max(v, 0), 1), contrast), 0), 1), power)
			}
			var table [256]uint8
			for i := range table {
				table[i] = uint8(math.RoundToEven(255 * lit(float64(i)/255)))
			}
			for i, at := 0, c*int(g.Channel); i < int(g.H*g.W); i, at = i+1, at+int(g.Pixel) {
				if bytes {
					data[at] = table[data[at]]
				} else {
					x := &dtype.Cast[float32](data)[at]
					*x = float32(a.Max * lit(float64(*x)/a.Max))
				}
			}
		}
	})
}

var _ = Register("lighting", newLighting, LightingOptions{P: 1})
