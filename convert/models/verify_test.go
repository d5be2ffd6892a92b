package models

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/checkpoint"
	"github.com/h5dnn/h5dnn/storage"
)

const fixtures = "../../serialize/keras/testdata/"

func Example() {
	source, err := Open(fixtures + "keras3_cnn.keras")
	if err != nil {
		panic(err)
	}
	defer source.Close()
	plan, err := New(context.Background(), source, "torch", Options{})
	if err != nil {
		panic(err)
	}
	for _, t := range plan.Tensors[:2] {
		fmt.Println(t.Name, t.Array.Shape, t.From, t.Operation)
	}
	fmt.Println(plan.Modules[0].Name, "=", plan.Modules[0].Call)
	// Output:
	// conv2d.weight [4 3 3 3] [conv2d/kernel] transpose(3 2 0 1)
	// conv2d.bias [4] [conv2d/bias] copy
	// conv2d = nn.Conv2d(3, 4, kernel_size=(3, 3), padding='same')
}

// TestVerifyComparesPredictions verifies a model that h5dnn runs and one that it does not
// run, and finds another weight by the predictions.
func TestVerifyComparesPredictions(t *testing.T) {
	for name, runs := range map[string]bool{"keras3_cnn.keras": true, "keras3_graph.keras": true, "keras3_recurrent.keras": false} {
		out := filepath.Join(t.TempDir(), "model.pt")
		s, err := Open(fixtures + name)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := New(context.Background(), s, "torch", Options{})
		if err == nil {
			err = p.Write(context.Background(), out)
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Verify(context.Background(), out)
		if err != nil || v.Predicted != runs || v.Restored == 0 || v.Written != len(p.Tensors) {
			t.Errorf("%s: %+v, %v; want predictions compared: %v", name, v, err, runs)
		}
		if !runs {
			continue
		}
		for _, e := range s.Entries {
			if strings.HasSuffix(e.Name, "kernel") && !isOptimizerState(e.Name) {
				if _, err := p.predictBoth(map[string]storage.Array{e.Name: checkpoint.Scale(e.Array, 1.1)}); err == nil {
					t.Errorf("%s: %s times 1.1 predicts the same", name, e.Name)
				}
				break
			}
		}
	}
}

// TestArraysThatAreNotRead are no obstacle for the others.
func TestArraysThatAreNotRead(t *testing.T) {
	s, err := Open("../../serialize/torch/testdata/odd2.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Entries) != 1 || len(s.Others) != 3 {
		t.Errorf("%d arrays and %d others", len(s.Entries), len(s.Others))
	}
}
