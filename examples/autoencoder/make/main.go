// Command make writes the strokes of examples/autoencoder: images of 16x16 with one curved line, of any place, direction, bend and width.
//
//	go run ./examples/autoencoder/make [-n NUMBER] [FILE]
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
	n := flag.Int("n", 6000, "images to train on; a quarter as many are for validation")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	file := "examples/autoencoder/strokes.h5"
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
		r := rand.New(rand.NewPCG(seed, uint64(stream)))
		var images []float32
		for range count {
			images = append(images, stroke(r)...)
		}
		all[part+"/images"] = tensor.FromSlice(images, count, side, side)
	}
	if err := tensors.SaveAll(file, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d images to train on, %d for validation\n", file, n, n/4)
	return nil
}
