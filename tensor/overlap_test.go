package tensor_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/kernels"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestWritesToOverlappingMemory: the result is that on a copy of the operand.
func TestWritesToOverlappingMemory(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		for _, pattern := range [][2]string{{":", "::-1, :"}, {":", ":, ::-1"}, {"1:", ":-1"}, {":-1", "1:"}, {":", "0"}, {":", ":"}, {":", "T"}, {":, 1:", ":, :-1"}} {
			for name, write := range map[string]func(x, y *tensor.Tensor) *tensor.Tensor{"assign": (*tensor.Tensor).Assign, "add into": (*tensor.Tensor).AddInPlace} {
				result := func(clone bool) []float32 {
					a, err := tensor.Arange(dtype.Float32, 0, 300*300, 1).Reshape(300, 300).Array().To(d)
					if err != nil {
						t.Fatal(err)
					}
					m := tensor.FromArray(a)
					y := m.T()
					if pattern[1] != "T" {
						y = m.Index(pattern[1])
					}
					if clone {
						y = y.CloneDetached()
					}
					write(m.Index(pattern[0]), y)
					return tensor.Values[float32](m)
				}
				if !slices.Equal(result(false), result(true)) {
					t.Errorf("%v: %s of [%s] and [%s] differs from the result on copies", d, name, pattern[0], pattern[1])
				}
			}
		}
	}
}

// TestEveryWriteIsNoticed by the backward pass of an expression that needs the old elements.
func TestEveryWriteIsNoticed(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		ones, err := tensor.Ones(dtype.Float32, 3).Array().To(d)
		if err != nil {
			t.Fatal(err)
		}
		for name, write := range map[string]func(a storage.Array) error{
			"fill":       func(a storage.Array) error { tensor.FromArray(a).Fill(2); return nil },
			"assign":     func(a storage.Array) error { tensor.FromArray(a).Assign(tensor.FromArray(ones)); return nil },
			"add into":   func(a storage.Array) error { tensor.FromArray(a).AddInPlace(tensor.FromArray(ones)); return nil },
			"normal":     func(a storage.Array) error { tensor.FillNormal(a, 0, 1, tensor.Key{}); return nil },
			"uniform":    func(a storage.Array) error { tensor.FillUniform(a, 0, 1, tensor.Key{}); return nil },
			"copy":       func(a storage.Array) error { return ones.CopyTo(a) },
			"fill array": func(a storage.Array) error { return storage.Fill[float32](a, 3) },
			"kernel": func(a storage.Array) error {
				r, err := kernels.On(a.Data.Device())
				if err != nil {
					return err
				}
				return r.Run(kernels.Neg, &kernels.Call{Out: []storage.Array{a}, In: []storage.Array{ones}})
			},
			"update": func(a storage.Array) error {
				tensor.UpdateLeaves([]tensor.Update{{Leaf: tensor.FromArray(a), Grad: tensor.FromArray(ones)}}, tensor.SGDOptions{}, nil)
				return nil
			},
		} {
			fresh, err := tensor.Ones(dtype.Float32, 3).Array().To(d)
			if err != nil {
				t.Fatal(err)
			}
			if fresh, err = fresh.To(d); err != nil {
				t.Fatal(err)
			}
			a := tensor.Leaf(fresh)
			c := a.Mul(a).Sum()
			if err := tensor.Try(func() {
				if err := write(fresh); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if tensor.Try(func() { c.Backward() }) == nil {
				t.Errorf("%v: %s was not noticed", d, name)
			}
		}
	}
}

// TestNumbersAreExact of ranges and items.
func TestNumbersAreExact(t *testing.T) {
	for n := 2; n < 300; n++ {
		for _, stop := range []float64{0.1, 0.7, 1, 3.3} {
			if got := tensor.Values[float64](tensor.Linspace(dtype.Float64, -0.3, stop, n)); got[n-1] != stop {
				t.Errorf("linspace to %v ends at %v", stop, got[n-1])
			}
		}
	}
	if got := tensor.Values[int64](tensor.Arange(dtype.Int64, 1<<53, 1<<53+4, 1)); !slices.Equal(got, []int64{1 << 53, 1<<53 + 1, 1<<53 + 2, 1<<53 + 3}) {
		t.Errorf("arange: %v", got)
	}
	for _, x := range []*tensor.Tensor{tensor.FromSlice([]int64{1<<53 + 1}, 1), tensor.FromSlice([]complex128{1i}, 1)} {
		if err := tensor.Try(func() { x.Item() }); err == nil {
			t.Errorf("the item of %v is a float64", x)
		}
	}
}
