package nn

import (
	"encoding/json"
	"math"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/views"
)

// Sizes holds a number for each spatial axis of an input, such as a kernel size
// or a stride. A single number holds for all axes.
type Sizes []int

// Same is the padding of a convolution with stride 1 whose output has the size of its input, PyTorch's "same": of an odd number of
// zeros one more is at the end. Configurations write same, and valid for 0.
var Same = Sizes{same}

const same = math.MinInt

// UnmarshalJSON reads n, [n, m, …], "same" or "valid".
func (s *Sizes) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"same"`:
		*s = Same
		return nil
	case `"valid"`:
		*s = Sizes{0}
		return nil
	}
	each, err := config.OneOrMore[int](text)
	if err != nil || len(each) == 0 {
		return config.Errorf("cannot be %.40s; want a number or a list of numbers", text)
	}
	*s = each
	return nil
}

// expand returns a copy of s with a number for each of rank axes; absent stands for
// an empty s.
func (s Sizes) expand(layer, setting string, rank, absent int) Sizes {
	each := make(Sizes, rank)
	for i := range each {
		switch len(s) {
		case 0:
			each[i] = absent
		case 1:
			each[i] = s[0]
		case rank:
			each[i] = s[i]
		default:
			tensor.Fail(layer, views.ErrShape, "%s %v; want one number or %d", setting, []int(s), rank)
		}
	}
	return each
}

// expandGiven is expand of a setting that stays nil if it is empty.
func (s Sizes) expandGiven(layer, setting string, rank int) Sizes {
	if len(s) == 0 {
		return nil
	}
	return s.expand(layer, setting, rank, 0)
}

// Negated is a bool that configurations write as its opposite: NoBias is
// "bias": false.
type Negated bool

// MarshalJSON writes the opposite of n.
func (n Negated) MarshalJSON() ([]byte, error) { return json.Marshal(!bool(n)) }

// UnmarshalJSON reads the opposite of n.
func (n *Negated) UnmarshalJSON(text []byte) error {
	var on bool
	err := json.Unmarshal(text, &on)
	*n = Negated(!on)
	return err
}
