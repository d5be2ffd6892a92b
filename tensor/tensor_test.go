package tensor_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

func TestStepReturnsExpressionErrors(t *testing.T) {
	err := tensor.Step(func(tape *tensor.Tape) error {
		x := tape.Input(storage.From(make([]float64, 6), 2, 3))
		x.MatMul(x)
		return nil
	})
	if want := "matmul: shapes [2 3] and [2 3] do not chain"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if !errors.Is(err, tensor.ErrShape) || errors.Is(err, tensor.ErrState) {
		t.Errorf("%v is of the wrong kind", err)
	}
}

func TestErrorsOfKernelsNameTheOperationOnce(t *testing.T) {
	logits, labels := tensor.FromArray(storage.From(make([]float32, 6), 2, 3)), tensor.FromArray(storage.From([]uint8{1, 7}, 2))
	err := tensor.Try(func() { tensor.CrossEntropy(logits, labels) })
	if want := "cross entropy: row 1 has label 7; want 0 to 2"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestFilesCannotCompute(t *testing.T) {
	a := storage.From([]float64{1}, 1)
	a.Data = onFile{a.Data}
	err := tensor.Try(func() { tensor.FromArray(a).Add(tensor.FromArray(a)) })
	if want := "add: file:train.h5 holds data but cannot compute; move it first"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want %s", err, want)
	}
	if !errors.Is(err, tensor.ErrDevice) {
		t.Errorf("%v is of the wrong kind", err)
	}
}

// onFile pretends that a storage is in a file.
type onFile struct{ storage.Storage }

func (onFile) Device() storage.Device { return storage.File("train.h5") }

func TestResultsEndWithTheirStep(t *testing.T) {
	var escaped, kept *tensor.Tensor
	err := tensor.Step(func(tape *tensor.Tape) error {
		escaped = tape.Input(storage.From([]float32{1, 2}, 2)).MulScalar(2)
		kept = escaped.CloneDetached()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tensor.Values[float32](kept), []float32{2, 4}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	err = tensor.Try(func() { escaped.MulScalar(2) })
	if !errors.Is(err, tensor.ErrState) {
		t.Errorf("error %v, want one of kind %v", err, tensor.ErrState)
	}
}

func TestBackwardAddsUpUntilCleared(t *testing.T) {
	x := tensor.FromSlice([]float64{1, 2, 3}, 3).RequireGrad()
	for range 2 {
		x.Mul(x).Sum().Backward()
	}
	if got, want := tensor.Values[float64](x.Grad), []float64{4, 8, 12}; !slices.Equal(got, want) {
		t.Errorf("after two passes %v, want %v", got, want)
	}
	x.ZeroGrad()
	if x.Grad != nil {
		t.Errorf("after ZeroGrad %v, want nil", x.Grad)
	}
}

func TestWritingToWhatAGradientNeedsIsRefused(t *testing.T) {
	x := tensor.FromSlice([]float64{1, 2, 3}, 3).RequireGrad()
	y := x.Mul(x).Sum()
	x.Detach().Fill(0)
	if err := tensor.Try(func() { y.Backward() }); !errors.Is(err, tensor.ErrState) {
		t.Errorf("error %v, want one of kind %v", err, tensor.ErrState)
	}
	if x.Exp().Fill(0).RequiresGrad() {
		t.Error("a gradient reaches what was overwritten by a constant")
	}
}

// TestSharedInputsAddUp: y is used twice, along paths of different length.
func TestSharedInputsAddUp(t *testing.T) {
	x := tensor.FromSlice([]float64{3}, 1).RequireGrad()
	y := x.Mul(x)              // 9
	z := y.Mul(y).Add(y).Sum() // x⁴ + x²
	z.Backward()
	if got, want := x.Grad.Item(), 4*27.0+2*3; got != want {
		t.Errorf("gradient %v, want %v", got, want)
	}
}

func TestMixedTypesPromote(t *testing.T) {
	x := tensor.FromSlice([]int16{1, 2}, 2)
	y := tensor.FromSlice([]float64{0.5, 0.5}, 2)
	if got, want := tensor.Values[float64](x.Add(y)), []float64{1.5, 2.5}; !slices.Equal(got, want) {
		t.Errorf("int16 + float64 = %v, want %v", got, want)
	}
	half := tensor.FromSlice([]float32{1}, 1).AddScalar(0.1)
	if half.DType().String() != "float32" {
		t.Errorf("a number widened float32 to %v", half.DType())
	}
}

// BenchmarkSteadyStep reports the allocations of a training step; they do not
// depend on the batch.
func BenchmarkSteadyStep(b *testing.B) {
	for _, batch := range []int{16, 64, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			b.ReportAllocs()
			x := storage.From(make([]float32, batch*784), batch, 784)
			labels := storage.From(make([]uint8, batch), batch)
			w1, b1 := leaf(128, 784), leaf(128)
			w2, b2 := leaf(10, 128), leaf(10)
			for b.Loop() {
				err := tensor.Step(func(t *tensor.Tape) error {
					h := tensor.Linear(t.Input(x), w1, b1, tensor.ReLUActivation)
					loss := tensor.CrossEntropy(tensor.Linear(h, w2, b2, tensor.NoActivation), t.Input(labels))
					for p, g := range tensor.Gradients(loss) {
						tensor.UpdateLeaves([]tensor.Update{{Leaf: p, Grad: g}}, tensor.SGDOptions{Rate: 0.01}, nil)
					}
					return nil
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func leaf(shape ...int) *tensor.Tensor {
	a, err := storage.Make(storage.CPU, dtype.Float32, shape...)
	if err != nil {
		panic(err)
	}
	tensor.FillUniform(a, -0.1, 0.1, tensor.Key{Seed: 1})
	return tensor.Leaf(a)
}

func ExampleTensor_Backward() {
	x := tensor.FromSlice([]float64{1, 2, 3}, 3).RequireGrad()
	loss := x.Mul(x).Sum() // Σ x²
	loss.Backward()
	fmt.Println(tensor.Values[float64](x.Grad))
	// Output: [2 4 6]
}

func ExampleStep() {
	w := tensor.FromSlice([]float32{0.5, -0.5}, 1, 2).RequireGrad()
	err := tensor.Step(func(t *tensor.Tape) error {
		x := t.Input(storage.From([]float32{1, 2, 3, 4}, 2, 2))
		y := t.Input(storage.From([]float32{1, 2}, 2, 1))
		loss := tensor.MeanSquaredError(tensor.Linear(x, w, nil, tensor.NoActivation), y)
		for p, g := range tensor.Gradients(loss) {
			tensor.UpdateLeaves([]tensor.Update{{Leaf: p, Grad: g}}, tensor.SGDOptions{Rate: 0.1}, nil)
		}
		return nil
	})
	fmt.Println(tensor.Values[float32](w), err)
	// Output: [1.4 0.8] <nil>
}
