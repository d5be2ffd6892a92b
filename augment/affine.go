package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// AffineOptions are the settings of an Affine. A random number of each range is drawn for each sample. The maps are made in the
// order of the settings: shear, scale and aspect, flips, angle, shift.
type AffineOptions struct {
	ShearX        Range    `json:"shear_x,omitempty"`           // pixels to the right for each pixel downwards; a number v is -v to v
	ShearY        Range    `json:"shear_y,omitempty"`           // pixels downwards for each pixel to the right
	Scale         Range    `json:"scale,omitempty"`             // of the image to the size that scale_mode says; a number v is 1-v to 1+v
	ScaleMode     string   `json:"scale_mode,omitempty"`        // shortest: the scale 1 fills the result and cuts the longer side; longest: it shows the whole image; shortest if empty
	Aspect        Range    `json:"aspect,omitempty"`            // factor of the ratio of width to height
	FlipX         float64  `json:"hflip,omitempty"`             // probability of a mirrored image
	FlipY         float64  `json:"vflip,omitempty"`             // probability of an image upside down
	Angle         Range    `json:"angle,omitempty"`             // in degrees, clockwise, around the center; a number v is -v to v
	ShiftX        Range    `json:"shift_x,omitempty"`           // to the right, of the largest distance at which the image, if it is larger than the result, still covers it, or else is inside: -1 to 1
	ShiftY        Range    `json:"shift_y,omitempty"`           // downwards, as shift_x
	TranslateX    Range    `json:"translate_x,omitempty"`       // to the right, as a part of the width of the result; a number v is -v to v
	TranslateY    Range    `json:"translate_y,omitempty"`       // downwards, as a part of the height
	Size          nn.Sizes `json:"size,omitempty"`              // height and width of the result; the size of the image if absent
	MaxSuper      int      `json:"max_supersampling,omitempty"` // at most as many samples, along both axes, are averaged for a pixel where the image is made smaller; 3 if 0
	Interpolation string   `json:"interpolation,omitempty"`     // bilinear or nearest; bilinear if empty. Masks are always nearest
	Border        Border   `json:"border,omitempty"`            // pixels outside of the image: constant, edge or reflect; constant if empty
	Fill          float64  `json:"fill,omitempty"`              // the constant
	P             float64  `json:"p"`                           // probability; 1 if absent
}

// Affine maps images with the parameters of augpy: it shears, scales, flips, rotates and shifts them.
type Affine struct {
	geometric
	chance
	AffineOptions
}

// NewAffine returns an affine map.
func NewAffine(o AffineOptions) *Affine {
	orDefault(&o.P, 1)
	return newAffine(o)
}

func newAffine(o AffineOptions) *Affine {
	const name = "affine"
	for _, g := range []struct {
		setting              string
		of                   Range
		neutral, least, most float64
	}{
		{"shear_x", o.ShearX, 0, -4, 4}, {"shear_y", o.ShearY, 0, -4, 4}, {"scale", o.Scale, 1, 1e-3, 1e3}, {"aspect", o.Aspect, 1, 0.01, 100},
		{"angle", o.Angle, 0, -360, 360}, {"shift_x", o.ShiftX, 0, -1, 1}, {"shift_y", o.ShiftY, 0, -1, 1},
		{"translate_x", o.TranslateX, 0, -4, 4}, {"translate_y", o.TranslateY, 0, -4, 4},
	} {
		g.of.check(name, g.setting, g.neutral, g.least, g.most)
	}
	checkProbability(name, o.P)
	checkProbability(name, o.FlipX)
	checkProbability(name, o.FlipY)
	checkSizes(name, o.Size)
	checkInterpolation(name, o.Interpolation, "bilinear", "nearest")
	borders{o.Border, o.Fill}.check(name)
	if o.ScaleMode != "" && o.ScaleMode != "shortest" && o.ScaleMode != "longest" {
		tensor.Fail(name, nn.ErrConfig, "scale_mode: no mode %q; want shortest or longest", o.ScaleMode)
	}
	if o.MaxSuper < 0 || o.MaxSuper > 16 {
		tensor.Fail(name, nn.ErrConfig, "max_supersampling: %d; want 1 to 16", o.MaxSuper)
	}
	return &Affine{chance: chance(o.P), AffineOptions: o}
}

// Output returns the fields with images of the size of the result.
func (a *Affine) Output(fields []Field) ([]Field, error) { return moved(a, fields, a.Size) }

// An affineMap is the numbers that were drawn for a sample.
type affineMap struct {
	shearX, shearY, scale, aspect, angle, shiftX, shiftY, translateX, translateY float64
	flipX, flipY, longest                                                        bool
}

// matrix returns the map of an image of w × h to a result of toW × toH.
func (a affineMap) matrix(w, h, toW, toH float64) matrix {
	fit := max(toW/w, toH/h)
	if a.longest {
		fit = min(toW/w, toH/h)
	}
	sx, sy := fit*a.scale*math.Sqrt(a.aspect), fit*a.scale/math.Sqrt(a.aspect)
	shiftX := a.shiftX*math.Abs(w*sx-toW)/2 + a.translateX*toW
	shiftY := a.shiftY*math.Abs(h*sy-toH)/2 + a.translateY*toH
	if a.flipX {
		sx = -sx
	}
	if a.flipY {
		sy = -sy
	}
	sin, cos := math.Sincos(a.angle * math.Pi / 180)
	return matrix{1, 0, -w / 2, 0, 1, -h / 2}.
		then(matrix{1, a.shearX, 0, a.shearY, 1, 0}).
		then(matrix{sx, 0, 0, 0, sy, 0}).
		then(matrix{cos, -sin, 0, sin, cos, 0}).
		then(matrix{1, 0, toW/2 + shiftX, 0, 1, toH/2 + shiftY})
}

// supersampling returns how many samples a pixel needs along both axes: the largest distance in the image of the
// centers of neighbouring pixels of the result, rounded up.
func supersampling(forward matrix, most int) int {
	back := forward.inverse()
	step := max(math.Hypot(back[0], back[3]), math.Hypot(back[1], back[4]))
	return min(max(1, int(math.Ceil(step-1e-6))), most)
}

// Apply maps a sample.
func (a *Affine) Apply(to, from Sample, r *Random) error {
	in, out := frameOf(from.Fields), frameOf(to.Fields)
	drawn := affineMap{
		shearX: a.ShearX.draw(r, 0), shearY: a.ShearY.draw(r, 0), scale: a.Scale.draw(r, 1), aspect: a.Aspect.draw(r, 1),
		flipX: r.Bool(a.FlipX), flipY: r.Bool(a.FlipY), angle: a.Angle.draw(r, 0),
		shiftX: a.ShiftX.draw(r, 0), shiftY: a.ShiftY.draw(r, 0), translateX: a.TranslateX.draw(r, 0), translateY: a.TranslateY.draw(r, 0),
		longest: a.ScaleMode == "longest",
	}
	forward := drawn.matrix(float64(in.width()), float64(in.height()), float64(out.width()), float64(out.height()))
	most := a.MaxSuper
	if most == 0 {
		most = 3
	}
	return move{forward, supersampling(forward, most), a.Interpolation == "nearest", borders{a.Border, a.Fill}}.apply(to, from)
}

// checkInterpolation fails for an unknown name.
func checkInterpolation(name, have string, known ...string) {
	for _, k := range append(known, "") {
		if have == k {
			return
		}
	}
	tensor.Fail(name, nn.ErrConfig, "interpolation: no %q; want one of %v", have, known)
}

var _ = Register("affine", newAffine, AffineOptions{P: 1})
