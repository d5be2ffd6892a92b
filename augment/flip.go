package augment

import (
	"github.com/h5dnn/h5dnn/config"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// FlipOptions are the settings of a Flip.
type FlipOptions struct {
	Axes nn.Names `json:"axes"` // width, height or both; width if empty
	P    float64  `json:"p"`    // probability for each axis; 0.5 if absent
}

// Flip mirrors images.
type Flip struct {
	geometric
	FlipOptions
}

// NewFlip returns a flip.
func NewFlip(o FlipOptions) *Flip {
	orDefault(&o.P, 0.5)
	return newFlip(o)
}

func newFlip(o FlipOptions) *Flip {
	for _, axis := range o.Axes {
		if axis != "width" && axis != "height" {
			tensor.Fail("flip", nn.ErrConfig, "axes: %s: %v", axis, config.Unknown("axis", axis, []string{"width", "height"}))
		}
	}
	if len(o.Axes) == 0 {
		o.Axes = nn.Names{"width"}
	}
	checkProbability("flip", o.P)
	return &Flip{FlipOptions: o}
}

// Output returns the fields.
func (a *Flip) Output(fields []Field) ([]Field, error) { return moved(a, fields, nil) }

// Apply flips a sample.
func (a *Flip) Apply(to, from Sample, r *Random) error {
	frame, m := frameOf(from.Fields), identity
	for _, axis := range a.Axes {
		if !r.Bool(a.P) {
			continue
		}
		if axis == "width" {
			m = m.then(matrix{-1, 0, float64(frame.width()), 0, 1, 0})
		} else {
			m = m.then(matrix{1, 0, 0, 0, -1, float64(frame.height())})
		}
	}
	return move{forward: m}.apply(to, from)
}

var _ = Register("flip", newFlip, FlipOptions{P: 0.5})
