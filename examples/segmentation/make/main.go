// Command make draws the images of examples/segmentation and examples/targets: discs, squares and triangles on a
// background of noise, each pixel with its class.
//
//	go run ./examples/segmentation/make [-n NUMBER] [FILE]
package main

import (
	"math"
	"math/rand/v2"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
)

const side = 32 // pixels

// A shape is a disc (1), a square (2) or a triangle (3).
type shape struct {
	kind            int
	x, y, r, turned float64
	brightness      float64
}

// covers reports whether the shape has the pixel at (x, y).
func (s shape) covers(x, y float64) bool {
	dx, dy := x-s.x, y-s.y
	if s.kind == 1 {
		return math.Hypot(dx, dy) <= s.r
	}
	edges := map[int]int{2: 4, 3: 3}[s.kind]
	for k := range edges { // within the half plane of each edge
		a := s.turned + 2*math.Pi*float64(k)/float64(edges)
		if dx*math.Cos(a)+dy*math.Sin(a) > s.r*math.Cos(math.Pi/float64(edges)) {
			return false
		}
	}
	return true
}

// samples are images and their labels.
type samples struct {
	images, masks []uint8
	kinds         []uint8
	places        []float32
}

// draw adds an image: one large shape, and up to two small ones, which may cover a part of it.
func (d *samples) draw(r *rand.Rand) {
	var image [side][side]float64
	var mask [side][side]uint8
	background := 40 + 120*r.Float64()
	for y := range side {
		for x := range side {
			image[y][x] = background
		}
	}
	for k := range 1 + r.IntN(3) {
		s := shape{kind: 1 + r.IntN(3), r: 3.5 + 2*r.Float64(), turned: 2 * math.Pi * r.Float64(), brightness: background + 40 + 55*r.Float64()}
		if k == 0 {
			s.r += 4
		}
		if r.IntN(2) == 0 && background > 100 { // darker than the background
			s.brightness -= 135
		}
		s.x, s.y = s.r+(side-2*s.r)*r.Float64(), s.r+(side-2*s.r)*r.Float64()
		for y := range side {
			for x := range side {
				if s.covers(float64(x), float64(y)) {
					image[y][x], mask[y][x] = s.brightness, uint8(s.kind)
				}
			}
		}
		if k == 0 {
			d.kinds = append(d.kinds, uint8(s.kind-1))
			d.places = append(d.places, float32(s.x), float32(s.y), float32(s.r))
		}
	}
	for y := range side {
		for x := range side {
			d.images = append(d.images, uint8(max(0, min(255, image[y][x]+12*r.NormFloat64()))))
			d.masks = append(d.masks, mask[y][x])
		}
	}
}

func main() {
	maker.Maker{File: "examples/segmentation/shapes.h5", Noun: "images", N: 3000, Share: 4, Samples: makeImages}.Main()
}

// makeImages returns n images.
func makeImages(r *rand.Rand, n int) map[string]*tensor.Tensor {
	d := &samples{}
	for range n {
		d.draw(r)
	}
	return map[string]*tensor.Tensor{
		"images": tensor.FromSlice(d.images, n, side, side),
		"masks":  tensor.FromSlice(d.masks, n, side, side),
		"kinds":  tensor.FromSlice(d.kinds, n),
		"places": tensor.FromSlice(d.places, n, 3),
	}
}
