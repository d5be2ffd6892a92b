package augment

import (
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// TimeCropOptions are the settings of a TimeCrop.
type TimeCropOptions struct {
	Length int  `json:"length"`           // of the result
	Center bool `json:"center,omitempty"` // the crop is in the center instead of a random place
}

// TimeCrop cuts a part out of signals, of all channels alike.
type TimeCrop struct {
	only
	TimeCropOptions
}

// NewTimeCrop returns a crop in time.
func NewTimeCrop(o TimeCropOptions) *TimeCrop {
	if o.Length < 1 {
		tensor.Fail("time_crop", nn.ErrConfig, "length: %d; want at least 1", o.Length)
	}
	return &TimeCrop{only(Signal), o}
}

// Output returns the fields with shorter signals.
func (a *TimeCrop) Output(fields []Field) ([]Field, error) {
	for i, f := range fields {
		if f.Kind != Signal {
			continue
		}
		last := len(f.Shape) - 1
		if f.Shape[last] < a.Length {
			return nil, wrongField(a, f, "a signal that is longer than the crop")
		}
		f.Shape = append([]int(nil), f.Shape...)
		f.Shape[last] = a.Length
		fields[i] = f
	}
	return fields, nil
}

// Apply crops a sample.
func (a *TimeCrop) Apply(to, from Sample, r *Random) error {
	u := r.Float64()
	return eachChannel(to, from, func(_ int, dst, src signal) {
		spare := src.len() - dst.len()
		first := int(u * float64(spare+1))
		if a.Center {
			first = spare / 2
		}
		for i := range dst.len() {
			dst.set(i, src.at(first+i))
		}
	})
}

var _ = Register("time_crop", NewTimeCrop, TimeCropOptions{})
