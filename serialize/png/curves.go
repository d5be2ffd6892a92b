package png

import (
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/storage"
)

// Curves are drawn in lanes of one channel each, of laneHeight pixels, and from minWidth to maxWidth
// pixels wide. An array of a few long columns, or rows, is signals.
const laneHeight, minWidth, maxWidth, maxChannels, minSamples = 96, 512, 2048, 16, 64

// signalsOf returns an array of signals with axes channels and samples. Bytes and bools are pixels.
func signalsOf(a storage.Array) (storage.Array, bool) {
	v := a.View
	switch {
	case v.Rank() > 2 || a.Type == dtype.Uint8 || a.Type == dtype.Bool:
		return a, false
	case v.Rank() == 1 && v.Len() > 1:
		return a.With(unsqueeze(v, 0)), true
	case v.Rank() != 2:
		return a, false
	}
	if v.Shape[0] > v.Shape[1] {
		v, _ = v.Transpose()
	}
	channels, samples := v.Shape[0], v.Shape[1]
	return a.With(v), channels > 0 && channels <= maxChannels && samples >= minSamples
}

// writeCurves draws each channel of signals as a curve, on one scale. Samples that share a column of
// pixels are a line from the smallest to the largest; missing ones are gaps.
func writeCurves(w io.Writer, a storage.Array, stopped func() error) error {
	low, high, err := rangeOf(a)
	if err != nil {
		return err
	}
	if !(low < high) {
		high = low + 1
	}
	channels, samples := a.Shape[0], a.Shape[1]
	width := min(maxWidth, max(minWidth, samples))
	canvas := image.NewNRGBA(image.Rect(0, 0, width, channels*laneHeight))
	draw.Draw(canvas, canvas.Bounds(), image.White, image.Point{}, draw.Src)
	for channel := range channels {
		one := a.With(a.View.Narrow(0, channel, channel+1))
		elems, err := columnsOf(one, width)
		if err == nil {
			err = stopped()
		}
		if err != nil {
			return err
		}
		level := func(x float64) int {
			share := (high/2 - x/2) / (high/2 - low/2) // high-low may overflow
			return channel*laneHeight + 4 + int(math.Round(share*(laneHeight-9)))
		}
		for x, e := range elems {
			if e.most < e.least {
				continue // no samples but missing ones
			}
			top, bottom := level(e.most), level(e.least)
			if x > 0 && elems[x-1].least <= elems[x-1].most { // joined with the column before
				top, bottom = min(top, level(elems[x-1].least)), max(bottom, level(elems[x-1].most))
			}
			for y := top; y <= bottom; y++ {
				canvas.SetNRGBA(x, y, color.NRGBA{31, 119, 180, 255})
			}
		}
	}
	return png.Encode(w, canvas)
}

// An extremes is the smallest and largest sample of a column of pixels.
type extremes struct{ least, most float64 }

// columnsOf returns the extremes of a signal's samples in each column of pixels; of columns between
// two samples, the nearest.
func columnsOf(a storage.Array, width int) ([]extremes, error) {
	columns, samples := make([]extremes, width), a.Len()
	for x := range columns {
		columns[x] = extremes{math.Inf(1), math.Inf(-1)}
	}
	const part = 1 << 20
	for first := 0; first < samples; first += part {
		n := min(part, samples-first)
		elems, err := blocks.Read(a.With(a.View.Narrow(1, first, first+n)))
		if err != nil {
			return nil, err
		}
		for k, x := range blocks.Float64s(a.Type, elems) {
			from := (first + k) * width / samples
			for c := from; c < max(from+1, (first+k+1)*width/samples); c++ {
				if !math.IsNaN(x) && !math.IsInf(x, 0) {
					columns[c].least, columns[c].most = min(columns[c].least, x), max(columns[c].most, x)
				}
			}
		}
	}
	return columns, nil
}
