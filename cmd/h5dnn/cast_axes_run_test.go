//go:build cgo

package main

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
)

// TestAxesOfRuns are those of the layers of the model, whose transposed convolutions have the outputs on axis 1.
func TestAxesOfRuns(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.h5")
	if status, _, errs := in(t, t.Context(), "convert", "../../serialize/kerasfile/testdata/keras3_signals.keras", name, "--framework", "h5dnn", "--allow-loss"); status != 0 {
		t.Fatal(errs)
	}
	file, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	axes, err := runAxes(name, file)
	if err != nil || len(axes) != 1 || axes["model/conv1d_transpose.weight"] != 1 {
		t.Errorf("axes %v, %v; want 1 of the transposed convolution", axes, err)
	}
}
