// Package png makes PNG images one of the formats of package serialize that are
// written: one array becomes an image, or a grid of images.
package png

import (
	"context"
	"fmt"
	"image"
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
	return Write(w, e.Array)
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
// Bytes are pixel values, bools black and white, and floats from 0 to 1 black to
// white. Other values are scaled from their minimum to their maximum.
func Write(w io.Writer, a storage.Array) error {
	p, v, err := pictureOf(a.View)
	if err != nil {
		return err
	}
	if a.Type.IsComplex() {
		return fmt.Errorf("png: %v cannot be drawn; want real numbers", a.Type)
	}
	level, err := levels(a)
	if err != nil {
		return err
	}
	down := (p.count + p.across - 1) / p.across
	gap := min(1, p.count-1)
	canvas := image.NewNRGBA(image.Rect(0, 0, p.across*(p.cols+gap)-gap, down*(p.rows+gap)-gap))
	for k := range p.count {
		elems, err := blocks.Read(a.With(blocks.Between(v, 0, k, k+1)))
		if err != nil {
			return err
		}
		x, y := k%p.across*(p.cols+gap), k/p.across*(p.rows+gap)
		p.draw(canvas.SubImage(image.Rect(x, y, x+p.cols, y+p.rows)).(*image.NRGBA), level(elems))
	}
	return png.Encode(w, canvas)
}

// draw sets the pixels of an image.
func (p picture) draw(to *image.NRGBA, levels []uint8) {
	for row := range p.rows {
		line := to.Pix[row*to.Stride:]
		for col := range p.cols {
			pixel, from := line[4*col:4*col+4], levels[(row*p.cols+col)*p.channels:]
			copy(pixel, []uint8{from[0], from[0], from[0], 255})
			if p.channels >= 3 {
				copy(pixel, from[:p.channels])
			}
		}
	}
}

// levels returns the function that converts elements of a to pixel values.
func levels(a storage.Array) (func([]byte) []uint8, error) {
	least, most := 0.0, 1.0
	switch {
	case a.Type == dtype.Uint8:
		return func(elems []byte) []uint8 { return elems }, nil
	case a.Type != dtype.Bool:
		low, high, err := rangeOf(a)
		if err != nil {
			return nil, err
		}
		if !a.Type.IsFloat() || low < 0 || high > 1 {
			least, most = low, high
		}
	}
	scale := 255 / (most - least)
	if !(most > least) {
		scale = 0
	}
	return func(elems []byte) []uint8 {
		out := make([]uint8, len(elems)/a.Type.Size())
		for k, x := range blocks.Float64s(a.Type, elems) {
			if !math.IsNaN(x) {
				out[k] = uint8(math.Round(min(255, max(0, (x-least)*scale))))
			}
		}
		return out
	}, nil
}

// rangeOf returns the smallest and largest elements of a that are not NaN.
func rangeOf(a storage.Array) (low, high float64, err error) {
	low, high = math.Inf(1), math.Inf(-1)
	for elements, err := range blocks.Elements(context.Background(), a, blocks.Size) {
		if err != nil {
			return 0, 0, err
		}
		for _, x := range blocks.Float64s(a.Type, elements) {
			if !math.IsNaN(x) {
				low, high = min(low, x), max(high, x)
			}
		}
	}
	return low, high, nil
}
