package main

import (
	"context"
	"path/filepath"
	"testing"
)

// TestExamplesTrain trains an epoch of each example.
func TestExamplesTrain(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("examples %v, %v", files, err)
	}
	for _, file := range files {
		run := filepath.Join(t.TempDir(), "run.h5")
		if status, _, errs := in(t, context.Background(), "train", file, "--epochs", "1", "-o", run); status != 0 {
			t.Errorf("%s: status %d: %s", file, status, errs)
		}
	}
}
