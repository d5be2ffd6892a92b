package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/views"
)

// Normalize is how elements become a model's inputs: Scale·x + Shift, as
// float32, with one number for all, or one for each channel of images and each
// element along the last axis of anything else. The zero Normalize is still to
// be worked out from the data.
type Normalize struct{ Scale, Shift []float64 }

// identity leaves numbers as they are.
var identity = Normalize{[]float64{1}, []float64{0}}

func (n Normalize) auto() bool { return len(n.Scale) == 0 }

func (n Normalize) isIdentity() bool {
	return slices.Equal(n.Scale, identity.Scale) && slices.Equal(n.Shift, identity.Shift)
}

// fits reports whether there is one number for all, or for each along axis.
func (n Normalize) fits(sample []int, axis int) error {
	if len(n.Scale) < 2 || axis >= 0 && len(n.Scale) == sample[axis] {
		return nil
	}
	return fmt.Errorf("normalize: %d numbers for samples of %v; want one, or one for each along axis %d: %w", len(n.Scale), sample, max(axis, 0), views.ErrShape)
}

// numbers are one number, or a list of them.
type numbers []float64

func (n *numbers) UnmarshalJSON(text []byte) error {
	var one float64
	if json.Unmarshal(text, &one) == nil {
		*n = numbers{one}
		return nil
	}
	return json.Unmarshal(text, (*[]float64)(n))
}

func (n numbers) MarshalJSON() ([]byte, error) {
	if len(n) == 1 {
		return json.Marshal(n[0])
	}
	return json.Marshal([]float64(n))
}

var errNormalize = errors.New("want mean and std > 0, or scale ≠ 0 and shift; each a number, or lists of the same length")

// UnmarshalJSON reads "auto", "none", {"mean": m, "std": s} or
// {"scale": a, "shift": b}.
func (n *Normalize) UnmarshalJSON(text []byte) error {
	var name string
	if json.Unmarshal(text, &name) == nil {
		known := map[string]Normalize{"auto": {}, "none": identity}
		named, ok := known[name]
		if !ok {
			return errors.New("want auto, none, {mean, std} or {scale, shift}")
		}
		*n = named
		return nil
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
	var err error
	switch {
	case given.Mean == nil && given.Std == nil:
		*n, err = affine(given.Scale, given.Shift)
	case given.Scale == nil && given.Shift == nil:
		*n, err = standard(given.Mean, given.Std)
	default:
		err = errNormalize
	}
	return err
}

// ParseNormalize reads auto, none, or MEAN/STD, each a number or, for channels,
// numbers with commas between.
func ParseNormalize(text string) (Normalize, error) {
	mean, deviation, ok := strings.Cut(text, "/")
	var n Normalize
	quoted, _ := json.Marshal(text)
	if ok {
		quoted = fmt.Appendf(nil, `{"mean": [%s], "std": [%s]}`, mean, deviation)
	}
	if err := n.UnmarshalJSON(quoted); err != nil {
		return n, fmt.Errorf("%q: want auto, none or MEAN/STD, such as 33.3/78.6 or 0.5,0.4/0.2,0.2", text)
	}
	return n, nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (n Normalize) MarshalJSON() ([]byte, error) {
	if n.auto() {
		return json.Marshal("auto")
	}
	return json.Marshal(map[string]numbers{"scale": n.Scale, "shift": n.Shift})
}

// affine is scale·x + shift; no shift is 0.
func affine(scale, shift []float64) (Normalize, error) {
	if shift == nil {
		shift = make([]float64, len(scale))
	}
	if len(scale) == 0 || len(scale) != len(shift) || slices.Contains(scale, 0) {
		return Normalize{}, errNormalize
	}
	return Normalize{scale, shift}, nil
}

// standard makes numbers of that mean and deviation ones of mean 0 and
// deviation 1; no mean is 0.
func standard(mean, deviation []float64) (Normalize, error) {
	if mean == nil {
		mean = make([]float64, len(deviation))
	}
	if len(deviation) == 0 || len(mean) != len(deviation) || slices.Min(deviation) <= 0 {
		return Normalize{}, errNormalize
	}
	n := Normalize{make([]float64, len(mean)), make([]float64, len(mean))}
	for i := range mean {
		n.Scale[i], n.Shift[i] = 1/deviation[i], -mean[i]/deviation[i]
	}
	return n, nil
}
