package augment

import (
	"encoding/json"
	"fmt"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// A Range is the lowest and the highest of the numbers that are drawn uniformly. One number v stands for v around the number
// that changes nothing: -v to v, or 1-v to 1+v for factors. An empty range changes nothing.
type Range []float64

// UnmarshalJSON reads v or [low, high].
func (g *Range) UnmarshalJSON(text []byte) error {
	each, err := config.OneOrMore[float64](text)
	if err != nil || len(each) == 0 || len(each) > 2 {
		return config.Errorf("cannot be %.40s; want a number or [lowest, highest]", text)
	}
	*g = each
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (g Range) MarshalJSON() ([]byte, error) {
	if len(g) == 1 {
		return json.Marshal(g[0])
	}
	return json.Marshal([]float64(g))
}

// bounds returns the lowest and the highest number; neutral is the one that changes nothing.
func (g Range) bounds(neutral float64) (low, high float64) {
	switch len(g) {
	case 0:
		return neutral, neutral
	case 1:
		return neutral - g[0], neutral + g[0]
	}
	return g[0], g[1]
}

// draw returns a number of the range.
func (g Range) draw(r *Random, neutral float64) float64 {
	low, high := g.bounds(neutral)
	if low == high {
		return low
	}
	return r.Uniform(low, high)
}

// check fails unless the range is in [least, most].
func (g Range) check(name, setting string, neutral, least, most float64) {
	if low, high := g.bounds(neutral); !(low >= least && low <= high && high <= most) {
		tensor.Fail(name, nn.ErrConfig, "%s: %v; want numbers from %v to %v, the lowest first", setting, []float64(g), least, most)
	}
}

// checkProbability fails unless p is a probability.
func checkProbability(name string, p float64) {
	if !(p >= 0 && p <= 1) {
		tensor.Fail(name, nn.ErrConfig, "p: %v; want a probability", p)
	}
}

// checkMax fails unless the largest number of float images is positive. 0 becomes 1.
func checkMax(name string, most *float64) {
	orDefault(most, 1)
	checkPositive(name, "max", *most > 0, *most)
}

// checkPixels returns an error if an image of floats has pixels far outside of 0 to most, which would be cut off there.
func checkPixels(s Sample, most float64) error {
	for i, f := range s.Fields {
		if f.Kind != Image || f.Type != dtype.Float32 {
			continue
		}
		for _, x := range dtype.Cast[float32](s.Data[i]) {
			if v := float64(x) / most; v < -0.5 || v > 1.5 {
				return fmt.Errorf("%s has a pixel of %v, and pixels outside of 0 to max, %v, are cut off; set max to the largest that images have: %w", f.Name, x, most, config.ErrInvalid)
			}
		}
	}
	return nil
}

// checkPositive fails unless a setting is ok.
func checkPositive(name, setting string, ok bool, v float64) {
	if !ok {
		tensor.Fail(name, nn.ErrConfig, "%s: %v; want a positive number", setting, v)
	}
}

// A chance is the probability of an augmentation, which its options have as P.
type chance float64

// Probability returns the probability that a sample changes.
func (c chance) Probability() float64 { return float64(c) }
