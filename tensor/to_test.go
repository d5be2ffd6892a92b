package tensor

import (
	"errors"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// TestToKeepsGradients moves a leaf to a GPU and back, in a step whose memory is the GPU's as well,
// as in a captured one: each result is where it was moved to, and the gradient where the leaf is.
func TestToKeepsGradients(t *testing.T) {
	gpu := cudatest.Devices(t, cudatest.Eager)[0]
	for name, tape := range map[string]*Tape{"own memory": {}, "memory of the GPU": {pool: storage.NewPool(gpu)}} {
		err := runStep(tape, func(tape *Tape) error {
			x := tape.Input(storage.From([]float32{1, -2, 3}, 3)).RequireGrad()
			there := x.To(gpu)
			back := there.Mul(there).To("cpu", dtype.Float64)
			if there.Device() != gpu || back.Device() != storage.CPU || back.DType() != dtype.Float64 {
				t.Errorf("%s: on %v, then %v of %v", name, there.Device(), back.Device(), back.DType())
			}
			same(t, name+": values", Values[float64](back), []float64{1, 4, 9})
			dx := Gradients(back.Sum())[x]
			if dx.Device() != storage.CPU || dx.DType() != dtype.Float32 {
				t.Errorf("%s: the gradient is %v of %v", name, dx.Device(), dx.DType())
			}
			same(t, name+": gradient", Values[float64](dx), []float64{2, -4, 6})
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestToRefuses targets that are no device and no type, and values of meta tensors.
func TestToRefuses(t *testing.T) {
	x := FromSlice([]float32{1, 2}, 2)
	for name, to := range map[string]func(){
		"a number":         func() { x.To(0) },
		"nil":              func() { x.To(nil) },
		"an unknown name":  func() { x.To("tpu") },
		"a meta tensor":    func() { x.To(Meta).CPU() },
		"nothing of a cpu": func() { x.To("") },
	} {
		if err := Try(to); !errors.Is(err, storage.ErrDevice) {
			t.Errorf("%s: error %v, want one of kind %v", name, err, storage.ErrDevice)
		}
	}
	if y := x.To(Meta); !y.IsMeta() || y.Len() != 2 {
		t.Errorf("moved to meta: %v", y.Array())
	}
}
