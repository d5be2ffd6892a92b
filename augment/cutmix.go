package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/config"
)

// Cutmix overwrites a rectangle of each image by that part of another, and mixes their labels by the areas
// (arXiv:1905.04899).
type Cutmix struct{ MixOptions }

// NewCutmix returns a cutmix.
func NewCutmix(o MixOptions) *Cutmix { return newCutmix(o.withDefaults()) }

func newCutmix(o MixOptions) *Cutmix {
	o.check("cutmix")
	return &Cutmix{o}
}

// Changes reports whether k is mixed.
func (*Cutmix) Changes(k Kind) bool { return k == Image || k == Label }

// Output returns the fields, with labels that are probabilities.
func (a *Cutmix) Output(fields []Field) ([]Field, error) {
	if frameOf(fields).Shape == nil {
		return nil, config.Errorf("cutmix: no image among %v; mixup mixes signals", namesOf(fields))
	}
	return a.soft(a, fields)
}

// Apply is not called.
func (*Cutmix) Apply(Sample, Sample, *Random) error { return nil }

// Mix mixes two samples.
func (a *Cutmix) Mix(to, from, other Sample, r *Random) error {
	frame := frameOf(from.Fields)
	h, w := frame.height(), frame.width()
	y0, y1, x0, x1 := 0, 0, 0, 0
	if r.Bool(a.P) {
		side := math.Sqrt(1 - r.Beta(a.Alpha))
		rows, columns := int(side*float64(h)), int(side*float64(w))
		y, x := r.Intn(h), r.Intn(w)
		y0, y1, x0, x1 = max(0, y-rows/2), min(h, y-rows/2+rows), max(0, x-columns/2), min(w, x-columns/2+columns)
	}
	part := 1 - float64((y1-y0)*(x1-x0))/float64(h*w)
	for i, f := range from.Fields {
		switch f.Kind {
		case Label:
			if err := mixLabels(to.Fields[i], to.Data[i], f, from.Data[i], other.Data[i], part); err != nil {
				return err
			}
		case Image:
			copy(to.Data[i], from.Data[i])
			eachRun(f, y0, y1, x0, x1, func(at, n int) { copy(to.Data[i][at:at+n], other.Data[i][at:]) })
		}
	}
	return nil
}

var _ = Register("cutmix", newCutmix, MixOptions{Alpha: 1, P: 1})
