package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimesOfNumPyAreKept: times stay times in .npy and .npz.
func TestTimesOfNumPyAreKept(t *testing.T) {
	folder, err := filepath.Abs("../../serialize/npy/testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	times := filepath.Join(folder, "times.npy")
	for _, args := range [][]string{
		{"slice", times, "-o", "whole.npy"}, {"slice", times + "[:1]", "-o", "part.npy"}, {"convert", times, "whole.npz", "--verify"},
	} {
		if status, _, errs := in(t, context.Background(), args...); status != statusFine {
			t.Fatalf("%q: status %d, %s", args, status, errs)
		}
		out := args[len(args)-1]
		if out == "--verify" {
			out = args[2]
		}
		if b, err := os.ReadFile(out); err != nil || !strings.Contains(string(b), "<M8[s]") {
			t.Errorf("%s is not of NumPy's type of times: %v", out, err)
		}
	}
}
