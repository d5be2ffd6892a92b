package augment

import (
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/tensor"
)

// ResizeOptions are the settings of a Resize.
type ResizeOptions struct {
	Size          nn.Sizes `json:"size"`                    // height and width of the result
	Interpolation string   `json:"interpolation,omitempty"` // bilinear, nearest, or area: the mean of all that a pixel covers; bilinear if empty. Masks are always nearest
}

// Resize changes the size of images.
type Resize struct {
	geometric
	ResizeOptions
}

// NewResize returns a change of size.
func NewResize(o ResizeOptions) *Resize {
	checkSizes("resize", o.Size)
	checkInterpolation("resize", o.Interpolation, "bilinear", "nearest", "area")
	if len(o.Size) == 0 {
		tensor.Fail("resize", nn.ErrConfig, "size: want the height and width of the result")
	}
	return &Resize{ResizeOptions: o}
}

// Output returns the fields with images of that size.
func (a *Resize) Output(fields []Field) ([]Field, error) { return moved(a, fields, a.Size) }

// Apply resizes a sample.
func (a *Resize) Apply(to, from Sample, _ *Random) error {
	in, out := frameOf(from.Fields), frameOf(to.Fields)
	m := move{forward: matrix{float64(out.width()) / float64(in.width()), 0, 0, 0, float64(out.height()) / float64(in.height()), 0}, borders: borders{border: "edge"}}
	if a.Interpolation != "area" {
		m.nearest = a.Interpolation == "nearest"
		return m.apply(to, from)
	}
	if err := m.apply(to, from); err != nil { // the images too, whose size boxes need
		return err
	}
	for i, f := range from.Fields {
		if f.Kind == Image && f.Type == dtype.Uint8 {
			area(to.Fields[i], to.Data[i], f, from.Data[i], func(v float64) uint8 { return uint8(v + 0.5) })
		} else if f.Kind == Image {
			area(to.Fields[i], dtype.Cast[float32](to.Data[i]), f, dtype.Cast[float32](from.Data[i]), func(v float64) float32 { return float32(v) })
		}
	}
	return nil
}

// area sets each pixel to the mean of the part of the image that it covers. Rows are averaged first.
func area[T uint8 | float32](out Field, dst []T, in Field, src []T, round func(float64) T) {
	to, from := out.image(), in.image()
	rows, columns := covers(int(from.H), int(to.H)), covers(int(from.W), int(to.W))
	line := make([]float64, from.W)
	for c := range to.C {
		for y, r := range rows {
			clear(line)
			for k, weight := range r.weights {
				row := src[c*from.Channel+int64(r.first+k)*from.Row:]
				for x := range line {
					line[x] += weight * float64(row[int64(x)*from.Pixel])
				}
			}
			for x, r := range columns {
				sum := 0.0
				for k, weight := range r.weights {
					sum += weight * line[r.first+k]
				}
				dst[c*to.Channel+int64(y)*to.Row+int64(x)*to.Pixel] = round(sum)
			}
		}
	}
}

// A cover is the part of each of some neighbouring pixels in the mean of what a pixel covers.
type cover struct {
	first   int
	weights []float64
}

// covers returns what each of n pixels covers of size pixels.
func covers(size, n int) []cover {
	all, step := make([]cover, n), float64(size)/float64(n)
	for i := range all {
		from, to := float64(i)*step, min(float64(i+1)*step, float64(size))
		all[i].first = min(int(from), size-1)
		for k := all[i].first; k < size && float64(k) < to; k++ {
			if w := min(to, float64(k+1)) - max(from, float64(k)); w > 1e-9 || len(all[i].weights) == 0 {
				all[i].weights = append(all[i].weights, w/step)
			}
		}
	}
	return all
}

// Fixed returns true.
func (a *Resize) Fixed() bool { return true }

var _ = Register("resize", NewResize, ResizeOptions{})
