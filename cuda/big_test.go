package cuda_test

import (
	"flag"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

var big = flag.Bool("big", false, "have the interpreter compute on more than 2^31 elements, which takes minutes and 5 GiB")

// TestMoreThan2GiElements fills, copies, takes rows of and adds up more elements than a launch counts.
func TestMoreThan2GiElements(t *testing.T) {
	if !*big && !cudatest.RealGPU() {
		t.Skip("takes minutes and 5 GiB; make big does it")
	}
	d := cudatest.Devices(t, cudatest.Eager)[0]
	cudatest.LimitMemory(t, d, 5<<30)
	array := func(of dtype.Type, shape ...int) storage.Array {
		a, err := storage.Make(d, of, shape...)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	run := func(k *kernels.Kernel, out storage.Array, in ...storage.Array) {
		if err := d.Run(k, &kernels.Call{Out: []storage.Array{out}, In: in}); err != nil {
			t.Fatal(err)
		}
	}
	const half, n = 1 << 30, 1<<31 + 12346
	x, y, sum := array(dtype.Uint8, n), array(dtype.Uint8, n), array(dtype.Int64, 1)
	marks := map[int]byte{0: 1, half - 1: 2, half: 4, half + 6165: 8, half + 6173: 16, 2*half - 1: 32, 2 * half: 64, n - 1: 128} // together 255
	run(kernels.Fill, x)
	for at, mark := range marks {
		if err := d.Upload(x.Data, at, []byte{mark}); err != nil {
			t.Fatal(err)
		}
	}
	run(kernels.Copy, y, x)
	run(kernels.Sum, sum, y)
	if got, err := storage.Read[int64](sum); err != nil || got[0] != 255 {
		t.Errorf("the sum of the copy is %v, %v; want 255", got, err)
	}
	rows, err := storage.From([]int64{n/2 - 1, 0, half}, 3).To(d)
	if err != nil {
		t.Fatal(err)
	}
	taken := array(dtype.Uint8, 3, 2)
	run(kernels.Gather, taken, y.With(views.Of(n/2, 2)), rows.With(views.View{Shape: []int{3, 2}, Stride: []int{1, 0}}))
	if got, err := storage.Read[uint8](taken); err != nil || [6]uint8(got) != [6]uint8{0, 128, 1, 0, 64, 0} {
		t.Errorf("rows of the copy are %v, %v; want 0 128, 1 0, 64 0", got, err)
	}
}
