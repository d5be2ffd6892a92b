package augment

import (
	"math"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
)

// NoiseOptions are the settings of a Noise.
type NoiseOptions struct {
	Std float64 `json:"std"` // standard deviation, of bytes as a part of 255
	P   float64 `json:"p"`   // probability; 1 if absent
}

// Noise adds normal numbers to images; bytes stay in 0 to 255.
type Noise struct {
	only
	chance
	NoiseOptions
}

// NewNoise returns noise.
func NewNoise(o NoiseOptions) *Noise {
	orDefault(&o.P, 1)
	return newNoise(o)
}

func newNoise(o NoiseOptions) *Noise {
	checkPositive("noise", "std", o.Std >= 0, o.Std)
	checkProbability("noise", o.P)
	return &Noise{only(Image), chance(o.P), o}
}

// quantiles are the standard normal quantiles of (i+½)/2¹⁶.
var quantiles = sync.OnceValue(func() *[1 << 16]float32 {
	q := new([1 << 16]float32)
	for i := range q {
		q[i] = float32(math.Sqrt2 * math.Erfinv((2*float64(i)+1)/(1<<16)-1))
	}
	return q
})

// addNormal adds normal numbers to elements, two from each word.
func addNormal[T uint8 | float32 | float64](elems []T, r *Random, std, least, most float64) {
	q, word := quantiles(), uint32(0)
	for i, x := range elems {
		if word >>= 16; i%2 == 0 {
			word = r.Uint32()
		}
		v := float64(x) + std*float64(q[word&0xffff])
		if least < most {
			v = math.Floor(min(max(v, least), most) + 0.5)
		}
		elems[i] = T(v)
	}
}

// Apply adds noise to a sample.
func (a *Noise) Apply(to, from Sample, r *Random) error {
	return each(Image, to, from, func(f Field, data []byte) {
		if f.Type == dtype.Uint8 {
			addNormal(data, r, 255*a.Std, 0, 255)
		} else {
			addNormal(dtype.Cast[float32](data), r, a.Std, 0, 0)
		}
	})
}

var _ = Register("noise", newNoise, NoiseOptions{P: 1})
