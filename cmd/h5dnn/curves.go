//go:build cgo

package main

import (
	"image/color"
	"os"
	"path/filepath"
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
func curvesName(run string) string { return strings.TrimSuffix(run, filepath.Ext(run)) + ".png" }

// A panel is the plot of one metric in training and validation.
type panel struct{ figure, label string }

var panels = []panel{{"loss", "loss"}, {"accuracy", "accuracy"}}

var curveColors = []color.Color{color.RGBA{R: 31, G: 119, B: 180, A: 255}, color.RGBA{R: 214, G: 39, B: 40, A: 255}}

// drawCurves writes a plot of the training history, if it has an epoch.
func drawCurves(name string, h train.History) error {
	var row []*plot.Plot
	for _, p := range panels {
		if len(h[p.figure]) == 0 {
			continue
		}
		one, err := p.plot(h)
		if err != nil {
			return err
		}
		row = append(row, one)
	}
	if len(row) == 0 {
		return nil
	}
	const width, height = 4.5 * vg.Inch, 3.5 * vg.Inch
	canvas := vgimg.New(vg.Length(len(row))*width, height)
	tiles := draw.Tiles{Rows: 1, Cols: len(row), PadX: vg.Points(10), PadLeft: vg.Points(6), PadRight: vg.Points(6), PadTop: vg.Points(6), PadBottom: vg.Points(6)}
	for i, c := range plot.Align([][]*plot.Plot{row}, tiles, draw.New(canvas))[0] {
		row[i].Draw(c)
	}
	return atomicfile.Write(name, func(f *os.File) error {
		_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(f)
		return err
	})
}

func (p panel) plot(h train.History) (*plot.Plot, error) {
	out := plot.New()
	out.X.Label.Text, out.Y.Label.Text = "epoch", p.label
	out.Add(plotter.NewGrid())
	for i, part := range []struct{ name, label string }{{p.figure, "training"}, {"val_" + p.figure, "validation"}} {
		values := h[part.name]
		if len(values) == 0 {
			continue
		}
		points := make(plotter.XYs, len(values))
		for k, v := range values {
			points[k] = plotter.XY{X: float64(k + 1), Y: v}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, err
		}
		line.Color, dots.Color, dots.Shape, dots.Radius = curveColors[i], curveColors[i], draw.CircleGlyph{}, vg.Points(2)
		out.Add(line, dots)
		out.Legend.Add(part.label, line)
	}
	out.Legend.Top = p.figure == "loss"
	return out, nil
}
