package cuda_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
)

// TestPoolsAgreeWithPyTorch compares pools and their gradients with PyTorch's, of numbers, some NaN or
// infinite, row-major and channels-last, of every type of float. NaN is the maximum of its window, and gets the gradient.
func TestPoolsAgreeWithPyTorch(t *testing.T) {
	text, err := os.ReadFile("../kernels/testdata/conv.json")
	if err != nil {
		t.Fatal(err)
	}
	type array struct {
		Shape  []int
		Values []*float64 // nil is NaN, ±1e300 infinite
	}
	var file struct {
		Cases []struct {
			Kernel  string
			In, Out []array
			Options kernels.PoolOptions
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	pools := map[string]*kernels.Kernel{"max pool": kernels.MaxPool, "max pool grad": kernels.MaxPoolGrad, "average pool": kernels.AvgPool, "average pool grad": kernels.AvgPoolGrad}
	d := cudatest.Devices(t, cudatest.Deferred)[0]
	run := 0
	for i, c := range file.Cases {
		k, ok := pools[c.Kernel]
		if !ok {
			continue
		}
		for float, tolerance := range map[dtype.Type]float64{dtype.Float32: 1e-6, dtype.Float64: 1e-7, dtype.Float16: 2e-3, dtype.BFloat16: 2e-2} {
			for _, last := range []bool{false, true} {
				specs := func(arrays []array, index bool) (all []spec) {
					for n, a := range arrays {
						s := spec{shape: a.Shape, t: float, is: make([]float64, len(a.Values))}
						if index && n == 1 {
							s.t = dtype.Int32
						}
						pixels := len(a.Values) / a.Shape[0] / a.Shape[1]
						for e, v := range a.Values {
							if last { // in the order of memory
								pixel, channel, image := e%pixels, e/pixels%a.Shape[1], e/pixels/a.Shape[1]
								e = (image*pixels+pixel)*a.Shape[1] + channel
							}
							switch s.is[e] = math.NaN(); {
							case v == nil:
							case math.Abs(*v) >= 1e300:
								s.is[e] = math.Inf(int(math.Copysign(1, *v)))
							default:
								s.is[e] = *v
							}
						}
						all = append(all, s.or(last, spec.channelsLast))
					}
					return all
				}
				trial := trial{k: k, set: c.Options, out: specs(c.Out, k == kernels.MaxPool), in: specs(c.In, k == kernels.MaxPoolGrad)}
				host, there := trial.call(t, d)
				if err := d.Run(k, &there); err != nil {
					t.Fatalf("case %d, %s of %v: %v", i, k.Name, float, err)
				}
				run++
				for n := range host.Out { // which hold PyTorch's results
					same(t, trial.String(), there.Out[n], host.Out[n], tolerance)
				}
			}
		}
	}
	if run < 300 {
		t.Errorf("%d pools, want 300 and more", run)
	}
}
