package train

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"github.com/h5dnn/h5dnn/augment"
	"github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train/report"
)

// PreviewOptions say which samples Preview draws.
type PreviewOptions struct {
	Epoch int // from 0
	Count int // of samples; 16 if 0
}

// A Preview is samples as training sees them.
type Preview struct {
	Rows          []int    // of the samples to train on
	Labels        []string // of the samples, as far as they have labels
	Fields        []dataset.Field
	Columns       int         // of the grid
	Picture       image.Image // a grid of the samples, with their labels
	Augmentations []string    // their names
}

// NewPreview draws the first samples of an epoch of c, augmented. It computes nothing else of a run.
func NewPreview(ctx context.Context, c Config, data *Data, o PreviewOptions) (*Preview, error) {
	o.Count = min(cmp.Or(o.Count, 16), data.Train.Len())
	if o.Count < 1 || o.Epoch < 0 {
		return nil, fmt.Errorf("preview: %d samples of epoch %d; want at least one, and epochs from 0: %w", o.Count, o.Epoch, storage.ErrState)
	}
	p := &Preview{Columns: int(math.Ceil(math.Sqrt(float64(o.Count))))}
	loading, err := p.loading(ctx, &c, data)
	if err != nil {
		return nil, err
	}
	loader, err := dataset.NewLoader(data.Train, loading)
	if err != nil {
		return nil, err
	}
	p.Fields = loader.Fields()
	var cells []*image.NRGBA
	for b, err := range loader.Epoch(ctx, o.Epoch, 0) {
		if err != nil {
			return nil, err
		}
		for i, row := range b.Rows {
			s := sampleOf{c, data, p.Fields, b, i}
			cell, err := s.picture()
			if err != nil {
				return nil, err
			}
			p.Rows, p.Labels, cells = append(p.Rows, row), append(p.Labels, s.label()), append(cells, cell)
			if len(cells) == o.Count {
				p.Picture = grid(cells, p.Labels, p.Columns)
				return p, nil
			}
		}
	}
	p.Picture = grid(cells, p.Labels, p.Columns)
	return p, nil
}

// loading returns how the samples are loaded, and sets the layout of images in c as far as data tells it.
func (p *Preview) loading(ctx context.Context, c *Config, data *Data) (o dataset.Options, err error) {
	for _, f := range data.Train.Fields() {
		if f.Role == dataset.Input && len(f.Shape) == 3 && c.Data.Layout == "" && (data.Layouts[f.Name] == "nhwc" || data.Layouts[f.Name] == "" && looksChannelsLast(f.Shape)) {
			c.Data.Layout = "nhwc"
		}
	}
	o = c.loading()
	if len(c.Augment) == 0 {
		return o, nil
	}
	classes := map[string]int{}
	for i, name := range c.Data.TargetNames() {
		if names := len(data.ClassNames[name]); names > 0 || !c.takesLabels(name) || i > 0 {
			classes[name] = names
			continue
		}
		if classes[name], _, err = outputSize(ctx, data, *c); err != nil {
			return o, err
		}
	}
	o.Stage, err = c.chain(classes)
	for _, d := range c.Augment {
		a, err := augment.FromConfig(d)
		if err != nil {
			return o, err
		}
		p.Augmentations = append(p.Augmentations, augment.Name(a))
	}
	return o, err
}

// A sampleOf is a sample of a batch.
type sampleOf struct {
	c      Config
	data   *Data
	fields []dataset.Field
	batch  *dataset.Batch
	i      int
}

func (s sampleOf) values(field int) ([]float64, error) {
	return storage.Read[float64](rows(s.batch.Fields[field], s.i, s.i+1))
}

// label returns the label of a sample: the name of its class, or the probabilities of its classes.
func (s sampleOf) label() string {
	for k, f := range s.fields {
		if f.Role != dataset.Target || s.c.AugmentFields[f.Name] != "" && s.c.AugmentFields[f.Name] != augment.Label {
			continue
		}
		values, err := s.values(k)
		if err != nil || len(values) == 0 {
			continue
		}
		name := func(class int) string {
			if names := s.data.ClassNames[f.Name]; class >= 0 && class < len(names) {
				return names[class]
			}
			return fmt.Sprint(class)
		}
		switch {
		case len(values) == 1 && f.Type.IsInt():
			return name(int(values[0]))
		case len(values) == 1:
			return fmt.Sprintf("%.4g", values[0])
		case f.Type.IsFloat() && s.c.takesLabels(f.Name):
			var parts []string
			for class, p := range values {
				if p == 1 {
					return name(class)
				}
				if p > 0 {
					parts = append(parts, fmt.Sprintf("%s %.2g", name(class), p))
				}
			}
			return strings.Join(parts, ", ")
		}
	}
	return ""
}

// leastCell is the least width and height of a drawn sample, in pixels.
const leastCell = 112

