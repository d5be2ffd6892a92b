// Package png makes PNG images one of the formats of package serialize that are
// written: one array becomes an image, or a grid of images.
package png

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var format = serialize.Format{Name: "png", Extensions: []string{".png"}, Single: true}

func init() {
	for _, t := range dtype.All() {
		if !t.IsComplex() {
			format.Types = append(format.Types, t)
		}
	}
	format.Save = save
	serialize.Register(format)
}

func save(w io.Writer, c serialize.Contents) error {
	e, err := format.Only(c)
	if err != nil {
		return err
	}
	return write(w, e.Array, c.Err)
}

// maxPixels limits an image, which is built in memory.
const maxPixels = 64 << 20

// A picture is a grid of images of one size, each rows × cols × channels.
type picture struct {
	count, rows, cols, channels int
	across                      int // images side by side
}

// pictureOf interprets the shape of an array:
//
//	(rows, cols)                          one grey image
//	(rows, cols, 3 or 4)                  one in colour
//	(count, rows, cols)                   a grid of grey images
//	(count, rows, cols, 1, 3 or 4)        a grid, channels last
//	(count, 1 or 3, rows, cols)           a grid, channels first
//
// and returns the view with axes count, rows, cols, channels.
func pictureOf(v views.View) (picture, views.View, error) {
	fail := func(reason string) (picture, views.View, error) {
		return picture{}, v, fmt.Errorf("png: shape %v %s", v.Shape, reason)
	}
	s := v.Shape
	switch colour := func(n int) bool { return n == 3 || n == 4 }; {
	case len(s) == 2:
		v = unsqueeze(unsqueeze(v, 0), 3)
	case len(s) == 3 && colour(s[2]) && s[1] > 4:
		v = unsqueeze(v, 0)
	case len(s) == 3:
		v = unsqueeze(v, 3)
	case len(s) == 4 && (colour(s[3]) || s[3] == 1):
	case len(s) == 4 && (s[1] == 1 || s[1] == 3):
		v, _ = v.Transpose(0, 2, 3, 1)
	default:
		return fail("is not an image; want rows and columns, optionally with channels last and a count first; select a part, as in [0]")
	}
	s = v.Shape
	if v.Len() == 0 {
		return fail("has no pixels")
	}
	if s[0] > maxPixels || s[1] > maxPixels || s[2] > maxPixels || s[0]*s[1] > maxPixels || s[0]*s[1]*s[2] > maxPixels {
		return fail(fmt.Sprintf("has more than %d pixels; select a part, as in [:100]", maxPixels))
	}
	across := int(math.Ceil(math.Sqrt(float64(s[0]))))
	return picture{s[0], s[1], s[2], s[3], across}, v, nil
}

func unsqueeze(v views.View, axis int) views.View {
	v, _ = v.Unsqueeze(axis) // the axis is one of v's
	return v
}

// Write writes a as an image, or as a grid of images with a gap of one pixel.
// Colours in bytes are pixel values, bools black and white, and floats from 0 to 1
// black to white. Other values are scaled from their minimum to their maximum: floats
// are a field in the colours of viridis, in which NaN is transparent.
// Integers of 16 bits and more make an image of 16 bits.
//
// An array of one axis, or of a few long columns or rows of numbers that are not bytes, is
// signals, which are drawn as curves.
func Write(w io.Writer, a storage.Array) error {
	return write(w, a, func() error { return nil })
}

// write is Write until stopped returns an error.
func write(w io.Writer, a storage.Array, stopped func() error) error {
	if a.Type.IsComplex() {
		return fmt.Errorf("png: %v cannot be drawn; want real numbers", a.Type)
	}
	if signals, ok := signalsOf(a); ok {
		return writeCurves(w, signals, stopped)
	}
	p, v, err := pictureOf(a.View)
	if err != nil {
		return err
	}
	scale, err := p.scaleOf(a)
	if err != nil {
		return err
	}
	down := (p.count + p.across - 1) / p.across
	gap := min(1, p.count-1)
	size := image.Rect(0, 0, p.across*(p.cols+gap)-gap, down*(p.rows+gap)-gap)
	field := p.channels == 1 && a.Type.IsFloat() && !scale.image
	canvas := p.canvas(size, field, a.Type.IsInt() && a.Type.Size() > 1)
	band := max(1, blocks.Size/8/(p.cols*p.channels)) // rows
	for k := range p.count {
		x, y := k%p.across*(p.cols+gap), k/p.across*(p.rows+gap)
		for row := 0; row < p.rows; row += band {
			elems, err := blocks.Read(a.With(v.Narrow(0, k, k+1).Narrow(1, row, min(row+band, p.rows))))
			if err == nil {
				err = stopped()
			}
			if err != nil {
				return err
			}
			if field {
				p.drawField(canvas.(*image.NRGBA), x, y+row, blocks.Float64s(a.Type, elems), scale)
				continue
			}
			p.draw(canvas, x, y+row, scale.levels(a.Type, elems))
		}
	}
	return png.Encode(w, canvas)
}

