package png

import (
	"image"
	"image/color"
	"math"
)

// viridis is matplotlib's colour map at nine equally distant values.
var viridis = [...][3]float64{
	{68, 1, 84}, {71, 44, 122}, {59, 81, 139}, {44, 113, 142}, {33, 145, 140}, {39, 173, 129}, {92, 200, 99}, {170, 220, 50}, {253, 231, 37},
}

// viridisOf returns the colour of a value from 0 to 1; NaN is transparent.
func viridisOf(x float64) color.NRGBA {
	if math.IsNaN(x) {
		return color.NRGBA{}
	}
	x = min(1, max(0, x)) * float64(len(viridis)-1)
	k := min(int(x), len(viridis)-2)
	var rgb [3]uint8
	for c := range rgb {
		rgb[c] = uint8(math.Round(viridis[k][c] + (x-float64(k))*(viridis[k+1][c]-viridis[k][c])))
	}
	return color.NRGBA{rgb[0], rgb[1], rgb[2], 255}
}

// drawField sets the pixels of rows of a field, whose upper left corner is at x, y.
func (p picture) drawField(to *image.NRGBA, x, y int, values []float64, s scale) {
	for k, value := range values {
		to.SetNRGBA(x+k%p.cols, y+k/p.cols, viridisOf((value-s.least)*s.factor*s.step/65535))
	}
}