// picture draws the first input of a sample, and what moves with it.
func (s sampleOf) picture() (*image.NRGBA, error) {
	k := slices.IndexFunc(s.fields, func(f dataset.Field) bool { return f.Role == dataset.Input })
	if k < 0 {
		return nil, fmt.Errorf("preview: no inputs among %v: %w", s.fields, storage.ErrState)
	}
	values, err := s.values(k)
	if err != nil {
		return nil, err
	}
	shape := s.fields[k].Shape
	small := report.Picture(values, shape)
	if s.fields[k].Type == dtype.Uint8 {
		small = report.PictureBetween(0, 255, values, shape)
	}
	if small == nil {
		return curves(values, shape), nil
	}
	factor := max(1, (leastCell+small.Rect.Dx()-1)/small.Rect.Dx())
	m := image.NewNRGBA(image.Rect(0, 0, small.Rect.Dx()*factor, small.Rect.Dy()*factor))
	for y := range m.Rect.Dy() {
		for x := range m.Rect.Dx() {
			m.SetNRGBA(x, y, small.NRGBAAt(x/factor, y/factor))
		}
	}
	for k, f := range s.fields {
		if kind := s.c.AugmentFields[f.Name]; kind == augment.Mask || kind == augment.Boxes || kind == augment.Points {
			values, err := s.values(k)
			if err != nil {
				return nil, err
			}
			drawPlaces(m, kind, values, small.Rect.Dx(), factor)
		}
	}
	return m, nil
}

// hues are the colors of masks, boxes, points and curves, by number.
var hues = []color.NRGBA{{230, 60, 60, 255}, {60, 180, 75, 255}, {0, 130, 220, 255}, {245, 160, 40, 255}, {145, 60, 180, 255}, {70, 210, 220, 255}}

// drawPlaces draws masks, boxes or points over an image whose pixels are factor wide; the mask is width wide.
func drawPlaces(m *image.NRGBA, kind augment.Kind, values []float64, width, factor int) {
	at := func(v float64) int { return int(math.Round(min(max(v, -1e6), 1e6) * float64(factor))) }
	switch kind {
	case augment.Mask:
		for k, v := range values {
			if v != 0 {
				h := hues[(max(int(v), 1)-1)%len(hues)]
				h.A = 110
				x, y := k%width*factor, k/width*factor
				draw.Draw(m, image.Rect(x, y, x+factor, y+factor), image.NewUniform(h), image.Point{}, draw.Over)
			}
		}
	case augment.Boxes:
		for i := 0; i+3 < len(values); i += 4 {
			if x0, y0, x1, y1 := at(values[i]), at(values[i+1]), at(values[i+2]), at(values[i+3]); x1 > x0 && y1 > y0 {
				line := image.NewUniform(hues[i/4%len(hues)])
				for _, r := range []image.Rectangle{image.Rect(x0, y0, x1, y0+2), image.Rect(x0, y1-2, x1, y1), image.Rect(x0, y0, x0+2, y1), image.Rect(x1-2, y0, x1, y1)} {
					draw.Draw(m, r, line, image.Point{}, draw.Src)
				}
			}
		}
	case augment.Points:
		for i := 0; i+1 < len(values); i += 2 {
			x, y := at(values[i]), at(values[i+1])
			line := image.NewUniform(hues[i/2%len(hues)])
			draw.Draw(m, image.Rect(x-4, y-1, x+5, y+1), line, image.Point{}, draw.Src)
			draw.Draw(m, image.Rect(x-1, y-4, x+1, y+5), line, image.Point{}, draw.Src)
		}
	}
}

// curves draws what is no image: a line for each channel, of the last axis.
func curves(values []float64, shape []int) *image.NRGBA {
	const width, height = 2 * leastCell, leastCell
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	draw.Draw(m, m.Rect, image.White, image.Point{}, draw.Src)
	if len(values) == 0 || len(shape) == 0 {
		return m
	}
	n := shape[len(shape)-1]
	low, high := slices.Min(values), slices.Max(values)
	for c := 0; c < len(values)/max(1, n) && n > 0; c++ {
		h, last := hues[c%len(hues)], 0
		for x := range width {
			v := values[c*n+min(n-1, x*n/width)]
			y := int(float64(height-3) * (high - v) / max(high-low, math.SmallestNonzeroFloat64))
			if x == 0 {
				last = y
			}
			draw.Draw(m, image.Rect(x, min(y, last), x+1, max(y, last)+1), image.NewUniform(h), image.Point{}, draw.Src)
			last = y
		}
	}
	return m
}

// grid draws cells in rows of columns, with a label below each.
func grid(cells []*image.NRGBA, labels []string, columns int) image.Image {
	const gap, text = 6, 15
	w, h := 0, 0
	for _, c := range cells {
		w, h = max(w, c.Rect.Dx()), max(h, c.Rect.Dy())
	}
	count := (len(cells) + columns - 1) / columns
	m := image.NewNRGBA(image.Rect(0, 0, columns*(w+gap)+gap, count*(h+text+gap)+gap))
	draw.Draw(m, m.Rect, image.White, image.Point{}, draw.Src)
	for i, c := range cells {
		x, y := gap+i%columns*(w+gap), gap+i/columns*(h+text+gap)
		draw.Draw(m, image.Rect(x, y, x+c.Rect.Dx(), y+c.Rect.Dy()), c, image.Point{}, draw.Src)
		label := []rune(labels[i])
		if most := w / basicfont.Face7x13.Advance; len(label) > most {
			label = append(label[:max(0, most-1)], '…')
		}
		d := font.Drawer{Dst: m, Src: image.Black, Face: basicfont.Face7x13, Dot: fixed.P(x, y+h+text-3)}
		d.DrawString(string(label))
	}
	return m
}
