package kernels

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// numbers is an array in testdata/pytorch.json.
type numbers struct {
	Shape  []int
	Values []float64
}

func (n numbers) array() storage.Array {
	return storage.From(slices.Clone(n.Values), n.Shape...)
}

// TestReferenceLoopsAgreeWithPyTorch compares references with the results of PyTorch
// that testdata/pytorch.py wrote.
func TestReferenceLoopsAgreeWithPyTorch(t *testing.T) {
	text, err := os.ReadFile("testdata/pytorch.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Kernel  string
			In, Out []numbers
			Set     struct {
				Act               Activation
				Epsilon, Momentum float64
				Limit             float64
				Before            []numbers
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for i, k := range file.Cases {
		s := k.Set
		var in, out []storage.Array
		for _, n := range k.In {
			in = append(in, n.array())
		}
		for _, n := range k.Out {
			out = append(out, storage.From(make([]float64, len(n.Values)), n.Shape...))
		}
		for j, n := range s.Before {
			out[3+j] = n.array()
		}
		var err error
		switch k.Kernel {
		case "matmul":
			err = MatMul.Reference(&Call{Out: out, In: in})
		case "linear":
			err = Linear.Reference(&Call{Out: out, In: in, Options: LinearOptions{Act: s.Act}})
		case "layer norm":
			err = LayerNorm.Reference(&Call{Out: out, In: in, Options: LayerNormOptions{s.Epsilon}})
		case "layer norm grad":
			err = LayerNormGrad.Reference(&Call{Out: out, In: in})
		case "clip factor":
			err = ClipFactor.Reference(&Call{Out: out, In: in, Options: ClipFactorOptions{Limit: s.Limit}})
		case "scale all":
			err = Scale.Reference(&Call{Out: out, In: in})
		default:
			kernel := map[string]*Kernel{"batch norm": BatchNorm, "batch norm eval": BatchNormEval, "batch norm grad": BatchNormGrad, "batch norm eval grad": BatchNormEvalGrad}[k.Kernel]
			err = kernel.Reference(&Call{Out: out, In: in, Options: BatchNormOptions{Epsilon: s.Epsilon, Momentum: s.Momentum}})
		}
		if err != nil {
			t.Fatalf("case %d, %s: %v", i, k.Kernel, err)
		}
		for j, n := range k.Out {
			compare(t, fmt.Sprintf("case %d, %s, output %d", i, k.Kernel, j), storage.Elements[float64](out[j]), n.Values, 1e-10)
		}
	}
}
