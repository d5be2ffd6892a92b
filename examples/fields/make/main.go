// Command make solves Burgers' equation u_t + u·u_x = ν·u_xx on a circle for random first fields, and writes u by
// trajectory, time and place.
//
//	go run ./examples/fields/make [-n NUMBER] [FILE]
package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/h5dnn/h5dnn/examples/internal/maker"
	"github.com/h5dnn/h5dnn/tensor"
	"github.com/h5dnn/h5dnn/tensors"
)

const (
	times  = 16   // kept
	places = 64   // kept, of a circle of length 1
	fine   = 4    // places of the grid of the solver for each of these
	nu     = 4e-3 // viscosity
	every  = 0.04 // time between those kept
)

func main() {
	maker.Command("examples/fields/burgers.h5", 2000, "number of trajectories to train on; a quarter as many for validation", save)
}

func save(file string, n int) error {
	if n < 4 {
		return fmt.Errorf("-n %d; want at least 4", n)
	}
	r := rand.New(rand.NewPCG(1, 1))
	all := map[string]*tensor.Tensor{"train/u": trajectories(r, n), "val/u": trajectories(r, n/4)}
	if err := tensors.SaveAll(file, all, nil); err != nil {
		return err
	}
	fmt.Printf("%s: %d trajectories of %d times and %d places to train on, %d for validation\n", file, n, times, places, n/4)
	return nil
}

// trajectories returns n solutions (n, times, places).
func trajectories(r *rand.Rand, n int) *tensor.Tensor {
	all := make([]float32, 0, n*times*places)
	for range n {
		u := first(r)
		for range times {
			for i := 0; i < len(u); i += fine {
				all = append(all, float32(u[i]))
			}
			u = advance(u, every)
		}
	}
	return tensor.FromSlice(all, n, times, places)
}

// first returns a sum of waves of random amplitudes and phases.
func first(r *rand.Rand) []float64 {
	u := make([]float64, places*fine)
	for wave := 1; wave <= 4; wave++ {
		amplitude, phase := r.NormFloat64()/float64(wave), 2*math.Pi*r.Float64()
		for i := range u {
			u[i] += amplitude * math.Sin(2*math.Pi*float64(wave*i)/float64(len(u))+phase)
		}
	}
	return u
}

// advance returns u after a time, by Rusanov's flux and central differences in steps that are stable.
func advance(u []float64, time float64) []float64 {
	n, dx := len(u), 1/float64(len(u))
	for time > 0 {
		fastest := 1e-3
		for _, v := range u {
			fastest = max(fastest, math.Abs(v))
		}
		dt := min(time, 0.4*min(dx/fastest, dx*dx/(2*nu)))
		flux := make([]float64, n) // between i and i+1
		for i, v := range u {
			w := u[(i+1)%n]
			flux[i] = (v*v+w*w)/4 - max(math.Abs(v), math.Abs(w))*(w-v)/2 - nu*(w-v)/dx
		}
		next := make([]float64, n)
		for i := range u {
			next[i] = u[i] - dt/dx*(flux[i]-flux[(i+n-1)%n])
		}
		u, time = next, time-dt
	}
	return u
}
