package models

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models/weights"
	"github.com/h5dnn/h5dnn/storage"
)

const fixtures = "../serialize/kerasfile/testdata/"

// TestVerifyComparesPredictions verifies models, and finds another weight by the predictions. Those of bfloat16.h5 are infinite.
func TestVerifyComparesPredictions(t *testing.T) {
	for _, name := range []string{"keras3_cnn.keras", "keras3_graph.keras", "keras3_recurrent.keras", "bfloat16.h5"} {
		out := filepath.Join(t.TempDir(), "model.pt")
		s, err := Open(fixtures + name)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		p, err := New(s, "torch", Options{})
		if err == nil {
			err = p.Write(context.Background(), out)
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Verify(context.Background(), out)
		if err != nil || !v.Predicted || v.Restored == 0 || v.Written != len(p.Tensors) {
			t.Errorf("%s: %+v, %v; want predictions compared", name, v, err)
		}
		for _, e := range s.Entries {
			if strings.HasSuffix(e.Name, "kernel") && !s.isOptimizerState(e.Name) && name != "bfloat16.h5" {
				if _, _, err := p.predict(nil, map[string]storage.Array{e.Name: weights.Scale(e.Array, 1.1)}); err == nil {
					t.Errorf("%s: %s times 1.1 predicts the same", name, e.Name)
				}
				break
			}
		}
	}
}

// TestVerifyPredictsWithRules: names of the user's own do not keep predictions from being compared.
func TestVerifyPredictsWithRules(t *testing.T) {
	out := filepath.Join(t.TempDir(), "model.pt")
	s, err := Open(fixtures + "keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rules := weights.Rules{Modules: map[string]string{"conv2d": "features.0"}}
	p, err := New(s, "torch", Options{Rules: &rules})
	if err == nil {
		err = p.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	if p.Tensors[0].Name != "features.0.weight" {
		t.Errorf("the first tensor is called %s", p.Tensors[0].Name)
	}
	if v, err := p.Verify(context.Background(), out); err != nil || !v.Predicted {
		t.Errorf("%+v, %v; want predictions compared", v, err)
	}
}

// TestArraysThatAreNotRead are no obstacle for the others.
func TestArraysThatAreNotRead(t *testing.T) {
	s, err := Open("../serialize/torch/testdata/odd2.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Entries) != 1 || len(s.Others) != 3 {
		t.Errorf("%d arrays and %d others", len(s.Entries), len(s.Others))
	}
}
