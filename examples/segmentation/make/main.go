// Command make draws the images of examples/segmentation and examples/targets: discs, squares and triangles on a
// background of noise, each pixel with its class.
//
//	go run ./examples/segmentation/make [-n NUMBER] [FILE]
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
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
	n := flag.Int("n", 3000, "images to train on; a quarter as many are for validation")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	file := "examples/segmentation/shapes.h5"
	if flag.NArg() > 0 {
		file = flag.Arg(0)
	}
	if err := save(file, *n, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "make:", err)
		os.Exit(1)
	}
}

func save(file string, n int, seed uint64) error {
	if n < 4 {
		return fmt.Errorf("-n %d; want at least 4", n)
	}
	all := map[string]*tensor.Tensor{}
	for stream, part := range []string{"train", "val"} {
		count := n / []int{1, 4}[stream]
		r, d := rand.New(rand.NewPCG(seed, uint64(stream))), &samples{}
		for range count {
			d.draw(r)
		}
		all[part+"/images"] = tensor.FromSlice(d.images, count, side, side)
		all[part+"/masks"] = tensor.FromSlice(d.masks, count, side, side)
		all[part+"/kinds"] = tensor.FromSlice(d.kinds, count)
		all[part+"/places"] = tensor.FromSlice(d.places, count, 3)
	}
	if err := tensors.SaveAll(file, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d images to train on, %d for validation\n", file, n, n/4)
	return nil
}
