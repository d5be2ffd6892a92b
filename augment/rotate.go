package augment

// RotateOptions are the settings of a Rotate.
type RotateOptions struct {
	Angle  Range   `json:"angle"`            // in degrees, clockwise, around the center; a number v is -v to v
	Border Border  `json:"border,omitempty"` // pixels outside of the image: constant, edge or reflect; constant if empty
	Fill   float64 `json:"fill,omitempty"`   // the constant
	P      float64 `json:"p"`                // probability; 1 if absent
}

// Rotate rotates images by a random angle.
type Rotate struct {
	geometric
	chance
	RotateOptions
}

// NewRotate returns a rotation.
func NewRotate(o RotateOptions) *Rotate {
	orDefault(&o.P, 1)
	return newRotate(o)
}

func newRotate(o RotateOptions) *Rotate {
	o.Angle.check("rotate", "angle", 0, -360, 360)
	checkProbability("rotate", o.P)
	borders{o.Border, o.Fill}.check("rotate")
	return &Rotate{chance: chance(o.P), RotateOptions: o}
}

// Output returns the fields.
func (a *Rotate) Output(fields []Field) ([]Field, error) { return moved(a, fields, nil) }

// Apply rotates a sample.
func (a *Rotate) Apply(to, from Sample, r *Random) error {
	f := frameOf(from.Fields)
	w, h := float64(f.width()), float64(f.height())
	forward := affineMap{scale: 1, aspect: 1, angle: a.Angle.draw(r, 0)}.matrix(w, h, w, h)
	return move{forward: forward, borders: borders{a.Border, a.Fill}}.apply(to, from)
}

var _ = Register("rotate", newRotate, RotateOptions{P: 1})
