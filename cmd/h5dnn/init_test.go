//go:build cgo

package main

import (
	"context"
	"errors"
	"os"
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
				_, err = newRun(context.Background(), configuration(proposals[0], file, ""), "-")
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
				run, err := newRun(context.Background(), configuration(p, file, ""), "-")
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

// TestProposalsTrain: what init writes for files of dense labels, of two targets and of tokens is trained as it is.
func TestProposalsTrain(t *testing.T) {
	for _, c := range []struct {
		program string
		flags   []string
		want    []string // in the configuration
	}{
		{"./examples/segmentation/make", nil, []string{"y: /train/masks", "val_y: /val/masks", "loss: cross_entropy   # a label for each place", "metrics: [iou]   # "}},
		{"./examples/segmentation/make", []string{"-x", "train/images", "-y", "train/kinds", "-y", "train/places"}, []string{"y_kinds: {loss: cross_entropy}   # labels of classes, whose accuracy is shown", "y_places: {loss: mse, metrics: [mae, r2]}"}},
		{"./examples/tagger/make", nil, []string{"y: /train/tags", "embedding: {num_embeddings: 80", "padding_idx: 0}   # integers from 0 to 79", "loss: {cross_entropy: {ignore_index: -100}}   # the label -100"}},
	} {
		data := madeBy(t, c.program)
		settings, run := filepath.Join(t.TempDir(), "c.yaml"), filepath.Join(t.TempDir(), "run.h5")
		commandOutput(t, append([]string{"init", data, settings}, c.flags...))
		text, err := os.ReadFile(settings)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: no %q in\n%s", c.program, want, text)
			}
		}
		commandOutput(t, []string{"train", settings, "--epochs", "1", "-o", run})
	}
}
