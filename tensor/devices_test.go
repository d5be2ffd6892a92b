package tensor_test

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// whole tries every sample with every type and layout in the interpreter.
var whole = flag.Bool("whole", false, "have the interpreter try every operation with every type and layout, which takes minutes")

// TestDevicesAgree compares every call, its value and its gradients, on GPUs with the
// float64 loop on the CPU: row-major, and seen through every kind of view. The
// code is the one that ships; an interpreter runs it, as late as the driver allows.
func TestDevicesAgree(t *testing.T) {
	devicesAgree(t, cudatest.Devices(t, cudatest.Deferred), func(tensortest.Sample) bool { return true })
}

// TestDevicesAgreeByLibraries is the same where libraries multiply and convolve.
func TestDevicesAgreeByLibraries(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	cudatest.UseLibraries(t, gpus[:]...)
	devicesAgree(t, gpus, func(s tensortest.Sample) bool {
		return slices.ContainsFunc([]string{"matmul", "linear", "conv"}, func(name string) bool { return strings.HasPrefix(s.Name, name) })
	})
}

func devicesAgree(t *testing.T, gpus [2]*cuda.Device, of func(tensortest.Sample) bool) {
	rowMajor := map[string]func(storage.Array) storage.Array{"row-major": tensortest.RowMajor}
	for i, float := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
		for _, layouts := range []map[string]func(storage.Array) storage.Array{rowMajor, tensortest.Layouts} {
			for k, name := range slices.Sorted(maps.Keys(layouts)) {
				lay := layouts[name]
				t.Run(float.String()+" "+name, func(t *testing.T) {
					turn := -1
					tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
						turn++
						switch {
						case !of(s):
							t.Skip("no library computes it; TestDevicesAgree tries it")
						case s.HostOnly:
							t.Skip("has no device code; TestGradientsMatchFiniteDifferences sees it refused")
						case !*whole && !(turn%4 == i || float == dtype.Float32 && len(layouts) == 1) || !*whole && len(layouts) > 1 && turn/4%len(layouts) != k:
							t.Skip("make big tries it: each sample has one of the types, and one of the layouts, here")
						}
						defer cudatest.Reset()
						host := tensortest.Draw(s, float)
						tensortest.Agree(t, tensortest.Tolerances[float], s, tensortest.To(t, host, gpus[i%2], lay), tensortest.Float64(host))
					})
				})
			}
		}
	}
}
