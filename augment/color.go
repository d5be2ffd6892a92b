package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/kernels/native/images"
)

// ColorOptions are the settings of a Color.
type ColorOptions struct {
	Brightness Range   `json:"brightness,omitempty"` // factor of all numbers; a number v is 1-v to 1+v
	Contrast   Range   `json:"contrast,omitempty"`   // factor of the difference to the mean of the grey image
	Saturation Range   `json:"saturation,omitempty"` // factor of the difference to the grey image
	Hue        Range   `json:"hue,omitempty"`        // part of the circle of hues, -0.5 to 0.5; a number v is -v to v
	Max        float64 `json:"max,omitempty"`        // the largest number of float images, which have 0 to max; 1 if 0
	P          float64 `json:"p"`                    // probability; 1 if absent
}

// Color changes brightness, contrast, saturation and hue by random factors, in a random order, as torchvision's ColorJitter
// does. Images of one channel have no saturation and hue.
type Color struct {
	only
	chance
	ColorOptions
}

// NewColor returns a change of colors.
func NewColor(o ColorOptions) *Color {
	orDefault(&o.P, 1)
	return newColor(o)
}

func newColor(o ColorOptions) *Color {
	const name, most = "color", 16
	o.Brightness.check(name, "brightness", 1, 0, most)
	o.Contrast.check(name, "contrast", 1, 0, most)
	o.Saturation.check(name, "saturation", 1, 0, most)
	o.Hue.check(name, "hue", 0, -0.5, 0.5)
	checkProbability(name, o.P)
	checkMax(name, &o.Max)
	return &Color{only(Image), chance(o.P), o}
}

// Apply changes the colors of a sample.
func (a *Color) Apply(to, from Sample, r *Random) error {
	if err := checkPixels(from, a.Max); err != nil {
		return err
	}
	type change struct {
		what   images.ColorChange
		factor int64
	}
	var changes []change
	for _, c := range []struct {
		what          images.ColorChange
		of            Range
		neutral, unit float64
	}{{images.Brightness, a.Brightness, 1, 1 << 16}, {images.Contrast, a.Contrast, 1, 1 << 16}, {images.Saturation, a.Saturation, 1, 1 << 16}, {images.Hue, a.Hue, 0, 6 << 12}} {
		if v := c.of.draw(r, c.neutral); len(c.of) > 0 {
			changes = append(changes, change{c.what, int64(math.Round(v * c.unit))})
		}
	}
	for i := range changes {
		k := i + r.Intn(len(changes)-i)
		changes[i], changes[k] = changes[k], changes[i]
	}
	return each(Image, to, from, func(f Field, data []byte) {
		g := f.image()
		colors := images.Colors{C: g.C, N: g.H * g.W, Channel: g.Channel, Pixel: g.Pixel, Max: a.Max}
		for _, c := range changes {
			if g.C == 3 || c.what == images.Brightness || c.what == images.Contrast {
				colors.Change(f.pixelType(), c.what, data, c.factor)
			}
		}
	})
}

var _ = Register("color", newColor, ColorOptions{P: 1})
