package tensor_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
	_ "github.com/h5dnn/h5dnn/tensor/fft"    // its samples
	_ "github.com/h5dnn/h5dnn/tensor/linalg" // and its
	"github.com/h5dnn/h5dnn/tensor/tensortest"
)

// Every registered call is tried here: see package tensortest. A new operation needs no
// test of its own.

func TestGradientsMatchFiniteDifferences(t *testing.T) {
	devices := []storage.Device{storage.CPU}
	if *whole { // TestDevicesAgree compares the gradients of GPUs with the CPU's
		devices = append(devices, cudatest.Devices(t, cudatest.Eager)[1])
	}
	for _, d := range devices {
		t.Run(d.String(), func(t *testing.T) {
			tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
				if !tensortest.CheckHostOnly(t, s, d) {
					tensortest.CheckGradients(t, s, d)
				}
			})
		})
	}
}

// noSecond names the samples whose derivative is a kernel without a derivative of its
// own. They refuse by name.
var noSecond = []string{"digamma", "max pool"}

// TestSecondDerivativesMatchFiniteDifferences: each sample matches or refuses by name.
func TestSecondDerivativesMatchFiniteDifferences(t *testing.T) {
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		refuses := slices.ContainsFunc(noSecond, func(name string) bool { return strings.HasPrefix(s.Name, name) })
		if done := tensortest.CheckSecondGradients(t, s); done == refuses {
			t.Errorf("has a second derivative: %v; want %v", done, !refuses)
		}
	})
}

// TestEverySampleHasAGradient keeps the tests above from passing for want of one.
func TestEverySampleHasAGradient(t *testing.T) {
	tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
		in := tensortest.Draw(s, dtype.Float64)
		y := s.Call(tensortest.Leaves(in)...)
		_, grads := tensortest.Outcome(s, in)
		for i, g := range grads {
			if y.DType().IsFloat() && in[i].Type.IsFloat() && g == nil {
				t.Errorf("no gradient reaches input %d", i)
			}
		}
	})
}

func TestMetaTensorsHaveTheShapesOfOthers(t *testing.T) {
	tensortest.Each(t, tensortest.CheckMeta)
}

func TestViewsGiveTheSameResult(t *testing.T) {
	for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		for name, lay := range tensortest.Layouts {
			t.Run(float.String()+" "+name, func(t *testing.T) {
				tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
					in := tensortest.Draw(s, float)
					tensortest.Agree(t, tensortest.Tolerances[float], s, tensortest.To(t, in, storage.CPU, lay), in)
				})
			})
		}
	}
}

// TestRepeatedInputsGiveTheSameResult tries inputs whose first axis repeats one
// row by a stride of zero.
func TestRepeatedInputsGiveTheSameResult(t *testing.T) {
	for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		t.Run(float.String(), func(t *testing.T) {
			tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
				repeated := tensortest.Draw(s, float)
				dense := make([]storage.Array, len(repeated))
				for i, a := range repeated {
					if a.Rank() > 0 && s.In[i].Kind != tensortest.Distinct {
						var err error
						if a.View, err = a.View.Slice(0, 0, 1, 1); err != nil {
							t.Fatal(err)
						}
						a.View, _ = a.View.Broadcast(s.In[i].Shape...)
					}
					repeated[i], dense[i] = a, tensor.FromArray(a).CloneDetached().Array()
				}
				tensortest.Agree(t, tensortest.Tolerances[float], s, repeated, dense)
			})
		})
	}
}

func TestNarrowFloatsAgreeWithFloat64(t *testing.T) {
	for float, tolerance := range tensortest.Tolerances {
		t.Run(float.String(), func(t *testing.T) {
			tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
				in := tensortest.Draw(s, float)
				if err := tensor.Try(func() { s.Call(tensortest.Constants(in)...) }); errors.Is(err, tensor.ErrType) && s.HostOnly && float.Size() == 2 {
					t.Skip(err) // linear algebra is refused in 16 bits
				}
				tensortest.Agree(t, tolerance, s, in, tensortest.Float64(in))
			})
		})
	}
}

func TestEmptyBatchesGiveEmptyResults(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, d := range []storage.Device{storage.CPU, gpu} {
		tensortest.Each(t, func(t *testing.T, s tensortest.Sample) {
			if !tensortest.CheckHostOnly(t, s, d) {
				tensortest.CheckEmpty(t, s, d)
			}
		})
	}
}
