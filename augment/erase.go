package augment

import (
	"math"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// EraseOptions are the settings of an Erase.
type EraseOptions struct {
	Count int     `json:"count,omitempty"` // rectangles; 1 if 0
	Size  int     `json:"size,omitempty"`  // side of a square, whose center is anywhere in the image, as in cutout; by area and ratio if 0
	Area  Range   `json:"area,omitempty"`  // as a part of the image; [0.02, 0.33] if absent
	Ratio Range   `json:"ratio,omitempty"` // of height to width, drawn by its logarithm; [0.3, 3.3] if absent
	Fill  float64 `json:"fill,omitempty"`  // what the pixels become
	P     float64 `json:"p"`               // probability; 0.5 if absent
}

// Erase overwrites rectangles of images: random erasing (arXiv:1708.04896), or with a size cutout (arXiv:1708.04552).
type Erase struct {
	only
	chance
	EraseOptions
}

// NewErase returns an erasing.
func NewErase(o EraseOptions) *Erase {
	orDefault(&o.P, 0.5)
	return newErase(o)
}

func newErase(o EraseOptions) *Erase {
	if o.Count == 0 {
		o.Count = 1
	}
	if o.Count < 0 || o.Size < 0 {
		tensor.Fail("erase", nn.ErrConfig, "count %d, size %d; want positive numbers", o.Count, o.Size)
	}
	if len(o.Area) == 0 {
		o.Area = Range{0.02, 0.33}
	}
	if len(o.Ratio) == 0 {
		o.Ratio = Range{0.3, 3.3}
	}
	o.Area.check("erase", "area", 0, 0, 1)
	o.Ratio.check("erase", "ratio", 1, 1e-3, 1e3)
	checkProbability("erase", o.P)
	return &Erase{only(Image), chance(o.P), o}
}

// rectangle returns the rows and columns of a random rectangle in an image of h × w.
func (a *Erase) rectangle(h, w int, r *Random) (y0, y1, x0, x1 int) {
	if a.Size > 0 {
		y, x := r.Intn(h)-a.Size/2, r.Intn(w)-a.Size/2
		return max(0, y), min(h, y+a.Size), max(0, x), min(w, x+a.Size)
	}
	area := a.Area.draw(r, 0) * float64(h*w)
	low, high := a.Ratio.bounds(1)
	ratio := math.Exp(r.Uniform(math.Log(low), math.Log(high)))
	rows, columns := min(h, int(math.Round(math.Sqrt(area*ratio)))), min(w, int(math.Round(math.Sqrt(area/ratio))))
	y, x := r.Intn(h-rows+1), r.Intn(w-columns+1)
	return y, y + rows, x, x + columns
}

// Apply erases parts of a sample.
func (a *Erase) Apply(to, from Sample, r *Random) error {
	frame := frameOf(from.Fields)
	type rectangle struct{ y0, y1, x0, x1 int }
	all := make([]rectangle, a.Count)
	for i := range all {
		y0, y1, x0, x1 := a.rectangle(frame.height(), frame.width(), r)
		all[i] = rectangle{y0, y1, x0, x1}
	}
	return each(Image, to, from, func(f Field, data []byte) {
		fill := move{borders: borders{fill: a.Fill}}.filling(f)
		for _, e := range all {
			eachRun(f, e.y0, e.y1, e.x0, e.x1, func(at, n int) { fillWith(data[at:at+n], fill) })
		}
	})
}

// eachRun calls do for the bytes of each run of pixels in a rectangle of an image.
func eachRun(f Field, y0, y1, x0, x1 int, do func(at, n int)) {
	g, size := f.image(), f.Type.Size()
	channels := int(g.C)
	if g.Pixel > 1 {
		channels = 1
	}
	for c := range channels {
		for y := y0; y < y1; y++ {
			if n := (x1 - x0) * int(g.Pixel) * size; n > 0 {
				do((c*int(g.Channel)+y*int(g.Row)+x0*int(g.Pixel))*size, n)
			}
		}
	}
}

var _ = Register("erase", newErase, EraseOptions{P: 0.5})
