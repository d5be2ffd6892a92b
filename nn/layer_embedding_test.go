package nn_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// TestEmbeddingsAgreeWithPyTorch compares rows and gradients with those that PyTorch 2.15 gives for
//
//	e = torch.nn.Embedding(4, 2, padding_idx=1); e.weight.data = torch.arange(8.).reshape(4, 2) / 4
//	y = e(torch.tensor([[3, 1, 0], [3, 3, 1]])); y.backward(torch.arange(12.).reshape(2, 3, 2))
//
// for integers of several types, on both devices.
func TestEmbeddingsAgreeWithPyTorch(t *testing.T) {
	rows := []float64{1.5, 1.75, 0.5, 0.75, 0, 0.25, 1.5, 1.75, 1.5, 1.75, 0.5, 0.75}
	gradient := []float64{4, 5, 0, 0, 0, 0, 14, 17}
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		for _, tokens := range []storage.Array{storage.From([]int64{3, 1, 0, 3, 3, 1}, 2, 3), storage.From([]uint8{3, 1, 0, 3, 3, 1}, 2, 3), storage.From([]int16{3, 1, 0, 3, 3, 1}, 2, 3)} {
			e := fromJSON(t, `{"embedding": {"num_embeddings": 4, "embedding_dim": 2, "padding_idx": 1, "dtype": "float64"}}`).(*nn.Embedding)
			if got := tensor.Values[float64](e.Weight.Tensor); got[2] != 0 || got[3] != 0 || slices.Contains(got[4:], 0) {
				t.Errorf("initial weights %v; want zeros in row 1 alone", got)
			}
			copy(storage.Elements[float64](e.Weight.Array()), []float64{0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 1.75})
			if err := nn.To(e, d); err != nil {
				t.Fatal(err)
			}
			dy := make([]float64, 12)
			for i := range dy {
				dy[i] = float64(i)
			}
			err := tensor.Step(func(tape *tensor.Tape) error {
				y := e.Forward(tape.Input(to(t, d, tokens)))
				grads := tensor.Gradients(y, tape.Input(to(t, d, storage.From(dy, 2, 3, 2))))
				if got := tensor.Values[float64](y); !slices.Equal(y.Shape(), []int{2, 3, 2}) || !slices.Equal(got, rows) {
					t.Errorf("%v on %v: %v%v; want %v", tokens.Type, d, y.Shape(), got, rows)
				}
				if got := tensor.Values[float64](grads[e.Weight.Tensor]); !slices.Equal(got, gradient) {
					t.Errorf("%v on %v: gradient %v; want %v", tokens.Type, d, got, gradient)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestEmbeddingRefusesOtherInputs names the integer that counts no row, and floats.
func TestEmbeddingRefusesOtherInputs(t *testing.T) {
	for _, d := range []storage.Device{storage.CPU, cudatest.Devices(t, cudatest.Deferred)[0]} {
		e := nn.NewEmbedding(nn.EmbeddingOptions{NumEmbeddings: 4, EmbeddingDim: 2, Device: d})
		for _, c := range []struct {
			input storage.Array
			want  string
		}{
			{storage.From([]int64{0, 4}, 1, 2), "index 1 is 4; want 0 to 3"}, {storage.From([]int64{0, -1}, 1, 2), "-1"}, {storage.From([]float32{0, 1}, 1, 2), "inputs of float32; want integers"},
		} {
			err := synced(d, func() { e.Forward(tensor.FromArray(to(t, d, c.input))) })
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("on %v: %v; want one with %q", d, err, c.want)
			}
		}
	}
}

func ExampleEmbedding() {
	e := nn.NewEmbedding(nn.EmbeddingOptions{NumEmbeddings: 10, EmbeddingDim: 3})
	fmt.Println(e.Forward(tensor.FromSlice([]int64{7, 0, 7, 2}, 2, 2)).Shape())
	// Output: [2 2 3]
}
