package dataconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/views"
)

// Normalize is how elements become a model's inputs: Scale·x + Shift, as
// float32, with one number for all, or one for each channel of images and each
// element along the last axis of anything else. The zero Normalize is estimated
// from the data.
//
// Targets that a regression loss compares are standardized alike, by numbers for
// them in Fields or, by default, from the data. Outputs are then in these units
// until they are converted back. Identity leaves inputs and targets as they are.
type Normalize struct {
	Scale, Shift []float64
	Fields       map[string]Normalize // by name of the input or target, where they differ; nil if inputs are all alike
}

// Identity leaves numbers as they are.
var Identity = Normalize{Scale: []float64{1}, Shift: []float64{0}}

// IsAuto reports whether n is to be estimated from the data.
func (n Normalize) IsAuto() bool { return len(n.Scale) == 0 && n.Fields == nil }

// IsIdentity reports whether n leaves numbers as they are.
func (n Normalize) IsIdentity() bool {
	return n.Fields == nil && slices.Equal(n.Scale, Identity.Scale) && slices.Equal(n.Shift, Identity.Shift)
}

// For returns the normalization of the named input.
func (n Normalize) For(input string) Normalize {
	if n.Fields != nil {
		return n.Fields[input]
	}
	return n
}

// ForTarget returns the normalization of the named target.
func (n Normalize) ForTarget(target string) Normalize {
	if n.IsIdentity() {
		return Identity
	}
	return n.Fields[target]
}

// CheckShape reports whether there is one number for all elements of a sample, or
// one for each along axis.
func (n Normalize) CheckShape(sample []int, axis int) error {
	if len(n.Scale) < 2 || axis >= 0 && len(n.Scale) == sample[axis] {
		return nil
	}
	return fmt.Errorf("normalize: %d numbers for samples of %v; want one, or one for each along axis %d: %w", len(n.Scale), sample, max(axis, 0), views.ErrShape)
}

// numbers are one number, or a list of them.
type numbers []float64

func (n *numbers) UnmarshalJSON(text []byte) (err error) {
	*n, err = config.OneOrMore[float64](text)
	return err
}

func (n numbers) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]float64(n))
}

var errNormalize = errors.New("want mean and std > 0, or scale ≠ 0 and shift; each a number, or lists of the same length")

// UnmarshalJSON reads "auto", "none", {"mean": m, "std": s}, {"scale": a, "shift": b},
// any of these for inputs and targets by name, or "MEAN/STD".
func (n *Normalize) UnmarshalJSON(text []byte) (err error) {
	var name string
	if json.Unmarshal(text, &name) == nil {
		known := map[string]Normalize{"auto": {}, "none": Identity}
		named, ok := known[name]
		if !ok && strings.Contains(name, "/") {
			*n, err = ParseNormalize(name)
			return err
		}
		if !ok {
			return errors.New("want auto, none, MEAN/STD, {mean, std} or {scale, shift}")
		}
		*n = named
		return nil
	}
	var named map[string]json.RawMessage
	if json.Unmarshal(text, &named) == nil && byField(named) {
		return n.unmarshalFields(named)
	}
	var given struct {
		Scale numbers `json:"scale"`
		Shift numbers `json:"shift"`
		Mean  numbers `json:"mean"`
		Std   numbers `json:"std"`
	}
	if err := config.Decode(text, &given); err != nil {
		return err
	}
	switch {
	case given.Mean == nil && given.Std == nil:
		*n, err = scaleShift(given.Scale, given.Shift)
	case given.Scale == nil && given.Shift == nil:
		*n, err = standardize(given.Mean, given.Std)
	default:
		err = errNormalize
	}
	return err
}

// byField reports whether settings are normalizations by the names of inputs and targets.
func byField(settings map[string]json.RawMessage) bool {
	for name, text := range settings {
		if slices.Contains([]string{"scale", "shift", "mean", "std"}, name) || text[0] != '{' && text[0] != '"' {
			return false
		}
	}
	return len(settings) > 0
}

func (n *Normalize) unmarshalFields(named map[string]json.RawMessage) error {
	all := map[string]Normalize{}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		var one Normalize
		if err := one.UnmarshalJSON(named[name]); err != nil {
			return config.At(err, name)
		}
		all[name] = one
	}
	*n = Normalize{Fields: all}
	return nil
}

// ParseNormalize reads auto, none, or MEAN/STD, each a number or, for channels,
// numbers with commas between.
func ParseNormalize(text string) (Normalize, error) {
	mean, std, ok := strings.Cut(text, "/")
	var n Normalize
	quoted, _ := json.Marshal(text)
	if ok { // an object, which UnmarshalJSON reads without coming back here
		quoted = fmt.Appendf(nil, `{"mean": [%s], "std": [%s]}`, mean, std)
	}
	if err := n.UnmarshalJSON(quoted); err != nil {
		return n, fmt.Errorf("%q: want auto, none or MEAN/STD, such as 33.3/78.6 or 0.5,0.4/0.2,0.2", text)
	}
	return n, nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (n Normalize) MarshalJSON() ([]byte, error) {
	if n.Fields != nil {
		return json.Marshal(n.Fields)
	}
	if n.IsAuto() {
		return json.Marshal("auto")
	}
	return json.Marshal(map[string]numbers{"scale": n.Scale, "shift": n.Shift})
}

// scaleShift is scale·x + shift; no shift is 0.
func scaleShift(scale, shift []float64) (Normalize, error) {
	if shift == nil {
		shift = make([]float64, len(scale))
	}
	if len(scale) == 0 || len(scale) != len(shift) || slices.Contains(scale, 0) {
		return Normalize{}, errNormalize
	}
	return Normalize{Scale: scale, Shift: shift}, nil
}

// standardize gives numbers of that mean and standard deviation mean 0 and standard
// deviation 1; no mean is 0.
func standardize(mean, std []float64) (Normalize, error) {
	if mean == nil {
		mean = make([]float64, len(std))
	}
	if len(std) == 0 || len(mean) != len(std) || slices.Min(std) <= 0 {
		return Normalize{}, errNormalize
	}
	n := Normalize{Scale: make([]float64, len(mean)), Shift: make([]float64, len(mean))}
	for i := range mean {
		n.Scale[i], n.Shift[i] = 1/std[i], -mean[i]/std[i]
	}
	return n, nil
}
