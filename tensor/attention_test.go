package tensor_test

import (
	"math"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestAttentionByBlocksEqualsItsComposite compares float32, computed by blocks of keys, with float64, a composite of other operations: results,
// gradients and gradients of these, of sequences beyond a block.
func TestAttentionByBlocksEqualsItsComposite(t *testing.T) {
	const samples, heads, steps, size = 2, 4, 70, 8
	sequence := func(float dtype.Type, by float64, shape ...int) *tensor.Tensor {
		n := tensor.Zeros(dtype.Float64, shape...).Len()
		return tensor.Arange(dtype.Float64, 1, float64(1+n), 1).MulScalar(by).Sin().Reshape(shape...).Cast(float)
	}
	keeps := sequence(dtype.Float64, 0.7, samples, 1, steps, steps).GtScalar(-0.5)
	for name, o := range map[string]tensor.AttentionOptions{
		"plain": {}, "causal": {Causal: true}, "mask": {Mask: keeps}, "dropout": {P: 0.3, Key: tensor.Key{Seed: 4, Stream: 1}, Causal: true},
	} {
		results := func(float dtype.Type) (list [][]float64) {
			rows := sequence(float, 1.3, samples, steps, 2*heads*size).RequireGrad()
			parts := rows.Split(-1, heads*size, heads*size/2, heads*size/2)
			split := func(x *tensor.Tensor) *tensor.Tensor { return x.Unflatten(-1, -1, size).Transpose(1, 2) }
			y := tensor.Attention(split(parts[0]), split(parts[1]), split(parts[2]), o)
			loss := y.Mul(sequence(float, 0.9, y.Shape()...)).Sum()
			plain := tensor.Grad([]*tensor.Tensor{loss}, []*tensor.Tensor{rows}, tensor.GradOptions{RetainGraph: true})[0]
			first := tensor.Grad([]*tensor.Tensor{loss}, []*tensor.Tensor{rows}, tensor.GradOptions{CreateGraph: true})[0]
			second := tensor.Grad([]*tensor.Tensor{first.Mul(first).Sum()}, []*tensor.Tensor{rows}, tensor.GradOptions{})[0]
			for _, x := range []*tensor.Tensor{y, plain, first, second} {
				list = append(list, tensor.Values[float64](x.Cast(dtype.Float64)))
			}
			return list
		}
		got, want := results(dtype.Float32), results(dtype.Float64)
		for i, of := range []string{"result", "gradient", "recorded gradient", "second derivative"} {
			largest := 0.0
			for _, w := range want[i] {
				largest = max(largest, math.Abs(w))
			}
			for k, w := range want[i] {
				if !(math.Abs(got[i][k]-w) <= 5e-6*largest) {
					t.Errorf("%s: element %d of the %s is %v, want %v", name, k, of, got[i][k], w)
					break
				}
			}
		}
	}
}

// TestQueriesWithoutKeys have the result 0 and no gradient, by blocks and as a composite.
func TestQueriesWithoutKeys(t *testing.T) {
	for _, float := range []dtype.Type{dtype.Float32, dtype.Float64} {
		for name, mask := range map[string]*tensor.Tensor{
			"bools":  tensor.FromSlice([]bool{false, false, false, true, false, true}, 2, 3),
			"floats": tensor.FromSlice([]float64{math.Inf(-1), math.Inf(-1), math.Inf(-1), 0, math.Inf(-1), 1}, 2, 3).Cast(float),
		} {
			q, k := tensor.Ones(float, 1, 2, 4).RequireGrad(), tensor.Ones(float, 1, 3, 4).RequireGrad()
			y := tensor.Attention(q, k, k, tensor.AttentionOptions{Mask: mask})
			grads := tensor.Gradients(y.Sum())
			for i, got := range append(tensor.Values[float64](y.Narrow(1, 0, 1).Cast(dtype.Float64)), tensor.Values[float64](grads[q].Cast(dtype.Float64))...) {
				if got != 0 {
					t.Errorf("%v, %s: element %d of the result and of the gradient is %v, want 0", float, name, i, got)
				}
			}
		}
	}
}

// TestAttentionSharesTheLayoutOfQueries leaves heads where a product takes them without a copy.
func TestAttentionSharesTheLayoutOfQueries(t *testing.T) {
	q := tensor.Ones(dtype.Float32, 2, 5, 3, 4).Transpose(1, 2)
	if y := tensor.Attention(q, q, q, tensor.AttentionOptions{}).Transpose(1, 2); !y.Array().Contiguous() || y.Device() != storage.CPU {
		t.Errorf("rows of heads have strides %v", y.Array().Stride)
	}
}

// TestProgramsAttendByBlocks records products, a sum and a softmax, as graphs of exporters have them, and finds one attention in their place.
func TestProgramsAttendByBlocks(t *testing.T) {
	for _, shape := range [][]int{{2, 3, 70, 8}, {4, 70, 8}} {
		lead := shape[:len(shape)-1]
		for name, f := range map[string]func(in []*tensor.Tensor) *tensor.Tensor{
			"plain": func(in []*tensor.Tensor) *tensor.Tensor {
				return in[0].MatMul(in[1].T()).Softmax(-1).MatMul(in[2])
			},
			"mask": func(in []*tensor.Tensor) *tensor.Tensor {
				scores := in[0].MulScalar(0.5).MatMul(in[1].T()).Add(tensor.Arange(dtype.Float32, 0, 70, 1).MulScalar(0.01))
				return scores.Softmax(-1).MatMul(in[2]).ReLU()
			},
		} {
			in := make([]*tensor.Tensor, 3)
			specs := make([]tensor.Spec, 3)
			xs := make([]storage.Array, 3)
			for i := range in {
				n := tensor.Zeros(dtype.Float32, shape...).Len()
				in[i] = tensor.Arange(dtype.Float32, float64(i), float64(i+n), 1).Sin().Reshape(shape...)
				specs[i], xs[i] = tensor.InputSpec(dtype.Float32, shape...), in[i].Array()
			}
			p, err := tensor.Compile(func(_ *tensor.Tape, xs []*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(xs)} }, specs...)
			if err != nil {
				t.Fatal(err)
			}
			y := tensor.Zeros(dtype.Float32, append(slices.Clone(lead), 8)...)
			found := false
			for _, op := range tensor.Profile(func() { err = p.Run([]storage.Array{y.Array()}, xs) }) {
				found = found || op.Name == "attention"
				if op.Name == "softmax" || op.Name == "matmul" {
					t.Errorf("%s of %v runs %s", name, shape, op.Name)
				}
			}
			if err != nil || !found {
				t.Errorf("%s of %v: no attention (%v)", name, shape, err)
			}
			got, want := tensor.Values[float32](y), tensor.Values[float32](f(in))
			for i := range want {
				if !(math.Abs(float64(got[i]-want[i])) <= 2e-6) {
					t.Fatalf("%s of %v: element %d is %v, want %v", name, shape, i, got[i], want[i])
				}
			}
		}
	}
}
