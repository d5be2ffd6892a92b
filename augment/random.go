package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels"
)

// Random is the random numbers of one sample in one augmentation: words of Philox4x32-10 with a key of the seed and the
// epoch, and a counter of the row and the place of the augmentation.
type Random struct {
	seed, stream, block uint64
	words               [4]uint32
	left                int
}

// newRandom returns the numbers for a row. The place is below 2¹⁶, the row below 2⁴⁸.
func newRandom(seed uint64, epoch, row, place int) *Random {
	return &Random{seed: mix(mix(seed^0xA06A11) + uint64(epoch)), stream: uint64(row)<<16 | uint64(place)}
}

// mix is the finalizer of splitmix64 (Steele et al., doi:10.1145/2660193.2660195).
func mix(z uint64) uint64 {
	z += 0x9E3779B97F4A7C15
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Uint32 returns 32 random bits.
func (r *Random) Uint32() uint32 {
	if r.left == 0 {
		r.words, r.left = kernels.Philox(r.seed, r.stream, r.block), 4
		r.block++
	}
	r.left--
	return r.words[3-r.left]
}

// Float64 returns a number that is uniform in [0, 1), of 32 bits.
func (r *Random) Float64() float64 { return float64(r.Uint32()) * 0x1p-32 }

// Uniform returns a number that is uniform in [low, high).
func (r *Random) Uniform(low, high float64) float64 { return low + (high-low)*r.Float64() }

// Intn returns an integer that is uniform in [0, n).
func (r *Random) Intn(n int) int { return int(uint64(r.Uint32()) * uint64(n) >> 32) }

// Bool returns true with probability p.
func (r *Random) Bool(p float64) bool { return r.Float64() < p }

// Normal returns a standard normal number (Box and Muller, doi:10.1214/aoms/1177706645).
func (r *Random) Normal() float64 {
	radius := math.Sqrt(-2 * math.Log(r.Float64()+0x1p-32))
	return radius * math.Cos(2*math.Pi*r.Float64())
}

// Beta returns a number of the distribution Beta(a, a).
func (r *Random) Beta(a float64) float64 {
	x, y := r.gamma(a), r.gamma(a)
	if x+y == 0 {
		return 0.5
	}
	return x / (x + y)
}

// gamma returns a number of the gamma distribution of shape a (Marsaglia and Tsang, doi:10.1145/358407.358414).
func (r *Random) gamma(a float64) float64 {
	if a < 1 {
		return r.gamma(a+1) * math.Pow(r.Float64()+0x1p-33, 1/a)
	}
	d := a - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.Normal()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(r.Float64()+0x1p-33) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v
		}
	}
}
