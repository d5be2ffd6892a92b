// Package report writes a page about a training run: one HTML file without references to others.
package report

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/png"
	"io"
	"math"
	"slices"
	"time"
)

// A Report is what the page shows. What is empty is left out.
type Report struct {
	Title    string
	Facts    []Fact // below the title
	Curves   []Curve
	Classes  []string    // names of the rows and columns of Matrix
	Matrix   [][]float64 // samples by label and predicted class
	Worst    []Sample    // the largest loss first
	Times    []Time      // what the work was, the longest first
	Settings string      // the configuration, as text
	Missing  []string    // what the page lacks, and why
}

// A Fact is a number or a text with its name.
type Fact struct{ Name, Value string }

// A Curve is a panel of numbers of each epoch.
type Curve struct {
	Name   string
	Series []Series
}

// A Series is the numbers of all epochs, from the first.
type Series struct {
	Name   string
	Values []float64
}

// A Sample is a sample with its loss.
type Sample struct {
	Number            int // in the data, from 0
	Loss              float64
	Target, Predicted string
	Picture           *image.NRGBA // of its input; nil if that is no picture
	Numbers           []float64    // of the input otherwise, the first of them
}

// A Time is how long a kind of work took, in all threads.
type Time struct {
	Name string
	Took time.Duration
}

//go:embed page.html page.css page.js
var files embed.FS

var page = template.Must(template.New("page.html").Funcs(template.FuncMap{
	"css": func() (template.CSS, error) { b, err := files.ReadFile("page.css"); return template.CSS(b), err },
	"js":  func() (template.JS, error) { b, err := files.ReadFile("page.js"); return template.JS(b), err },
	"png": picture, "curves": finiteCurves, "share": share, "heat": heat,
	"number":  func(x float64) string { return fmt.Sprintf("%.4g", x) },
	"seconds": func(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) },
}).ParseFS(files, "page.html"))

// Write writes the page.
func Write(w io.Writer, r Report) error { return page.Execute(w, r) }

// Picture returns the elements of an image of that shape, grey or RGB, channels first or last, between the smallest and the
// largest of them; nil of other shapes.
func Picture(values []float64, shape []int) *image.NRGBA {
	if len(values) == 0 {
		return nil
	}
	return PictureBetween(slices.Min(values), slices.Max(values), values, shape)
}

// PictureBetween is Picture with black for low and white for high.
func PictureBetween(low, high float64, values []float64, shape []int) *image.NRGBA {
	channels, plane := 1, shape
	step, next := 1, 0 // elements from a pixel to the next, and from a channel to the next
	if n := len(shape); n == 3 && (shape[0] == 1 || shape[0] == 3) {
		channels, plane, next = shape[0], shape[1:], shape[1]*shape[2]
	} else if n == 3 && (shape[2] == 1 || shape[2] == 3) {
		channels, plane, step, next = shape[2], shape[:2], shape[2], 1
	}
	const least, most = 4, 512
	if len(plane) != 2 || min(plane[0], plane[1]) < least || max(plane[0], plane[1]) > most {
		return nil
	}
	m := image.NewNRGBA(image.Rect(0, 0, plane[1], plane[0]))
	for k := range plane[0] * plane[1] {
		for c := range 3 {
			x := values[k*step+min(c, channels-1)*next]
			m.Pix[4*k+c] = uint8(255 * (x - low) / max(high-low, math.SmallestNonzeroFloat64))
		}
		m.Pix[4*k+3] = 255
	}
	return m
}

// picture returns a picture as the address of an image.
func picture(m *image.NRGBA) (template.URL, error) {
	var b bytes.Buffer
	err := png.Encode(&b, m)
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())), err
}

// finiteCurves returns curves as page.js takes them: without NaN and infinity, which JSON lacks.
func finiteCurves(curves []Curve) []map[string]any {
	list := []map[string]any{}
	for _, c := range curves {
		var series []map[string]any
		for _, s := range c.Series {
			values := make([]any, len(s.Values))
			for i, x := range s.Values {
				if !math.IsNaN(x) && !math.IsInf(x, 0) {
					values[i] = x
				}
			}
			series = append(series, map[string]any{"name": s.Name, "values": values})
		}
		list = append(list, map[string]any{"name": c.Name, "series": series})
	}
	return list
}

// share returns the part of a time in the longest, in percent.
func share(t Time, all []Time) int {
	longest := slices.MaxFunc(all, func(a, b Time) int { return int(a.Took - b.Took) }).Took
	return int(100 * t.Took / max(1, longest))
}

// heat returns the part of a count in its row, in percent.
func heat(n float64, row []float64) int {
	total := 0.0
	for _, x := range row {
		total += x
	}
	if total == 0 {
		return 0
	}
	return int(math.Round(100 * n / total))
}
