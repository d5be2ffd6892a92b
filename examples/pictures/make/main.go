// Command make draws the pictures of examples/pictures: ten shapes of any color, size and angle on textures, with
// lines over them.
//
//	go run ./examples/pictures/make [-n NUMBER] [FILE]
package main

import (
	"math"
	"math/rand/v2"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
)

const side = 32 // pixels

// shapes are the classes: whether a shape of radius 1 has the point (x, y).
var shapes = []func(x, y float64) bool{
	func(x, y float64) bool { return math.Hypot(x, y) < 0.9 },                                       // disc
	func(x, y float64) bool { r := math.Hypot(x, y); return r < 0.95 && r > 0.55 },                  // ring
	func(x, y float64) bool { return max(math.Abs(x), math.Abs(y)) < 0.75 },                         // square
	func(x, y float64) bool { m := max(math.Abs(x), math.Abs(y)); return m < 0.8 && m > 0.45 },      // frame
	func(x, y float64) bool { return polygon(3, x, y) },                                             // triangle
	func(x, y float64) bool { return polygon(5, x, y) },                                             // pentagon
	func(x, y float64) bool { return min(math.Abs(x), math.Abs(y)) < 0.25 && math.Hypot(x, y) < 1 }, // cross
	func(x, y float64) bool { return math.Hypot(x, y) < 0.55+0.4*math.Cos(5*math.Atan2(y, x)) },     // star
	func(x, y float64) bool { return math.Hypot(x, y) < 0.95 && math.Hypot(x-0.4, y) > 0.7 },        // crescent
	func(x, y float64) bool { return math.Abs(math.Abs(y)-0.45) < 0.22 && math.Abs(x) < 0.85 },      // two bars
}

// polygon reports whether a regular polygon has the point (x, y).
func polygon(edges int, x, y float64) bool {
	for k := range edges {
		sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(edges))
		if x*cos+y*sin > math.Cos(math.Pi/float64(edges)) {
			return false
		}
	}
	return true
}

type color [3]float64

func randomColor(r *rand.Rand) color {
	return color{255 * r.Float64(), 255 * r.Float64(), 255 * r.Float64()}
}

// mixed returns a color between c and d.
func (c color) mixed(d color, part float64) (m color) {
	for i := range m {
		m[i] = c[i] + part*(d[i]-c[i])
	}
	return m
}

// texture returns a pattern of two colors: stripes, spots or a slope.
func texture(r *rand.Rand, c, d color) func(x, y float64) color {
	sin, cos := math.Sincos(2 * math.Pi * r.Float64())
	wide, phase, kind := 1.5+5*r.Float64(), 10*r.Float64(), r.IntN(3)
	return func(x, y float64) color {
		u, v := (x*cos+y*sin)/wide+phase, (y*cos-x*sin)/wide
		switch kind {
		case 0:
			return c.mixed(d, 0.5+0.5*math.Sin(2*u))
		case 1:
			return c.mixed(d, 0.5+0.5*math.Sin(2*u)*math.Sin(2*v))
		}
		return c.mixed(d, math.Mod(math.Abs(u), 8)/8)
	}
}

// draw returns a picture (3, side, side) of a class.
func draw(r *rand.Rand, class int) []uint8 {
	var back, front color
	for apart := 0.0; apart < 120; {
		back, front = randomColor(r), randomColor(r)
		apart = math.Sqrt(sum(back, front))
	}
	ground := texture(r, back, back.mixed(randomColor(r), 0.25))
	skin := texture(r, front, front.mixed(randomColor(r), 0.25))
	radius := 8 + 5*r.Float64()
	cx, cy := radius*0.8+(side-1.6*radius)*r.Float64(), radius*0.8+(side-1.6*radius)*r.Float64()
	sin, cos := math.Sincos(2 * math.Pi * r.Float64())
	type line struct{ sin, cos, at, wide float64 }
	var lines []line
	for range r.IntN(3) {
		s, c := math.Sincos(2 * math.Pi * r.Float64())
		lines = append(lines, line{s, c, float64(side) * (r.Float64() - 0.5), 0.6 + r.Float64()})
	}
	ink := randomColor(r)
	pixels := make([]uint8, 3*side*side)
	for y := range side {
		for x := range side {
			var all color
			const samples = 3
			for k := range samples * samples {
				fx, fy := float64(x)+(float64(k%samples)+0.5)/samples, float64(y)+(float64(k/samples)+0.5)/samples
				p := ground(fx, fy)
				dx, dy := (fx-cx)/radius, (fy-cy)/radius
				if shapes[class](dx*cos+dy*sin, dy*cos-dx*sin) {
					p = skin(fx, fy)
				}
				for _, l := range lines {
					if math.Abs((fx-side/2)*l.cos+(fy-side/2)*l.sin-l.at) < l.wide {
						p = ink
					}
				}
				all = all.mixed(p, 1/float64(k+1))
			}
			for c := range 3 {
				pixels[c*side*side+y*side+x] = uint8(max(0, min(255, all[c]+10*r.NormFloat64())))
			}
		}
	}
	return pixels
}

func sum(a, b color) (s float64) {
	for i := range a {
		s += (a[i] - b[i]) * (a[i] - b[i])
	}
	return s
}

func main() {
	maker.Maker{File: "examples/pictures/pictures.h5", Noun: "pictures", N: 5000, Share: 2, Samples: makePictures}.Main()
}

// makePictures returns n pictures.
func makePictures(r *rand.Rand, n int) map[string]*tensor.Tensor {
	images, labels := make([]uint8, 0, n*3*side*side), make([]int64, n)
	for i := range n {
		labels[i] = int64(r.IntN(len(shapes)))
		images = append(images, draw(r, int(labels[i]))...)
	}
	return map[string]*tensor.Tensor{"images": tensor.FromSlice(images, n, 3, side, side), "labels": tensor.FromSlice(labels, n)}
}
