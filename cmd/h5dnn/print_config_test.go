//go:build cgo

package main

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/nn"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// originOf matches the comment at the end of a line of printed settings.
var originOf = regexp.MustCompile(`(?m)   # .*$`)

// TestPrintedSettingsAreTheRun prints the settings of each example, with flags: training by them gives the same bits, and
// they are printed again as they are.
func TestPrintedSettingsAreTheRun(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for _, file := range files {
		printed := commandOutput(t, []string{"train", file, "--epochs", "1", "--batch", "48", "--print-config"})
		settings := filepath.Join(folder, filepath.Base(file))
		data := regexp.MustCompile(`(?m)^  file: ([^ ]+)`).ReplaceAllString(printed, "  file: "+here+"/$1")
		if err := os.WriteFile(settings, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		again := commandOutput(t, []string{"train", settings, "--print-config"})
		if a, b := originOf.ReplaceAllString(data, ""), originOf.ReplaceAllString(again, ""); a != b {
			t.Errorf("%s: printed\n%s\nand then\n%s", file, a, b)
		}
		var states [2]map[string]storage.Array
		for i, args := range [][]string{{file, "--epochs", "1", "--batch", "48"}, {settings}} {
			out := filepath.Join(folder, "run.h5")
			if status, _, errs := in(t, context.Background(), append([]string{"train", "--force", "-o", out}, args...)...); status != 0 {
				t.Fatalf("%v: %s", args, errs)
			}
			run, err := train.Resume(out, storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			states[i] = maps.Collect(nn.StateDict(run.Model))
		}
		for name, a := range states[0] {
			if b := states[1][name]; !slices.Equal(storage.Elements[float32](a), storage.Elements[float32](b)) {
				t.Errorf("%s: %s differs", file, name)
			}
		}
	}
}

// TestSettingsHaveOrigins: flags, lines, the data and defaults, also inside of losses, metrics, targets and so on.
func TestSettingsHaveOrigins(t *testing.T) {
	withDigits(t)
	const text = `data: {file: testdata/digits.h5, x: train/images, y: {kind: train/labels}}
model: mlp
targets:
  kind: {Cross-Entropy: 0.1}
optimizer:
  adamw: {betas: [0.8, 0.99], weight_decay: 0.02}
schedule: {warmup: {epochs: 1}}
metrics:
  - accuracy
  - top_k: 3
callbacks:
  - limit: {epochs: 2}
`
	if err := os.WriteFile("c.yaml", []byte(strings.Replace(text, "{Cross-Entropy: 0.1}", "{loss: {Cross-Entropy: 0.1}}", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	printed := commandOutput(t, []string{"train", "c.yaml", "--lr", "0.01", "--seed", "4", "--print-config"})
	for _, want := range []string{
		"  x: train/images   # c.yaml:1\n", "  normalize: {scale: ", "}   # assumed: x (uint8) is standardized as a whole", "seed: 4   # --seed\n", "epochs: 10   # default\n",
		"        label_smoothing: 0.1   # c.yaml:4\n", "        # ignore_index:   # default: none\n", "    lr: 0.01   # --lr\n", "    beta1: 0.8   # c.yaml:6\n", "    eps: 1e-8   # default\n",
		"    weight_decay: 0.02   # c.yaml:6\n", "    epochs: 1   # c.yaml:7\n", "    then: cosine   # default", "      k: 3   # c.yaml:10\n", "classes: 10   # from the data\n",
		"  - limit:\n", "      epochs: 2   # c.yaml:12\n", "      steps: 0   # default: no limit\n",
		"model:   # c.yaml:2; with all settings, and sizes from the data\n", "threads: 0   # default: all there are\n", "  # shuffle:   # default: auto\n",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("no %q in\n%s", want, printed)
		}
	}
	for args, want := range map[string]string{
		"train c.yaml --print-config --x other":         "other",
		"train missing.yaml --print-config":             "missing.yaml: no such file",
		"train --resume run.h5 --print-config":          "h5dnn inspect run.h5 prints those that a run has",
		"train c.yaml --data missing.h5 --print-config": "missing.h5: no such file",
	} {
		if status, _, errs := in(t, context.Background(), strings.Fields(args)...); status != 2 && status != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %q; want %q", args, status, errs, want)
		}
	}
}
