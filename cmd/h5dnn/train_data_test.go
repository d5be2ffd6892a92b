package main

import (
	"context"
	"fmt"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// withTestdata makes a new folder, in which testdata is the repository's.
func withTestdata(t *testing.T) {
	t.Helper()
	shared, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(shared, "testdata"); err != nil {
		t.Fatal(err)
	}
}

// TestTrainingOnEveryKindOfData trains on episodes, ragged and sparse rows and tables
// (testdata/make_episodes.py) and checks the number of samples.
func TestTrainingOnEveryKindOfData(t *testing.T) {
	withTestdata(t)
	episodes := "--x data/*/obs/pose --y data/*/actions --loss mse" // 3 each of 5, 8, 11 and 14 steps
	table := "--x table/x --y table/y"                              // 60 rows
	for _, test := range []struct{ args, want string }{
		{episodes, "114 samples of float32 [3];"},
		{episodes + " --rows data/*/dones==0", "102 samples of float32 [3];"},
		{episodes + " --steps 4 --y-steps 1 --split mask:mask/valid", "59 samples of float32 [4 3], 19 for validation;"},
		{episodes + " --steps 8 --split attr:split", "25 samples of float32 [8 3], 11 for validation;"},
		{episodes + " --steps 5 --split 0.25 --memory 8", "for validation;"},
		{"--x ragged/rows --y ragged/kind", "50 samples of int32 [6];"},
		{"--x ragged/rows --y ragged/kind --length 3 --shuffle window --window 2", "50 samples of int32 [3];"},
		{"--x ragged/values --x-offsets ragged/offsets --y ragged/kind --split 0.2", "40 samples of int32 [6], 10 for validation;"},
		{"--x csr/data --x-offsets csr/indptr --x-columns csr/indices --y csr/dense --loss mse", "20 samples of float32 [9];"},
		{table + " --rows table/good --rows table/fold<4 --split mask:table/split==val", "28 samples of float32 [2], 4 for validation;"},
		{table + " --split mask:table/chosen", "55 samples of float32 [2], 5 for validation;"},
		{table + " --split attr:val_rows", "57 samples of float32 [2], 3 for validation;"},
		{table + " --data testdata/episodes.h5", "120 samples of float32 [2];"},
		{table + " --val-x table/x --val-y table/y --val-rows [:7]", "60 samples of float32 [2], 7 for validation;"},
	} {
		args := slices.Concat([]string{"train", "--data", "testdata/e*.h5", "--model", "mlp", "--epochs", "2", "-o", "run.h5", "--force"}, strings.Fields(test.args))
		status, out, errs := in(t, context.Background(), args...)
		if status != 0 || !strings.Contains(out, test.want) || !strings.Contains(out, "epoch 2/2") {
			t.Errorf("%s: status %d, %q, %q; want %q", test.args, status, out, errs, test.want)
		}
	}
}

// TestPairsOfFilesAreRead trains on images and labels in different files, paired by the
// numbers in their names.
func TestPairsOfFilesAreRead(t *testing.T) {
	withTestdata(t)
	ctx := context.Background()
	for part, rows := range map[int]string{2: "[:400]", 9: "[400:1000]", 10: "[1000:]"} {
		for _, kind := range []string{"images", "labels"} {
			if status, _, errs := in(t, ctx, "slice", fmt.Sprintf("testdata/digits.h5:/train/%s%s", kind, rows), "-o", fmt.Sprintf("%s_%d.npy", kind, part)); status != 0 {
				t.Fatal(errs)
			}
		}
	}
	pairs := []string{"--data", "images_*.npy", "--y-data", "labels_*.npy", "--x", "/", "--y", "/"}
	apart, together := "apart.h5", "together.h5"
	status, _, errs := in(t, ctx, slices.Concat([]string{"train", "-o", apart, "--model", "mlp", "--epochs", "2", "--shuffle", "exact"}, pairs)...)
	if status != 0 {
		t.Fatal(errs)
	}
	if status, _, errs = in(t, ctx, "train", "-o", together, "--model", "mlp", "--epochs", "2", "--shuffle", "exact", "--data", "testdata/digits.h5", "--x", "train/images", "--y", "train/labels"); status != 0 {
		t.Fatal(errs)
	}
	said := func(run string) string {
		_, out, errs := in(t, ctx, "eval", run, "testdata/digits.h5", "--x", "test/images", "--y", "test/labels", "--json")
		return out + errs
	}
	if got, want := said(apart), said(together); got != want || !strings.Contains(got, `"samples":360`) {
		t.Errorf("from pairs of files: %s; from one file: %s", got, want)
	}
	_, again, errs := in(t, ctx, slices.Concat([]string{"eval", apart, "--rows", "[:3]"}, pairs)...)
	if !strings.HasPrefix(again, "9 samples") {
		t.Errorf("eval of three rows of each of three parts: %s%s", again, errs)
	}
}

// TestPredictionsAreOfSamplesLikeThoseTrainedOn predicts from a single time series and
// from rows of different lengths.
func TestPredictionsAreOfSamplesLikeThoseTrainedOn(t *testing.T) {
	withTestdata(t)
	for _, test := range []struct {
		train, predict string
		lines          int
	}{
		{"--x data/*/obs/pose --y data/*/actions --loss mse --steps 4 --y-steps 1", "/data/demo_3/obs/pose", 11},
		{"--x ragged/rows --y ragged/kind --length 4", "/ragged/rows", 50},
		{"--x ragged/values --x-offsets ragged/offsets --y ragged/kind --rows [:2]", "/ragged/values", 50},
	} {
		run := []string{"train", "--data", "testdata/episodes.h5", "--model", "mlp", "--epochs", "1", "-o", "run.h5", "--force"}
		if status, _, errs := in(t, context.Background(), append(run, strings.Fields(test.train)...)...); status != 0 {
			t.Fatal(errs)
		}
		status, out, errs := in(t, context.Background(), "predict", "run.h5", "testdata/episodes.h5:"+test.predict, "-o", "-", "--format", "csv")
		if got := strings.Count(out, "\n"); status != 0 || got != test.lines {
			t.Errorf("%s: status %d, %d lines, %s; want %d", test.predict, status, got, errs, test.lines)
		}
	}
}

func TestNamesSortNumerically(t *testing.T) {
	want := []string{"demo_1", "demo_2", "demo_02b", "demo_10", "demo_10/a", "demo_99999999999999999999", "demon", "part"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, hdf5.CompareNames)
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// twoBranches is a model of two inputs, each of a field of its own, and two outputs.
const twoBranches = `
data:
  file: testdata/episodes.h5
  x: {pose: data/*/obs/pose, action: data/*/actions}
  y: {move: data/*/actions, stop: data/*/dones}
  normalize: none
  split: 0.25
model:
  graph:
    inputs: [pose, action]
    nodes:
      - {name: look, layer: {dense: 4}, from: pose}
      - {name: side, layer: {dense: 4}, from: action}
      - {name: both, layer: add, from: [look, side]}
      - {name: move, layer: {dense: 2}, from: both}
      - {name: stop, layer: {dense: 1}, from: both}
    outputs: [move, stop]
loss: mse
epochs: 2
metrics: [mean_absolute_error]
`

// TestModelsOfSeveralInputsAndOutputs are trained, evaluated and run by the command.
func TestModelsOfSeveralInputsAndOutputs(t *testing.T) {
	withTestdata(t)
	if err := os.WriteFile("two.yaml", []byte(twoBranches), 0o666); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	status, out, errs := in(t, ctx, "train", "two.yaml", "-o", "run.h5")
	if status != 0 || !strings.Contains(out, "samples of float32 [2] and float32 [3], ") || !strings.Contains(out, "move_mean_absolute_error ") || !strings.Contains(out, "val_stop_mean_absolute_error ") {
		t.Fatalf("status %d, %q, %q", status, out, errs)
	}
	for _, args := range []string{"eval run.h5 --json", "eval run.h5 --json --x pose=data/*/obs/pose,action=data/*/actions --y move=data/*/actions,stop=data/*/dones"} {
		status, out, errs = in(t, ctx, strings.Fields(args)...)
		if status != 0 || !strings.Contains(out, `"move_mean_absolute_error":`) || !strings.Contains(out, `"stop_mean_absolute_error":`) {
			t.Errorf("%s: status %d, %q, %q", args, status, out, errs)
		}
	}
	predict := "predict run.h5 pose=testdata/episodes.h5:/data/demo_3/obs/pose action=testdata/episodes.h5:/data/demo_3/actions -o - --format csv"
	status, move, errs := in(t, ctx, append(strings.Fields(predict), "--select", "move")...)
	if status != 0 || strings.Count(move, "\n") != 14 || strings.Count(move, ",") != 14 {
		t.Errorf("predict: status %d, %q, %q; want 14 lines of two numbers", status, move, errs)
	}
	status, stop, errs := in(t, ctx, append(strings.Fields(predict), "--select", "stop")...)
	if status != 0 || strings.Count(stop, "\n") != 14 || strings.Contains(stop, ",") {
		t.Errorf("predict: status %d, %q, %q; want 14 numbers", status, stop, errs)
	}
	all := strings.Replace(predict, "- --format csv", "all.npz", 1)
	if status, _, errs := in(t, ctx, strings.Fields(all)...); status != 0 {
		t.Errorf("%s: status %d, %q", all, status, errs)
	}
	for output, want := range map[string]string{"move": move, "stop": stop} {
		status, got, errs := in(t, ctx, "slice", "all.npz:/"+output, "-o", "-", "--format", "csv")
		if status != 0 || got != want {
			t.Errorf("%s of all outputs: status %d, %q, %q; want %q", output, status, got, errs, want)
		}
	}
	for args, want := range map[string]string{
		predict:                   "the model has the outputs move, stop; choose one with --select, or write a file of several arrays, as .npz or .h5",
		predict + " --select top": "--select top: no such output; want one of move, stop",
		"predict run.h5 testdata/episodes.h5:/data/demo_3/obs/pose -o p.npy --select move":                                                       "run.h5 has the inputs action, pose; want NAME=DATA:/path for each of them",
		"predict run.h5 pose=testdata/episodes.h5:/data/demo_3/obs/pose -o p.npy --select move":                                                  "action=DATA:/path is missing",
		"predict run.h5 pose=testdata/episodes.h5:/data/demo_3/obs/pose action=testdata/episodes.h5:/data/demo_2/actions -o p.npy --select move": "the same number of samples",
		"predict run.h5 pose=testdata/episodes.h5:/data/demo_3/actions action=testdata/episodes.h5:/data/demo_3/actions -o p.npy --select move":  "pose: samples of [2]; run.h5 was trained on samples of [3]",
	} {
		if status, _, errs := in(t, ctx, strings.Fields(args)...); status != statusTrouble || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %q; want %q", args, status, errs, want)
		}
	}
}
