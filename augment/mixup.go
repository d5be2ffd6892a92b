package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/dtype"
)

// Mixup makes each image and label the weighted mean of two (arXiv:1710.09412).
type Mixup struct{ MixOptions }

// NewMixup returns a mixup.
func NewMixup(o MixOptions) *Mixup { return newMixup(o.withDefaults()) }

func newMixup(o MixOptions) *Mixup {
	o.check("mixup")
	return &Mixup{o}
}

// Changes reports whether k is mixed.
func (*Mixup) Changes(k Kind) bool { return k == Image || k == Signal || k == Label }

// Output returns the fields, with labels that are probabilities.
func (a *Mixup) Output(fields []Field) ([]Field, error) { return a.soft(a, fields) }

// Apply is not called.
func (*Mixup) Apply(Sample, Sample, *Random) error { return nil }

// Mix mixes two samples. Bytes are rounded.
func (a *Mixup) Mix(to, from, other Sample, r *Random) error {
	part := 1.0
	if r.Bool(a.P) {
		part = math.Round(r.Beta(a.Alpha)*(1<<16)) / (1 << 16)
	}
	whole := uint32(part * (1 << 16))
	for i, f := range from.Fields {
		dst, x, y := to.Data[i], from.Data[i], other.Data[i]
		switch {
		case f.Kind == Label:
			if err := mixLabels(to.Fields[i], dst, f, x, y, part); err != nil {
				return err
			}
		case f.Kind != Image && f.Kind != Signal:
		case f.Type == dtype.Uint8:
			for k := range dst {
				dst[k] = uint8((uint32(x[k])*whole + uint32(y[k])*(1<<16-whole) + 1<<15) >> 16)
			}
		case f.Type == dtype.Float64:
			mean(dtype.Cast[float64](dst), dtype.Cast[float64](x), dtype.Cast[float64](y), part)
		default:
			mean(dtype.Cast[float32](dst), dtype.Cast[float32](x), dtype.Cast[float32](y), part)
		}
	}
	return nil
}

func mean[T float32 | float64](dst, x, y []T, part float64) {
	for k := range dst {
		dst[k] = T(part*float64(x[k]) + (1-part)*float64(y[k]))
	}
}

var _ = Register("mixup", newMixup, MixOptions{Alpha: 1, P: 1})
