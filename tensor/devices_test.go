package tensor

import (
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda"
	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// TestDevicesAgree holds every call, its value and its gradients, on GPUs to the
// float64 loop on the CPU: row-major, and seen through every kind of view. The
// code is what ships; an interpreter runs it, as late as it may.
func TestDevicesAgree(t *testing.T) {
	devicesAgree(t, cudatest.Devices(t, cudatest.Deferred), func(Sample) bool { return true })
}

// TestDevicesAgreeByLibraries is the same where libraries multiply and convolve.
func TestDevicesAgreeByLibraries(t *testing.T) {
	gpus := cudatest.Devices(t, cudatest.Deferred)
	cudatest.UseLibraries(t, gpus[:]...)
	devicesAgree(t, gpus, func(s Sample) bool {
		return slices.ContainsFunc([]string{"matmul", "linear", "conv2d"}, func(name string) bool { return strings.HasPrefix(s.Name, name) })
	})
}

func devicesAgree(t *testing.T, gpus [2]*cuda.Device, of func(Sample) bool) {
	plainly := map[string]func(storage.Array) storage.Array{"row-major": func(a storage.Array) storage.Array { return a }}
	for i, float := range []dtype.Type{dtype.Float32, dtype.Float64, dtype.Float16, dtype.BFloat16} {
		tolerance := max(narrow[float], 1e-12)
		for _, ways := range []map[string]func(storage.Array) storage.Array{plainly, layouts} {
			for name, lay := range ways {
				t.Run(float.String()+" "+name, func(t *testing.T) {
					eachSample(t, func(t *testing.T, s Sample) {
						if !of(s) {
							t.Skip("no library computes it; TestDevicesAgree tries it")
						}
						defer cudatest.Reset()
						host := draw(s, float)
						agree(t, tolerance, s, moved(t, host, gpus[i%2], lay), widened(host))
					})
				})
			}
		}
	}
}

func TestDevicesTakeEmptyBatches(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	same := func(a storage.Array) storage.Array { return a }
	eachSample(t, func(t *testing.T, s Sample) {
		empty, found := emptied(s)
		if !found {
			t.Skip("has no batch axis")
		}
		_, grads := outcome(empty, moved(t, draw(empty, dtype.Float32), gpu, same))
		for i, g := range grads {
			for k, x := range g {
				if x != 0 {
					t.Errorf("gradient %d, element %d is %v, want 0", i, k, x)
				}
			}
		}
	})
}

// moved returns host's arrays on d, laid out as lay lays them: their memory is
// copied whole, and seen through the same view.
func moved(t *testing.T, host []storage.Array, d storage.Device, lay func(storage.Array) storage.Array) []storage.Array {
	t.Helper()
	there := make([]storage.Array, len(host))
	for i, a := range host {
		a = lay(a)
		data, err := d.Alloc(a.Data.Len())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Upload(data, 0, a.Data.(storage.Host).Bytes()); err != nil {
			t.Fatal(err)
		}
		there[i] = storage.Array{Data: data, Type: a.Type, View: a.View}
	}
	return there
}

// widened returns arrays whose floats are float64.
func widened(in []storage.Array) []storage.Array {
	double := slices.Clone(in)
	for i, a := range in {
		if a.Type.IsFloat() {
			double[i] = Of(a).Cast(dtype.Float64).Array
		}
	}
	return double
}
