//go:build cgo

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFindRateLeavesNothing: --find-lr prints the losses and a rate, and writes no file.
func TestFindRateLeavesNothing(t *testing.T) {
	withDigits(t)
	before, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat(digitFlags, []string{"--find-lr"})
	status, out, errs := in(t, context.Background(), args...)
	if status != 0 || !strings.Contains(out, "falls fastest at --lr 0.") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	if after, err := os.ReadDir("."); err != nil || len(after) != len(before) {
		t.Errorf("%d files, %d before, %v", len(after), len(before), err)
	}
	if status, _, errs := in(t, context.Background(), "train", "--resume", "run.h5", "--find-lr"); status == 0 || !strings.Contains(errs, "leave --resume out") {
		t.Errorf("with --resume: status %d, %q", status, errs)
	}
}
