//go:build cgo

package main

import (
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
	"github.com/h5dnn/h5dnn/train"
)

// curvesName returns the name of the plot beside a run file.
func curvesName(run string) string {
	const longest = 255 // bytes of a name, in most file systems
	folder, name := filepath.Split(strings.TrimSuffix(run, filepath.Ext(run)))
	if len(name) > longest-len(".png") {
		name = strings.ToValidUTF8(name[:longest-len(".png")], "")
	}
	return folder + name + ".png"
}

// A panel is the plot of one metric in training and validation.
type panel struct{ figure, label string }

var panels = []panel{{"loss", "loss"}, {"accuracy", "accuracy"}}

var curveColors = []color.Color{color.RGBA{R: 31, G: 119, B: 180, A: 255}, color.RGBA{R: 214, G: 39, B: 40, A: 255}}

// The size of a panel, its legend above included.
const (
	panelWidth, panelHeight = 6 * vg.Inch, 4.5 * vg.Inch
	legendHeight            = 0.45 * vg.Inch
	curvesDPI               = 128
)

// plotCurves is drawCurves with an error instead of a panic, which package plot has for
// values that it has no scale for.
func plotCurves(name string, h train.History) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return drawCurves(name, h)
}

// drawCurves writes a plot of the training history, if it has an epoch.
func drawCurves(name string, h train.History) error {
	var row []*plot.Plot
	var legends []plot.Legend
	for _, p := range panels {
		if len(h[p.figure]) == 0 {
			continue
		}
		one, legend, err := p.plot(h)
		if err != nil {
			return err
		}
		row, legends = append(row, one), append(legends, legend)
	}
	if len(row) == 0 {
		return nil
	}
	canvas := vgimg.NewWith(vgimg.UseWH(vg.Length(len(row))*panelWidth, panelHeight), vgimg.UseDPI(curvesDPI))
	whole := draw.New(canvas)
	pad := vg.Points(8)
	tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: vg.Points(16), PadLeft: pad, PadRight: 2 * pad, PadTop: legendHeight + pad, PadBottom: pad}
	for i, c := range plot.Align([][]*plot.Plot{row}, tiles, whole)[0] {
		row[i].Draw(c)
		legends[i].Draw(draw.Crop(whole, c.Min.X-whole.Min.X, c.Max.X-whole.Max.X, whole.Max.Y-legendHeight-pad, -pad))
	}
	return atomicfile.Write(name, func(f *atomicfile.File) error {
		_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(f)
		return err
	})
}

// drawable reports whether a value can be on an axis: the search for ticks does not end if
// the difference of two values overflows, or the smallest step underflows.
func drawable(v float64) bool { return v == 0 || math.Abs(v) > 1e-100 && math.Abs(v) < 1e100 }

// plot returns the plot and its legend, which is drawn above it.
func (p panel) plot(h train.History) (*plot.Plot, plot.Legend, error) {
	out, legend := plot.New(), plot.NewLegend()
	legend.Top, legend.Left = true, false
	out.X.Label.Text, out.Y.Label.Text = "epoch", p.label
	out.Add(plotter.NewGrid())
	low, high, epochs := math.Inf(1), math.Inf(-1), 0
	for i, part := range []struct{ name, label string }{{p.figure, "training"}, {"val_" + p.figure, "validation"}} {
		var points plotter.XYs
		for k, v := range h[part.name] {
			if drawable(v) {
				points = append(points, plotter.XY{X: float64(k + 1), Y: v})
				low, high = min(low, v), max(high, v)
			}
		}
		epochs = max(epochs, len(h[part.name]))
		if len(points) == 0 {
			continue
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, legend, err
		}
		line.Width = vg.Points(1.5)
		line.Color, dots.Color, dots.Shape, dots.Radius = curveColors[i], curveColors[i], draw.CircleGlyph{}, vg.Points(2)
		out.Add(line, dots)
		legend.Add(part.label, line)
	}
	out.X.Min, out.X.Max, out.X.Tick.Marker = 1, float64(max(2, epochs)), roundTicks{whole: true}
	switch {
	case !(low <= high): // no finite value
		out.Y.Min, out.Y.Max = 0, 1
	case p.figure == "loss" && low > 0 && high >= 10*low:
		out.Y.Scale, out.Y.Tick.Marker = plot.LogScale{}, logTicks{}
		out.Y.Min, out.Y.Max = low/1.1, high*1.1
	default:
		out.Y.Tick.Marker = roundTicks{}
		gap := 0.05 * (high - low)
		if gap <= 1e-9*math.Abs(high) {
			gap = max(math.Abs(high)/10, 1e-6)
		}
		out.Y.Min, out.Y.Max = low-gap, high+gap
	}
	if !(low <= high) {
		out.Y.Tick.Marker = roundTicks{}
	}
	return out, legend, nil
}

// roundTicks are ticks at multiples of 1, 2 or 5 times a power of ten.
type roundTicks struct{ whole bool } // integers only

// Ticks implements plot.Ticker.
func (r roundTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	const most = 8
	step := math.Pow(10, math.Floor(math.Log10((high-low)/most)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if (high-low)/(step*factor) <= most {
			step *= factor
			break
		}
	}
	if r.whole {
		step = max(1, step)
	}
	digits := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	first := math.Ceil(low/step - 1e-9)
	for n := range 2 * most { // of a range too small for its numbers, not all are different
		k := first + float64(n)
		if k*step > high+1e-9*step {
			break
		}
		format := byte('f')
		if step >= 1e6 {
			format, digits = 'g', -1
		}
		ticks = append(ticks, plot.Tick{Value: k * step, Label: strconv.FormatFloat(k*step, format, digits, 64)})
	}
	return ticks
}

// logTicks are ticks at 1, 2 and 5 times powers of ten, labelled where they are few, and at
// the powers alone elsewhere.
type logTicks struct{}

// Ticks implements plot.Ticker.
func (logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	decades := math.Log10(high / low)
	every := max(1, int(math.Ceil(decades/8)))
	for exponent := int(math.Floor(math.Log10(low))); exponent <= int(math.Ceil(math.Log10(high))); exponent++ {
		for _, factor := range []float64{1, 2, 5} {
			value := factor * math.Pow(10, float64(exponent))
			if value < low || value > high {
				continue
			}
			tick := plot.Tick{Value: value}
			if factor == 1 && exponent%every == 0 || decades < 2.5 {
				tick.Label = strconv.FormatFloat(value, 'g', 3, 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
