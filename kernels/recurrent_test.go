package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
)

// TestRecurrentIsItsReference compares the layers of all cells, forwards and backwards, with and without optional operands, with the loops in
// Go, and demands the same bits from 1, 2 and 4 threads.
func TestRecurrentIsItsReference(t *testing.T) {
	defer native.SetThreads(native.Threads())
	for cell := RNNCell; cell <= GRUBeforeCell; cell++ {
		for i, size := range [][3]int{{1, 1, 1}, {3, 2, 5}, {4, 7, 33}, {3, 33, 20}, {3, 1, 200}, {2, 9, 130}} {
			for _, real := range []dtype.Type{dtype.Float32, dtype.Float64} {
				o := RecurrentOptions{Cell: cell, Reverse: i%2 == 1, Bias: i != 2, State: i != 3, DY: i != 4, DH: i%3 != 1, DC: i%3 != 2}
				t.Run(fmt.Sprint(cell, size, real, o), func(t *testing.T) { checkRecurrentLayer(t, o, real, size[0], size[1], size[2]) })
			}
		}
	}
}

func checkRecurrentLayer(t *testing.T, o RecurrentOptions, real dtype.Type, steps, n, size int) {
	seed := uint64(0)
	random := func(shape ...int) storage.Array {
		seed++
		a, err := storage.Make(storage.CPU, real, shape...)
		must(err)
		must(CPU.Run(Normal, &Call{Out: []storage.Array{a}, Options: RandomOptions{Seed: seed, B: 0.5}}))
		return a
	}
	g := o.Cell.Gates()
	gates, y, h := []int{steps, n, g * size}, []int{steps, n, size}, []int{n, size}
	list := func(has present, shapes ...[]int) (all []storage.Array) {
		for i, there := range has {
			if there {
				all = append(all, random(shapes[i]...))
			}
		}
		return all
	}
	compare := func(k *Kernel, out, in []storage.Array) {
		t.Helper()
		must(k.Reference(&Call{Out: out, In: in, Options: o}))
		var want [][]float64
		for _, a := range out {
			want = append(want, values(&a, 0))
		}
		var first [][]float64
		for _, threads := range []int{1, 2, 4} {
			native.SetThreads(threads)
			must(CPU.Run(k, &Call{Out: out, In: in, Options: o}))
			for i, a := range out {
				got := values(&a, 0)
				if threads == 1 {
					first = append(first, got)
				} else if !slices.Equal(got, first[i]) {
					t.Errorf("%s: output %d differs between 1 and %d threads", k.Name, i, threads)
				}
				tolerance := 2e-5
				if real == dtype.Float64 {
					tolerance = 1e-13
				}
				for j := range got {
					if math.Abs(got[j]-want[i][j]) > tolerance*max(1, math.Abs(want[i][j])) {
						t.Fatalf("%s with %d threads: output %d, element %d: %v; want %v", k.Name, threads, i, j, got[j], want[i][j])
					}
				}
			}
		}
	}
	in := list(o.in(), gates, []int{g * size, size}, []int{g * size}, h, h)
	out := list(o.out(true), y, h, h, gates, y)
	compare(Recurrent, out[:o.out(false).count()], in)
	compare(Recurrent, out, in)
	at, saved := placed(out, o.out(true)), placed(in, o.in())
	grads := []storage.Array{*saved[1], *at[3], *at[0]}
	for _, a := range []*storage.Array{at[4], saved[3], saved[4]} {
		if a != nil {
			grads = append(grads, *a)
		}
	}
	grads = append(grads, list(present{o.DY, o.DH, o.DC && o.lstm()}, y, h, h)...)
	compare(RecurrentGrad, list(o.gradOut(), gates, gates, h, h), grads)
}
