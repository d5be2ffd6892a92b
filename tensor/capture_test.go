package tensor_test

import (
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestCapturedStepsReuseMemory: within a step the backward pass gives memory back, which
// later operations take. A captured step, whose calls run in any order that their
// operands allow, updates parameters as one does whose calls wait for each other.
func TestCapturedStepsReuseMemory(t *testing.T) {
	for _, schedule := range cudatest.Schedules {
		d := cudatest.Devices(t, schedule)[0]
		on := func(a storage.Array) storage.Array {
			there, err := a.To(d)
			if err != nil {
				t.Fatal(err)
			}
			return there
		}
		fresh := func() (params []*tensor.Tensor) {
			for i, shape := range [][]int{{16, 8}, {16}, {16, 16}, {16}, {16, 16}, {16}, {4, 16}} {
				params = append(params, tensor.Leaf(on(tensor.Key{Seed: uint64(i)}.Rand(dtype.Float32, shape...).AddScalar(-0.4).Array())))
			}
			return params
		}
		x, labels := on(tensor.Key{Seed: 9}.Randn(dtype.Float32, 12, 8).Array()), on(storage.From([]uint8{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}, 12))
		peak := 0
		step := func(params []*tensor.Tensor) func(tape *tensor.Tape) error {
			return func(tape *tensor.Tape) error {
				tape.Seed(1, 1)
				h := tape.Input(x)
				for i := 0; i < 6; i += 2 {
					key, _ := h.NextKey()
					h = tensor.Linear(h, params[i], params[i+1], tensor.NoActivation).ReLU().Dropout(0.3, key)
					h = h.MulScalar(0.1).Add(h.Tanh())
				}
				largest, _ := h.MaxWithIndex(1)
				h = tensor.LayerNorm(h.Sub(largest.Mul(largest).Reshape(12, 1)), []int{16}, nil, nil, 0)
				loss := tensor.CrossEntropy(tensor.Linear(h, params[6], nil, tensor.NoActivation), tape.Input(labels))
				var updates []tensor.Update
				grads := tensor.Gradients(loss)
				var all []*tensor.Tensor
				for _, p := range params {
					all = append(all, grads[p])
				}
				for i, g := range tensor.ClipGradNorm(all, 0.5, nil) {
					updates = append(updates, tensor.Update{Leaf: params[i], Grad: g})
				}
				tensor.UpdateLeaves(updates, tensor.SGDOptions{Rate: 0.01}, nil)
				peak = tape.PeakMemory()
				return nil
			}
		}
		eager, captured := fresh(), fresh()
		for range 3 {
			if err := tensor.Step(step(eager)); err != nil {
				t.Fatal(err)
			}
		}
		r, ok := tensor.NewGraphCapturer(d)
		if !ok {
			t.Fatal("the device cannot capture")
		}
		if err := r.Step(step(captured)); err != nil {
			t.Fatal(err)
		}
		graph, err := r.Capture(tensor.ByData, step(captured))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := graph.Replay(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range eager {
			if got, want := tensor.Values[float32](captured[i]), tensor.Values[float32](eager[i]); !slices.Equal(got, want) {
				t.Errorf("schedule %v: parameter %d is %v, want %v", schedule, i, got[:4], want[:4])
			}
		}
		if peak == 0 {
			t.Error("the step has no memory")
		}
		if err := graph.Close(); err != nil {
			t.Error(err)
		}
	}
}
