package augment

import "github.com/h5dnn/h5dnn/nn"

// PadOptions are the settings of a Pad.
type PadOptions struct {
	Padding nn.Sizes `json:"padding"`          // pixels that are added to each side: rows and columns
	Border  Border   `json:"border,omitempty"` // new pixels: constant, edge or reflect; constant if empty
	Fill    float64  `json:"fill,omitempty"`   // the constant
}

// Pad adds pixels around images.
type Pad struct {
	geometric
	PadOptions
}

// NewPad returns a padding.
func NewPad(o PadOptions) *Pad {
	checkSizes("pad", o.Padding)
	borders{o.Border, o.Fill}.check("pad")
	return &Pad{PadOptions: o}
}

// Output returns the fields with larger images.
func (a *Pad) Output(fields []Field) ([]Field, error) {
	rows, columns := pair(a.Padding)
	frame := frameOf(fields)
	if frame.Shape == nil {
		return moved(a, fields, nil)
	}
	return moved(a, fields, []int{frame.height() + 2*rows, frame.width() + 2*columns})
}

// Apply pads a sample.
func (a *Pad) Apply(to, from Sample, _ *Random) error {
	rows, columns := pair(a.Padding)
	return move{forward: matrix{1, 0, float64(columns), 0, 1, float64(rows)}, borders: borders{a.Border, a.Fill}}.apply(to, from)
}

// Fixed returns true.
func (a *Pad) Fixed() bool { return true }

var _ = Register("pad", NewPad, PadOptions{})
