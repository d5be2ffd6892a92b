package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// small is a network of operations that autocast computes in the narrow type or in float32.
func small(t *tensor.Tape, w []*tensor.Tensor) (hidden, logits, loss *tensor.Tensor) {
	x := make([]float32, 4*2*5*5)
	for i := range x {
		x[i] = float32(math.Sin(float64(i)))
	}
	images := t.Input(storage.From(x, 4, 2, 5, 5))
	hidden = tensor.Conv(images, w[0], w[1], tensor.ConvOptions{Act: tensor.ReLUActivation})
	logits = tensor.Linear(hidden.Contiguous().Reshape(4, 27), w[2], w[3], tensor.NoActivation)
	return hidden, logits, tensor.CrossEntropy(logits, t.Input(storage.From([]uint8{0, 1, 2, 3}, 4)))
}

func weights() []*tensor.Tensor {
	return []*tensor.Tensor{leaf(3, 2, 3, 3), leaf(3), leaf(5, 27), leaf(5)}
}

// TestAutocastNarrowsProductsOnly checks the types of results, and compares gradients with
// those of float32: they are rounded to 8 bits or 11.
func TestAutocastNarrowsProductsOnly(t *testing.T) {
	grads := func(low dtype.Type) (all [][]float64) {
		w := weights()
		err := tensor.Step(func(tape *tensor.Tape) error {
			want := dtype.Float32
			if low != dtype.Invalid {
				tape.Autocast(low)
				want = low
			}
			hidden, logits, loss := small(tape, w)
			for what, got := range map[string]dtype.Type{"convolution": hidden.DType(), "product": logits.DType(), "matmul": hidden.Contiguous().Reshape(4, 27).MatMul(w[2].T()).DType()} {
				if got != want {
					t.Errorf("%v: a %s of %v", low, what, got)
				}
			}
			for what, got := range map[string]dtype.Type{"loss": loss.DType(), "softmax": logits.Softmax(1).DType(), "sum": logits.Sum().DType(), "mean": logits.Mean().DType(), "exponential": logits.Exp().DType()} {
				if got != dtype.Float32 {
					t.Errorf("%v: a %s of %v", low, what, got)
				}
			}
			found := tensor.Gradients(loss)
			for _, x := range w {
				if found[x].DType() != dtype.Float32 {
					t.Errorf("%v: a gradient of %v", low, found[x].DType())
				}
				all = append(all, tensor.Values[float64](found[x]))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := grads(dtype.Invalid)
	for low, tolerance := range map[dtype.Type]float64{dtype.BFloat16: 0.02, dtype.Float16: 0.002} {
		for i, g := range grads(low) {
			if slices.Equal(g, want[i]) {
				t.Errorf("%v: gradient %d is that of float32, bit by bit", low, i)
			}
			for k := range g {
				if !(math.Abs(g[k]-want[i][k]) <= tolerance*(0.1+math.Abs(want[i][k]))) {
					t.Errorf("%v: gradient %d, element %d is %v; want about %v", low, i, k, g[k], want[i][k])
				}
			}
		}
	}
}

// TestScaledLossesKeepSmallGradients: gradients below 2⁻²⁴ underflow in float16 unless the
// loss is scaled.
func TestScaledLossesKeepSmallGradients(t *testing.T) {
	scaler, err := tensor.NewLossScaler(storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	gradient := func(scaled bool) float64 {
		w := tensor.FromSlice([]float32{1, 1}, 1, 2).RequireGrad()
		found := 0.0
		err := tensor.Step(func(tape *tensor.Tape) error {
			tape.Autocast(dtype.Float16)
			loss := tensor.Linear(tape.Input(storage.From([]float32{1, 1}, 1, 2)), w, nil, tensor.NoActivation).MulScalar(1).ToFloat32().MulScalar(1e-9).Sum()
			if scaled {
				loss = scaler.Scale(loss)
			}
			g := tensor.Gradients(loss)[w]
			scaler.CheckFinite(g)
			found = tensor.Values[float64](g)[0]
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := gradient(false); got != 0 {
		t.Errorf("1e-9 in float16 is %v, want 0", got)
	}
	if got := gradient(true) / 65536; math.Abs(got-1e-9) > 1e-11 {
		t.Errorf("scaled, 1e-9 is %v", got)
	}
	if state := storage.Elements[float32](scaler.Array); state[2] != 0 {
		t.Errorf("guard %v, want no bad gradient", state)
	}
}
