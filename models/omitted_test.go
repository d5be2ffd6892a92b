package models_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/models"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestWhatAFileHasBesideArraysIsLost: a module's class and its attributes are in no format that is written.
func TestWhatAFileHasBesideArraysIsLost(t *testing.T) {
	plan := planned(t, "../serialize/torch/testdata/omitted_module.pt", "safetensors", models.Options{Framework: "pytorch"})
	for _, item := range plan.Lost {
		if strings.Contains(item.Reason, "a module of class") {
			return
		}
	}
	t.Errorf("lost %v; want a module of a class", plan.Lost)
}

// TestGoBackwardsIsNamedBothWays: PyTorch's modules lack the setting, not the weights.
func TestGoBackwardsIsNamedBothWays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rnn.pt")
	plan := planned(t, "testdata/rnn.keras", "torch", models.Options{})
	if len(plan.Lost) != 1 || plan.Lost[0].Path != "backward" || !strings.Contains(plan.Lost[0].Reason, "go_backwards") {
		t.Errorf("lost %v; want go_backwards of backward", plan.Lost)
	}
	if err := plan.Write(context.Background(), file); err != nil {
		t.Fatal(err)
	}
	architecture, err := models.ReadArchitecture("testdata/rnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	plan = planned(t, file, "keras", models.Options{Architecture: architecture})
	if !slices.ContainsFunc(plan.Notes, func(note string) bool { return strings.Contains(note, "backward does not compute") }) || len(plan.Lost) > 0 || plan.Err() != nil {
		t.Errorf("notes %q, lost %v, %v; want a note of backward", plan.Notes, plan.Lost, plan.Err())
	}
}
