// Command make writes the strokes of examples/autoencoder: images of 16x16 with one curved line, of any place, direction, bend and width.
//
//	go run ./examples/autoencoder/make [-n NUMBER] [FILE]
package main

import (
	"math"
	"math/rand/v2"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
)

const side = 16 // pixels

// stroke returns the image of a quadratic Bézier curve: 1 on the line, 0 far from it.
func stroke(r *rand.Rand) []float32 {
	var x, y [3]float64
	for i := range x {
		x[i], y[i] = 2+12*r.Float64(), 2+12*r.Float64()
	}
	width := 0.8 + 0.8*r.Float64()
	image := make([]float32, side*side)
	for i := range image {
		px, py := float64(i%side)+0.5, float64(i/side)+0.5
		nearest := math.Inf(1)
		for step := range 33 {
			t := float64(step) / 32
			a, b, c := (1-t)*(1-t), 2*t*(1-t), t*t
			nearest = min(nearest, math.Hypot(a*x[0]+b*x[1]+c*x[2]-px, a*y[0]+b*y[1]+c*y[2]-py))
		}
		image[i] = float32(min(1, max(0, width+0.5-nearest)))
	}
	return image
}

func main() {
	maker.Maker{File: "examples/autoencoder/strokes.h5", Noun: "images", N: 6000, Share: 4, Samples: makeImages}.Main()
}

// makeImages returns n images.
func makeImages(r *rand.Rand, n int) map[string]*tensor.Tensor {
	var images []float32
	for range n {
		images = append(images, stroke(r)...)
	}
	return map[string]*tensor.Tensor{"images": tensor.FromSlice(images, n, side, side)}
}