// canvas returns an image to draw on: of grey levels, unless there are colours, as of a field, or
// gaps, which are transparent.
func (p picture) canvas(size image.Rectangle, field, deep bool) draw.Image {
	switch grey := p.channels == 1 && p.count == 1 && !field; {
	case grey && deep:
		return image.NewGray16(size)
	case grey:
		return image.NewGray(size)
	case deep:
		return image.NewNRGBA64(size)
	}
	return image.NewNRGBA(size)
}

// draw sets the pixels of rows, whose upper left corner is at x, y.
func (p picture) draw(to draw.Image, x, y int, levels []uint16) {
	for row := range len(levels) / (p.cols * p.channels) {
		for col := range p.cols {
			from := levels[(row*p.cols+col)*p.channels:]
			pixel := color.NRGBA64{from[0], from[0], from[0], 0xffff}
			if p.channels >= 3 {
				pixel.G, pixel.B = from[1], from[2]
			}
			if p.channels == 4 {
				pixel.A = from[3]
			}
			switch to := to.(type) {
			case *image.NRGBA:
				to.SetNRGBA(x+col, y+row, color.NRGBA{uint8(pixel.R >> 8), uint8(pixel.G >> 8), uint8(pixel.B >> 8), uint8(pixel.A >> 8)})
			case *image.NRGBA64:
				to.SetNRGBA64(x+col, y+row, pixel)
			case *image.Gray:
				to.SetGray(x+col, y+row, color.Gray{uint8(pixel.R >> 8)})
			case *image.Gray16:
				to.SetGray16(x+col, y+row, color.Gray16{pixel.R})
			}
		}
	}
}

// A scale converts elements to levels from 0 to 65535. Images of 8 bits have the upper 8
// bits.
type scale struct {
	least, factor float64
	step          float64 // between levels
	image         bool    // floats are from 0 to 1, which images are
}

// scaleOf returns the scale for the elements of a.
func (p picture) scaleOf(a storage.Array) (scale, error) {
	least, most, image := 0.0, 1.0, true
	switch {
	case a.Type == dtype.Uint8 && p.channels >= 3:
		most = 255
	case a.Type != dtype.Bool:
		low, high, err := rangeOf(a)
		if err != nil {
			return scale{}, err
		}
		if !a.Type.IsFloat() || low < 0 || high > 1 {
			least, most, image = low, high, false
		}
	}
	s := scale{least: least, step: 257, image: image} // 8 bits: 255 becomes 65535
	if a.Type.IsInt() && a.Type.Size() > 1 {
		s.step = 1
	}
	if most > least {
		s.factor = 65535 / s.step / (most - least)
	}
	return s, nil
}

// levels returns the levels of elements of type t.
func (s scale) levels(t dtype.Type, elems []byte) []uint16 {
	out := make([]uint16, len(elems)/t.Size())
	for k, x := range blocks.Float64s(t, elems) {
		if !math.IsNaN(x) {
			out[k] = uint16(s.step * math.Round(min(65535/s.step, max(0, (x-s.least)*s.factor))))
		}
	}
	return out
}

// rangeOf returns the smallest and largest elements of a that are finite.
func rangeOf(a storage.Array) (low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for elements, err := range blocks.Elements(context.Background(), a, blocks.Size) {
		if err != nil {
			return 0, 0, err
		}
		for _, x := range blocks.Float64s(a.Type, elements) {
			if !math.IsNaN(x) && !math.IsInf(x, 0) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	return low, high, nil
}
