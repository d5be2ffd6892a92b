package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/h5dnn/h5dnn/kernels/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func TestMatMulAgreesHoweverMatricesLie(t *testing.T) {
	sizes := [][3]int{{1, 1, 1}, {3, 5, 7}, {1, 17, 33}, {64, 10, 128}, {40, 1, 3}, {5, 6, 0}, {0, 4, 4}, {16, 300, 31}, {31, 9, 400}}
	for _, s := range sizes {
		for _, lz := range layouts {
			for _, lx := range append(layouts, repeated) {
				for _, ly := range append(layouts, repeated) {
					agree(t, MatMul, []views.View{lz.of(s[0], s[1])}, []views.View{lx.of(s[0], s[2]), ly.of(s[2], s[1])}, nil, 1e-4)
				}
			}
		}
	}
}

func TestMatMulBroadcastsLeadingAxes(t *testing.T) {
	for _, c := range []struct{ z, x, y []int }{
		{[]int{6, 3, 4}, []int{6, 3, 5}, []int{6, 5, 4}},
		{[]int{6, 3, 4}, []int{6, 3, 5}, []int{5, 4}},
		{[]int{6, 3, 4}, []int{3, 5}, []int{6, 5, 4}},
		{[]int{2, 7, 3, 4}, []int{2, 1, 3, 5}, []int{7, 5, 4}},
		{[]int{2, 3, 2, 2, 3, 2, 2, 2, 3, 4}, []int{2, 1, 2, 1, 3, 1, 2, 1, 3, 5}, []int{1, 3, 1, 2, 1, 2, 1, 2, 5, 4}},
		{[]int{0, 3, 4}, []int{1, 3, 5}, []int{0, 5, 4}},
	} {
		for _, lz := range layouts {
			for _, lx := range layouts {
				agree(t, MatMul, []views.View{lz.of(c.z...)}, []views.View{lx.of(c.x...), rowMajorLayout.of(c.y...)}, nil, 1e-4)
				agree(t, MatMul, []views.View{lz.of(c.z...)}, []views.View{rowMajorLayout.of(c.x...), lx.of(c.y...)}, nil, 1e-4)
			}
		}
	}
}

func TestLinearAgrees(t *testing.T) {
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 7}, {1, 128, 300}, {64, 10, 128}, {9, 33, 17}, {0, 3, 4}, {4, 3, 0}, {16, 64, 64}} {
		for act := NoActivation; act.check() == nil; act++ {
			for _, l := range layouts {
				y, x, w := l.of(s[0], s[1]), l.of(s[0], s[2]), l.of(s[1], s[2])
				agree(t, Linear, []views.View{rowMajorLayout.of(s[0], s[1])}, []views.View{x, rowMajorLayout.of(s[1], s[2]), l.of(s[1])}, LinearOptions{Act: act}, 1e-4)
				agree(t, Linear, []views.View{y}, []views.View{rowMajorLayout.of(s[0], s[2]), w}, LinearOptions{Act: act}, 1e-4)
				agree(t, Linear, []views.View{rowMajorLayout.of(s[0], s[1]), y}, []views.View{x, rowMajorLayout.of(s[1], s[2]), l.of(s[1])}, LinearOptions{Act: act}, 1e-4)
				agree(t, Linear, []views.View{y, rowMajorLayout.of(s[0], s[1])}, []views.View{rowMajorLayout.of(s[0], s[2]), w}, LinearOptions{Act: act}, 1e-4)
			}
		}
	}
}

// TestLinearInBlocksAgrees has enough rows for the activation to be applied block by block.
func TestLinearInBlocksAgrees(t *testing.T) {
	const rows, in, out = 4096, 8, 512
	if cacheBlocks(rows, 4*out) == 1 {
		t.Skip("one block is small enough for this number of threads")
	}
	x, w, y := rowMajorLayout.of(rows, in), rowMajorLayout.of(out, in), rowMajorLayout.of(rows, out)
	for _, act := range []Activation{ReLUActivation, GELUActivation, SiLUActivation} {
		agree(t, Linear, []views.View{y, y}, []views.View{x, w, rowMajorLayout.of(out)}, LinearOptions{Act: act}, 1e-4)
		agree(t, Linear, []views.View{y, y}, []views.View{transposedLayout.of(rows, in), w}, LinearOptions{Act: act}, 1e-4)
		agree(t, Linear, []views.View{gappedLayout.of(rows, out), y}, []views.View{x, w}, LinearOptions{Act: act}, 1e-4)
	}
}

func TestCacheBlocksAreEqualAndSmall(t *testing.T) {
	defer native.SetThreads(native.Threads())
	native.SetThreads(2)
	for _, c := range []struct{ n, bytes, want int }{
		{1000, 8, 1}, {4096, 4096, 4}, {6000, 4096, 6}, {4099, 4096, 1}, {3, 3 << 20, 3}, {8, 1 << 30, 1}, {1, 1 << 30, 1}, {0, 4, 1},
	} {
		if got := cacheBlocks(c.n, c.bytes); got != c.want {
			t.Errorf("%d rows of %d bytes: %d blocks, want %d", c.n, c.bytes, got, c.want)
		}
	}
}

// TestProductsWithoutOpenBLAS compares products by gonum's own BLAS, which are used on
// machines without OpenBLAS, with the reference.
func TestProductsWithoutOpenBLAS(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, l := range layouts {
		in := operandsOf(r, true, l.of(3, 4, 5), l.of(5, 2))
		got, want := operandsOf(r, false, l.of(3, 4, 2)), operandsOf(r, false, l.of(3, 4, 2))
		gonumMatMul(&got.f64[0], &in.f64[0], &in.f64[1])
		if err := MatMul.Reference(&Call{Out: want.f64, In: in.f64}); err != nil {
			t.Fatal(err)
		}
		compare(t, l.name, wide32(got.f64[0]), wide32(want.f64[0]), 1e-12)
	}
}

func ExampleMatMul() {
	x := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	xT := x.With(views.View{Shape: []int{3, 2}, Stride: []int{1, 3}}) // multiplied in place
	z := storage.From(make([]float32, 4), 2, 2)
	if err := CPU.Run(MatMul, &Call{Out: []storage.Array{z}, In: []storage.Array{x, xT}}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(storage.Elements[float32](z))
	// Output: [14 32 32 77]
}
