package train_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/cuda/cudatest"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

const loggedText = `
data: {file: blobs, x: images, y: labels}
model: [flatten, {dense: 6}, relu, {dropout: 0.2}, {dense: 4}]
metrics: [f1]
epochs: 3
batch: 32
seed: 7
save_every: 2steps
callbacks:
- csv
- csv: {file: STEPS, every: 2}
- jsonl: {every: 2}
- tensorboard: {every: 2}
`

// logged trains in a folder, and copies the run file once it is saved after a step, if that is not 0.
func logged(t *testing.T, folder string, copyAfter uint64) {
	t.Helper()
	file := filepath.Join(folder, "run.npz")
	run, data := setUp(t, strings.Replace(loggedText, "STEPS", filepath.Join(folder, "steps.csv"), 1))
	copied := false
	err := run.Fit(context.Background(), data, train.Options{File: file, Callbacks: []train.Callback{train.CallbackFuncs{OnSaved: func(string) error {
		if copied || copyAfter == 0 || run.Position.Step < copyAfter {
			return nil
		}
		copied = true
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, "killed.npz"), text, 0o666)
	}}}})
	if err != nil {
		t.Fatal(err)
	}
}

// logsOf returns the lines of the logs in a folder without times.
func logsOf(t *testing.T, folder, run string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, name := range []string{run + ".csv", "steps.csv"} {
		f, err := os.Open(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		if f.Close(); err != nil {
			t.Fatal(err)
		}
		columns := slices.Clone(rows[0])
		for _, row := range rows {
			for k, column := range columns {
				if column == "samples_per_second" || column == "waiting" {
					row[k] = ""
				}
			}
			all[strings.TrimPrefix(name, run)] = append(all[strings.TrimPrefix(name, run)], strings.Join(row, ","))
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, run+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		row := map[string]any{}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		delete(row, "samples_per_second")
		delete(row, "waiting")
		all["jsonl"] = append(all["jsonl"], fmt.Sprint(row))
	}
	return all
}

// TestLogsContinueWhereTheRunWasSaved: the logs of a run that was killed after it had logged more than it had saved, and was
// resumed, are those of a run that was not interrupted, but for times.
func TestLogsContinueWhereTheRunWasSaved(t *testing.T) {
	whole := t.TempDir()
	logged(t, whole, 0)
	want := logsOf(t, whole, "run")
	if len(want[".csv"]) != 1+3 || len(want["steps.csv"]) != 1+7 || len(want["jsonl"]) != 3+7 {
		t.Fatalf("a run of 3 epochs of 5 steps has the logs %q", want)
	}
	for _, part := range []string{"epoch:1", "event:epoch", "val_f1:", "lr:", "step:5", "val_loss:", "accuracy:"} {
		if !strings.Contains(want["jsonl"][2], part) {
			t.Errorf("the row of the first epoch is %s, without %s", want["jsonl"][2], part)
		}
	}
	for _, step := range []uint64{2, 5, 8, 11} {
		folder := t.TempDir()
		logged(t, folder, step)
		for _, ending := range []string{".csv", ".jsonl"} {
			if err := os.Rename(filepath.Join(folder, "run"+ending), filepath.Join(folder, "killed"+ending)); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Rename(filepath.Join(folder, "run.tensorboard"), filepath.Join(folder, "killed.tensorboard")); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "killed.npz")
		run, err := train.Resume(file, storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		_, data := setUp(t, settings)
		if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
			t.Fatal(err)
		}
		if got := logsOf(t, folder, "killed"); !reflect.DeepEqual(got, want) {
			t.Errorf("killed after step %d:\n%q\nwithout interruption:\n%q", step, got, want)
		}
		if got, want := eventsOf(t, folder, "killed"), eventsOf(t, whole, "run"); got != want {
			t.Errorf("killed after step %d: event files of %d and %d bytes", step, got, want)
		}
	}
}

// eventsOf returns the bytes of the event file of a run.
func eventsOf(t *testing.T, folder, run string) int64 {
	t.Helper()
	info, err := os.Stat(filepath.Join(folder, run+".tensorboard", "events.out.tfevents.0.h5dnn"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestLogsOfOthersStay: a new run does not write into the log of another, and a run is not resumed beside a log that has
// lost rows.
func TestLogsOfOthersStay(t *testing.T) {
	folder := t.TempDir()
	logged(t, folder, 5)
	run, data := setUp(t, strings.Replace(loggedText, "STEPS", filepath.Join(folder, "steps.csv"), 1))
	if err := run.Fit(context.Background(), data, train.Options{File: filepath.Join(folder, "run.npz")}); err == nil || !strings.Contains(err.Error(), "run.csv exists, and is of another run") {
		t.Errorf("another run into the same log: %v", err)
	}
	killed := filepath.Join(folder, "killed.npz")
	run, err := train.Resume(killed, storage.CPU)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Fit(context.Background(), data, train.Options{File: killed}); err == nil || !strings.Contains(err.Error(), "records that it had when the run was saved") {
		t.Errorf("without the log: %v", err)
	}
}

// TestTensorBoardReadsARun: TensorBoard's own reader finds the numbers of steps and epochs.
func TestTensorBoardReadsARun(t *testing.T) {
	folder := t.TempDir()
	logged(t, folder, 0)
	out := pythontest.Run(t, []string{"tensorboard"}, `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1]); events.Reload()
print(json.dumps({tag: [e.step for e in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
`, filepath.Join(folder, "run.tensorboard"))
	steps := map[string][]int{}
	if err := json.Unmarshal([]byte(out), &steps); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for tag, want := range map[string]string{"loss/train": "[5 10 15]", "loss/val": "[5 10 15]", "f1/val": "[5 10 15]", "step/loss": "[2 4 6 8 10 12 14]", "step/lr": "[2 4 6 8 10 12 14]", "step/waiting": "[2 4 6 8 10 12 14]"} {
		if fmt.Sprint(steps[tag]) != want {
			t.Errorf("%s at steps %v, want %s; there are %v", tag, steps[tag], want, steps)
		}
	}
}

// BenchmarkLogs compares epochs of 75 steps with and without logs at their defaults, alternating: of an MLP on batches of two, whose
// steps take microseconds. It reports the ratio of the fastest epochs, each of which has at least one row of steps in every log.
func BenchmarkLogs(b *testing.B) {
	fastest := map[bool]float64{}
	for b.Loop() {
		for _, with := range []bool{false, true} {
			text := "data: {file: blobs, x: images, y: labels}\nmodel: mlp\nepochs: 20\nbatch: 2\n"
			if with {
				text += "callbacks: [csv, jsonl, tensorboard]\n"
			}
			run, data := setUp(b, text)
			if err := run.Fit(context.Background(), data, train.Options{File: filepath.Join(b.TempDir(), "run.npz"), SaveEvery: train.Interval{Steps: 1 << 30}}); err != nil {
				b.Fatal(err)
			}
			if least := slices.Min(run.History["seconds"]); fastest[with] == 0 || least < fastest[with] {
				fastest[with] = least
			}
		}
	}
	b.ReportMetric(fastest[true]/fastest[false], "ratio")
	b.ReportMetric(1e6*fastest[false]/75, "µs/step")
}

// TestLogsOfAGPU: rows of steps have the metrics of their steps, also where steps are launched together: those of the CPU.
func TestLogsOfAGPU(t *testing.T) {
	rows := func(d storage.Device, w mode) (losses []float64) {
		run, data := newRun(t, d, w, bare)
		file := filepath.Join(t.TempDir(), "log.jsonl")
		run.Config.Callbacks = []any{map[string]any{"jsonl": map[string]any{"file": file, "every": 3}}}
		if err := run.Fit(context.Background(), data, train.Options{}); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			var row struct {
				Event string
				Loss  float64
			}
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatal(err)
			}
			if row.Event == "step" {
				losses = append(losses, row.Loss)
			}
		}
		return losses
	}
	want := rows(storage.CPU, modes[0])
	gpu := cudatest.Devices(t, cudatest.Deferred)[0]
	for _, w := range modes {
		got := rows(gpu, w)
		same := len(got) == len(want) && len(want) > 3
		for i := range got {
			same = same && math.Abs(got[i]-want[i]) < 1e-3*math.Abs(want[i])
		}
		if !same {
			t.Errorf("%v: losses %v, on the CPU %v", w, got, want)
		}
	}
}
