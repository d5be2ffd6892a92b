//go:build cgo

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/train"
)

// TestRunsAreCompared: runs of a folder, one of them of schema 1, have a row each with the settings in which they differ,
// in the order that is asked for. Other files are counted, and damaged ones are named.
func TestRunsAreCompared(t *testing.T) {
	old, err := os.ReadFile("../../train/testdata/run_schema1.npz")
	if err != nil {
		t.Fatal(err)
	}
	withDigits(t)
	if err := os.MkdirAll("runs/below", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"runs/below/old.npz": old, "runs/damaged.h5": []byte("no run")} {
		if err := os.WriteFile(name, content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, flags := range map[string][]string{"runs/a.h5": {"--lr", "0.001"}, "runs/b.npz": {"--lr", "0.01"}, "runs/c.h5": {"--optimizer", "sgd", "--lr", "1e-6"}} {
		if status, _, errs := in(t, context.Background(), slices.Concat(digitFlags, flags, []string{"--epochs", "2", "--split", "0.2", "-o", name})...); status != 0 {
			t.Fatal(errs)
		}
	}
	status, out, errs := in(t, context.Background(), "runs", "runs", "--sort", "val_loss", "--json")
	if status != 0 || !strings.HasPrefix(errs, "note: 1 file not read: runs/damaged.h5: ") || strings.Count(errs, "\n") != 1 {
		t.Fatalf("status %d, %q", status, errs)
	}
	var names []string
	for line := range strings.Lines(out) {
		var row struct {
			Run      string
			Settings map[string]any
			Last     map[string]float64
			Best     map[string]struct {
				Value float64
				Epoch int
			}
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		names = append(names, row.Run)
		run, err := train.ReadHistory(row.Run)
		if err != nil {
			t.Fatal(err)
		}
		best := row.Best["val_loss"]
		if losses := run.History["val_loss"]; row.Last["val_loss"] != losses[len(losses)-1] || best.Value != slices.Min(losses) || losses[best.Epoch-1] != best.Value {
			t.Errorf("%s: last %v, best %v; want them of %v", row.Run, row.Last, best, losses)
		}
		if _, differs := row.Settings["optimizer"]; !differs || row.Settings["data.x_columns"] != nil {
			t.Errorf("%s: settings %v", row.Run, row.Settings)
		}
	}
	if len(names) != 4 || slices.Index(names, "runs/c.h5") != 3 {
		t.Errorf("order by val_loss: %q; want the slow learner last of 4", names)
	}
	if status, _, errs := in(t, context.Background(), "runs", "runs", "--sort", "val_los"); status == 0 || !strings.Contains(errs, "val_loss") {
		t.Errorf("an unknown metric: status %d, %q", status, errs)
	}
	if status, _, errs := in(t, context.Background(), "runs", "testdata"); status == 0 || !strings.Contains(errs, "no run among ") {
		t.Errorf("a folder without runs: status %d, %q", status, errs)
	}
}

// TestTableOfRunsFitsTheTerminal, and keeps the names and the best loss.
func TestTableOfRunsFitsTheTerminal(t *testing.T) {
	losses := []float64{2, 1, 1.5}
	runs := []runRecord{
		{"a.h5", &train.Run{Config: train.Config{Epochs: 3}, History: train.History{"val_loss": losses, "val_accuracy": {0.5, 0.9, 0.8}, "seconds": {1, 2, 3}}}, nil},
		{"b.h5", &train.Run{Config: train.Config{Epochs: 3}, History: train.History{"val_loss": losses[:1], "seconds": {4000}}}, nil},
	}
	different := []setting{{"optimizer.adam.lr", []any{0.001, 0.01}}, {"model", []any{"mlp", []any{"flatten", map[string]any{"dense": 1}}}}}
	for width, left := range map[int]string{40: "no room for epochs, val_loss, val_accuracy", 80: "no room for ", 200: ""} {
		var out bytes.Buffer
		if err := showRuns(&out, runs, different, width); err != nil {
			t.Fatal(err)
		}
		table, rest, _ := strings.Cut(out.String(), "no room")
		for line := range strings.Lines(table) {
			if len([]rune(strings.TrimSuffix(line, "\n"))) > width {
				t.Errorf("%d columns: %q", width, line)
			}
		}
		if !strings.Contains(table, "a.h5") || !strings.Contains(table, "1.0000 @2") || !strings.HasPrefix("no room"+rest, left) || (left == "") != (rest == "") {
			t.Errorf("%d columns:\n%s", width, out.String())
		}
		if left == "" && (!strings.Contains(table, "1:06:40") || !strings.Contains(table, "flatten-dense") || !strings.Contains(table, "90.00% @2")) {
			t.Errorf("a table of all columns:\n%s", table)
		}
	}
}

// TestFoldersThatCannotBeReadAreNamed, and are not taken for folders without runs.
func TestFoldersThatCannotBeReadAreNamed(t *testing.T) {
	for name, err := range filesOf(filepath.Join(t.TempDir(), "gone"), true) {
		if filepath.Base(name) != "gone" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
		return
	}
	t.Error("nothing is said of a folder that is gone")
}
