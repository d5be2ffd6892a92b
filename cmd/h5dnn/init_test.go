//go:build cgo

package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/propose"
)

// TestRefusalsNameWhatWorks: what a refusal says that the user may ask for leads to a proposal that train starts with.
func TestRefusalsNameWhatWorks(t *testing.T) {
	files, err := filepath.Glob("../../testdata/kinds/*")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, "../../testdata/guesses.h5", "../../testdata/cells.h5ad", "../../testdata/climate.nc")
	named := 0
	for _, file := range files {
		for _, task := range append([]propose.Task{""}, propose.Tasks...) {
			_, err := proposalsFor(context.Background(), file, propose.Wishes{Task: task})
			refusal := (*propose.Refusal)(nil)
			if !errors.As(err, &refusal) || flagsOf(refusal.Ask) == "" {
				continue
			}
			named++
			proposals, err := proposalsFor(context.Background(), file, refusal.Ask)
			if err == nil {
				_, err = newRun(context.Background(), configuration(proposals[0], file), "-")
			}
			if err != nil {
				t.Errorf("%s, task %q: refused with %s, then: %v", file, task, flagsOf(refusal.Ask), err)
			}
		}
	}
	if named < 8 {
		t.Errorf("only %d refusals name flags", named)
	}
}

// TestEveryProposalStarts: train starts with whatever init proposes, the first choice and the others, for every task
// that was asked for and none, with a model of a sane size.
func TestEveryProposalStarts(t *testing.T) {
	const mostParams = 1 << 20
	files, err := filepath.Glob("../../testdata/kinds/*")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	files = append(files, "../../testdata/digits.h5", "../../testdata/guesses.h5", "../../testdata/episodes.h5", "../../testdata/cells.h5ad", "../../testdata/climate.nc")
	started := 0
	for _, file := range files {
		for _, task := range append([]propose.Task{""}, propose.Tasks...) {
			proposals, err := proposalsFor(context.Background(), file, propose.Wishes{Task: task})
			if err != nil {
				continue // nothing is likely
			}
			for _, p := range proposals {
				run, err := newRun(context.Background(), configuration(p, file), "-")
				if err != nil && filepath.Base(file) == "cells.h5ad" && strings.Contains(err.Error(), "set data.missing: ignore") {
					continue // categories of numbers that some rows do not have, as values: init prints this error
				}
				if err != nil {
					t.Errorf("%s, task %q: %v -> %v: %v", file, task, p.X, p.Y, err)
					continue
				}
				if n := nn.SizeOf(run.Model).Params; n > mostParams {
					t.Errorf("%s, task %q: %v -> %v: a model of %d parameters", file, task, p.X, p.Y, n)
				}
				started++
			}
		}
	}
	if started < 50 {
		t.Errorf("only %d proposals", started)
	}
}
