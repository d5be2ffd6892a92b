package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/tensor"
)

// in runs a command line and returns its exit status, standard output and standard
// error.
func in(t *testing.T, ctx context.Context, args ...string) (status int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(ctx, append([]string{"h5dnn"}, args...), &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func withDigits(t *testing.T) {
	t.Helper()
	digits, err := filepath.Abs("../../testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	example, err := filepath.Abs("../../examples/digits.yaml")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, link := range [][2]string{{digits, "testdata/digits.h5"}, {example, "examples/digits.yaml"}} {
		if err := os.MkdirAll(filepath.Dir(link[1]), 0o777); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(link[0])
		if err == nil {
			err = os.WriteFile(link[1], text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var digitFlags = []string{"train", "--data", "testdata/digits.h5", "--x", "train/images", "--y", "train/labels"}

// TestDemoTrainsDigits runs the demo. The accuracy is at least 97 %, according to
// train, eval and predict.
func TestDemoTrainsDigits(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	status, out, errs := in(t, ctx, "train", "examples/digits.yaml", "-o", "run.h5", "--json")
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	var last struct {
		Epoch    int     `json:"epoch"`
		Accuracy float64 `json:"val_accuracy"`
	}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatal(err)
	}
	if last.Epoch != len(lines) || last.Accuracy < 0.97 {
		t.Errorf("%d lines, the last %+v; want an accuracy of at least 0.97", len(lines), last)
	}
	status, out, errs = in(t, ctx, "eval", "run.h5", "--data", "testdata/digits.h5", "--x", "test/images", "--y", "test/labels", "--json")
	var said struct {
		Samples  int     `json:"samples"`
		Accuracy float64 `json:"accuracy"`
	}
	if err := json.Unmarshal([]byte(out), &said); err != nil || status != 0 {
		t.Fatalf("eval: status %d, %v: %s", status, err, errs)
	}
	if said.Samples != 360 || said.Accuracy != last.Accuracy {
		t.Errorf("eval says %+v, training said %v", said, last.Accuracy)
	}
	if right := predictedRight(t); right != said.Accuracy {
		t.Errorf("predict is right in %v, eval in %v", right, said.Accuracy)
	}
	if info, err := os.Stat("run.png"); err != nil || info.Size() == 0 {
		t.Errorf("no picture of the curves: %v", err)
	}
}

// predictedRight returns the accuracy of predict on the test digits.
func predictedRight(t *testing.T) float64 {
	t.Helper()
	status, classes, errs := in(t, context.Background(), "predict", "run.h5", "testdata/digits.h5:/test/images", "--as", "classes", "-o", "-", "--format", "csv")
	if status != 0 {
		t.Fatalf("predict: status %d: %s", status, errs)
	}
	open := newFiles(t.Context(), "")
	defer open.Close()
	labels, err := open.Find("testdata/digits.h5", "test/labels")
	if err != nil {
		t.Fatal(err)
	}
	said, right := strings.Fields(classes), 0
	for i, label := range tensor.Values[int64](tensor.FromArray(labels.Array)) {
		if said[i] == fmt.Sprint(label) {
			right++
		}
	}
	return float64(right) / float64(len(said))
}

func TestPredictionsAreTheSameInEveryFormat(t *testing.T) {
	withDigits(t)
	ctx := context.Background()
	if status, _, errs := in(t, ctx, append(slices.Clone(digitFlags), "--epochs", "1", "-o", "run.npz")...); status != 0 {
		t.Fatal(errs)
	}
	for _, out := range []string{"p.npy", "p.h5"} {
		if status, _, errs := in(t, ctx, "predict", "run.npz", "testdata/digits.h5:/test/images", "--as", "probabilities", "-o", out); status != 0 {
			t.Fatal(errs)
		}
	}
	_, fromNpy, _ := in(t, ctx, "slice", "p.npy[5:7]")
	_, fromH5, _ := in(t, ctx, "slice", "p.h5:/predictions[5:7]")
	if fromNpy != fromH5 || !strings.Contains(fromNpy, "e-") && !strings.Contains(fromNpy, "0.") {
		t.Errorf("npy %s, h5 %s", fromNpy, fromH5)
	}
	classes := func(data string) string {
		_, out, _ := in(t, ctx, "predict", "run.npz", data, "--as", "classes", "-o", "-", "--format", "csv")
		return out
	}
	few, all := classes("testdata/digits.h5:/test/images[:9]"), classes("testdata/digits.h5:/test/images")
	if !strings.HasPrefix(all, few) || strings.Count(few, "\n") != 9 {
		t.Errorf("nine samples alone: %s, among all: %s", few, all)
	}
}

// seconds are the fields that differ from run to run.
var seconds = regexp.MustCompile(`"(seconds|waited)":[0-9.e+-]+`)

// untimed returns the lines of epochs without their times.
func untimed(out string) string { return seconds.ReplaceAllString(out, "") }

// afterLine calls do when the first line has been written to it.
type afterLine struct {
	bytes.Buffer
	do func()
}

func (w *afterLine) Write(b []byte) (int, error) {
	defer func() {
		if bytes.IndexByte(w.Bytes(), '\n') >= 0 {
			w.do()
		}
	}()
	return w.Buffer.Write(b)
}

// TestInterruptedTrainingResumes interrupts a run when it has reported its first epoch,
// and compares both parts with a run that was not interrupted.
func TestInterruptedTrainingResumes(t *testing.T) {
	withDigits(t)
	long := append(slices.Clone(digitFlags), "--epochs", "3", "--json")
	status, whole, errs := in(t, context.Background(), append(long, "-o", "whole.h5")...)
	if status != 0 {
		t.Fatal(errs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	first, stderr := afterLine{do: cancel}, bytes.Buffer{}
	status = run(ctx, append([]string{"h5dnn"}, append(long, "-o", "run.h5")...), &first, &stderr)
	if status != statusInterrupted || !strings.HasSuffix(stderr.String(), "h5dnn train --resume run.h5\n") {
		t.Fatalf("status %d: %q", status, stderr.String())
	}
	status, rest, errs := in(t, context.Background(), "train", "--resume", "run.h5", "--json")
	if status != 0 {
		t.Fatal(errs)
	}
	if got, want := untimed(first.String()+rest), untimed(whole); got != want {
		t.Errorf("in two parts:\n%swant:\n%s", got, want)
	}
}

// TestKilledTrainingResumes kills a training process when its first checkpoint has been
// written. The run file then holds an epoch's end, and the resumed run ends like one
// that was not killed.
func TestKilledTrainingResumes(t *testing.T) {
	withDigits(t)
	long := append(slices.Clone(digitFlags), "--epochs", "30", "--json")
	status, whole, errs := in(t, context.Background(), append(long, "-o", "whole.h5")...)
	if status != 0 {
		t.Fatal(errs)
	}
	for killed, tries := false, 0; !killed; tries++ { // if it is done before, again
		if tries == 10 {
			t.Fatalf("30 epochs ended before the kill, %d times", tries)
		}
		os.Remove("run.h5")
		cmd := program(t, append(long, "-o", "run.h5")...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); !exists("run.h5") && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		cmd.Process.Kill()
		killed = cmd.Wait() != nil
	}
	status, rest, errs := in(t, context.Background(), "train", "--resume", "run.h5", "--json")
	if status != 0 {
		t.Fatal(errs)
	}
	all, got := strings.SplitAfter(untimed(whole), "\n"), strings.SplitAfter(untimed(rest), "\n")
	if len(got) < 2 || len(got) >= len(all) || !slices.Equal(got, all[len(all)-len(got):]) {
		t.Errorf("after the kill:\n%swant the end of:\n%s", rest, whole)
	}
}

func TestTrainingErrorsAreOneLineAndWriteNothing(t *testing.T) {
	t.Setenv("H5DNN_LIBCUDA", "/no/libcuda.so") // this machine may have a GPU
	withDigits(t)
	for name, model := range map[string]string{"bad.yaml": "\n  - dens: 3\n", "flatten.yaml": " [flatten]"} {
		if err := os.WriteFile(name, []byte("data: {file: testdata/digits.h5, x: train/images, y: train/labels}\nmodel:"+model), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	before, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	flags := func(more ...string) []string { return append(slices.Clone(digitFlags), more...) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"train"}, "--data: name the file of samples"},
		{[]string{"train", "nope.yaml"}, "h5dnn train: nope.yaml: no such file\n"},
		{[]string{"train", "--resume", "testdata/dgits.h5"}, "h5dnn train: testdata/dgits.h5: no such file; did you mean testdata/digits.h5?"},
		{[]string{"eval", "testdata"}, "h5dnn eval: testdata is a folder; name a file in it"},
		{[]string{"eval", "nope.h5"}, "h5dnn eval: nope.h5: no such file\n"},
		{[]string{"predict", "nope.h5", "testdata/digits.h5:/test/images", "-o", "p.npy"}, "h5dnn predict: nope.h5: no such file\n"},
		{[]string{"train", "bad.yaml"}, "bad.yaml:3:5: model: layer 0: dens: no such layer; did you mean dense?"},
		{[]string{"train", "flatten.yaml"}, "the model has no parameters to train; add a layer with some"},
		{[]string{"train", "flatten.yaml", "--summary"}, "the model has no parameters to train; add a layer with some"},
		{[]string{"train", "bad.yaml", "more.yaml"}, `"more.yaml" is one argument too many`},
		{[]string{"train", "--data", "nope.h5", "--x", "a", "--y", "b"}, "nope.h5"},
		{[]string{"train", "--data", "testdata/digits.h5", "--x", "train/imags", "--y", "train/labels"}, "did you mean /train/images?"},
		{[]string{"train", "--data", "testdata/digits.h5", "--x", "train/images", "--y", "test/labels"}, "train/images is [1437 8 8] and test/labels is [360]"},
		{flags("--y", "train/images"), "cross_entropy takes a label for each place of the output, and samples of y are [8 8] where"},
		{flags("--model", "lenett"), "--model: no such preset; did you mean lenet?"},
		{flags("--model", "lenet"), "layer 3: conv: "},
		{flags("--epochs", "0"), "--epochs: cannot be 0"},
		{flags("--lr", "-1"), "lr -1; want at least 0"},
		{flags("--seed", "-1"), `--seed "-1": want a whole number, at least 0`},
		{flags("--batch", "many"), `--batch "many": want a whole number`},
		{flags("--lr", "fast"), `--lr "fast": want a number`},
		{flags("--graph=maybe"), `--graph "maybe": want true or false`},
		{flags("--seed", "99999999999999999999"), `--seed "99999999999999999999": want a whole number, at least 0`},
		{flags("--split", "2"), "--split: cannot be 2"},
		{flags("--split", "half"), `--split cannot be "half"; want a fraction of the samples, such as 0.1, attr:NAME, column:PATH`},
		{flags("--rows", "train/labels=3"), `--rows: "train/labels=3" is not a row filter`},
		{flags("--rows", "train/labels==x"), `testdata/digits.h5: train/labels: compare uint8 with "x": invalid syntax`},
		{flags("--data", "d*.h5"), "d*.h5: no file matches"},
		{flags("--steps", "4", "--y-steps", "5"), "--y-steps: want at most as many as steps"},
		{flags("--x-columns", "c"), "--x-columns: rows of a sparse matrix need x_offsets too"},
		{flags("--memory", "-1"), "--memory: want a number of MiB"},
		{flags("--device", "cuda:0"), `device "cuda:0": there is only cpu: no CUDA: no driver found (tried /no/libcuda.so)`},
		{[]string{"eval", "run.h5", "--device", "cuda:0"}, `device "cuda:0": there is only cpu: no CUDA: no driver found (tried /no/libcuda.so)`},
		{[]string{"predict", "run.h5", "testdata/digits.h5:/test/images", "-o", "p.npy", "--device", "cuda"}, `device "cuda": there is only cpu: no CUDA: no driver found (tried /no/libcuda.so)`},
		{flags("--precision", "fp8"), `--precision: no precision "fp8"; want float32, tf32, bf16 or fp16`},
		{flags("--resident", "perhaps"), `--resident cannot be "perhaps"; want auto, yes or no`},
		{flags("--resident", "yes"), "resident: samples stay on a GPU, not on cpu"},
		{flags("--graph"), "graph: cpu does not capture steps in graphs"},
		{flags("--profile"), "--profile needs a GPU; choose one with --device"},
		{flags("--device", "tpu"), `device "tpu"; want cpu or cuda`},
		{flags("-o", "run.txt"), "names no format that holds a run"},
		{flags("-o", "nowhere/run.h5"), "nowhere/run.h5: there is no folder nowhere; make it, or name another file"},
		{[]string{"train", "--resume", "testdata/digits.h5"}, "not a run that h5dnn train wrote"},
		{[]string{"eval", "testdata/digits.h5"}, "not a run that h5dnn train wrote"},
		{[]string{"predict", "testdata/digits.h5", "testdata/digits.h5:/test/images", "-o", "p.npy"}, "not a run that h5dnn train wrote"},
		{[]string{"predict", "a", "b"}, "name the output with -o FILE"},
	} {
		status, out, errs := in(t, context.Background(), c.args...)
		if status != statusTrouble || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%q: status %d, %q, %q; want one line with %q", c.args, status, out, errs, c.want)
		}
	}
	if after, _ := filepath.Glob("*"); !slices.Equal(before, after) {
		t.Errorf("files %q, there were %q", after, before)
	}
}

func TestRunFilesAreNotOverwritten(t *testing.T) {
	withDigits(t)
	once := append(slices.Clone(digitFlags), "--epochs", "1")
	if status, _, errs := in(t, context.Background(), once...); status != 0 {
		t.Fatal(errs)
	}
	status, _, errs := in(t, context.Background(), once...)
	if want := "run.h5 exists"; status != statusTrouble || !strings.Contains(errs, want) {
		t.Errorf("status %d, %q; want %q", status, errs, want)
	}
	for _, c := range []struct{ args, want string }{
		{"train --resume run.h5 --lr 1", "--lr cannot change when resuming run.h5"},
		{"predict run.h5 testdata/digits.h5:/test/labels -o p.npy", "was trained on samples of [8 8]"},
		{"predict run.h5 testdata/digits.h5:/test/images --as scores -o p.npy", "want outputs, values, probabilities, classes or indices"},
	} {
		status, _, errs := in(t, context.Background(), strings.Fields(c.args)...)
		if status != statusTrouble || !strings.Contains(errs, c.want) {
			t.Errorf("%s: status %d, %q; want %q", c.args, status, errs, c.want)
		}
	}
	if status, out, errs := in(t, context.Background(), "train", "--resume", "run.h5", "--epochs", "2"); status != 0 || !strings.Contains(out, "epoch 2/2") {
		t.Errorf("status %d, %q %q; want a second epoch", status, out, errs)
	}
}

// TestConvertedModelsAreTrained trains a model that comes back from a file of Keras, with other data
// and settings than it was made with, which it takes until its first update only. The way to another
// framework says that the run normalized its inputs.
func TestConvertedModelsAreTrained(t *testing.T) {
	withDigits(t)
	digits := "--data testdata/digits.h5 --x train/images[:128] --y train/labels[:128]"
	if err := os.WriteFile("drop.yaml", []byte("{drop: 1.*, rest: keep}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   string
		status int
		want   string
	}{
		{"train " + digits + " --epochs 1", 0, "run written to run.h5"},
		{"convert run.h5 run.pt", 0, "x: 1 property lost: the inputs are normalized before the model; do the same to what PyTorch's module takes: x*0.1"},
		{"train " + digits + " --loss mse --epochs 1 -o values.h5", 0, "assumed: y is standardized"},
		{"convert values.h5 values.pt", 0, "y: 1 property lost: the outputs are normalized as the targets were; they are in the units of the data as (y + "},
		{"convert values.h5 values.keras", 1, "y: 1 property lost: the outputs are normalized as the targets were"},
		{"convert run.pt head.pt --rules drop.yaml", 0, "1.weight: 1 array lost: dropped by a rule"},
		{"convert run.h5 model.keras", 1, "x: 1 property lost: the inputs are normalized before the model"},
		{"convert run.h5 model.keras --force", 1, "optimizer: 9 arrays lost: a model of Keras has the weights only"},
		{"convert model.keras tuned.h5", 0, "5 arrays written to tuned.h5"},
		{"train --resume tuned.h5 " + digits + " --model cnn", 2, "--model cannot change when resuming tuned.h5"},
		{"train --resume tuned.h5 " + digits + " --loss none", 2, "loss: none: no such loss"},
		{"train --resume tuned.h5 " + digits + " --rows [:96] --batch 32 --epochs 1 --loss cross_entropy --lr 0.125 --schedule constant", 0, "epoch 1/1"},
		{"slice tuned.h5:/history/lr", 0, "[0.125]"},
		{"slice tuned.h5:/optimizer/step", 0, "3"},
		{"train --resume tuned.h5 --epochs 2 --lr 0.5", 2, "--lr cannot change when resuming tuned.h5"},
		{"train --resume tuned.h5 --epochs 2", 0, "epoch 2/2"},
		{"slice tuned.h5:/history/lr", 0, "[0.125 0.125]"},
	} {
		status, out, errs := in(t, context.Background(), strings.Fields(c.args)...)
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: status %d, %q, %q; want %d, %q", c.args, status, out, errs, c.status, c.want)
		}
	}
}

// TestTrainingBeginsWithWeightsOfAFile trains a model whose first layer is that of another and stays as it is.
func TestTrainingBeginsWithWeightsOfAFile(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	digits, err := filepath.Abs("../../testdata/digits.h5")
	if err != nil {
		t.Fatal(err)
	}
	data := "data: {file: " + digits + ", x: train/images, y: train/labels}\nepochs: 1\nmodel: [flatten, {dense: 8}, relu, {dense: 10}]\n"
	first := write("first.yaml", data)
	second := write("second.yaml", data+"seed: 2\ninitial: {file: first.h5, except: [3.*]}\noptimizer: {adam: {groups: [{params: [1.*], freeze: true}]}}\n")
	for _, args := range [][]string{{"train", first, "-o", filepath.Join(folder, "first.h5")}, {"train", second, "-o", filepath.Join(folder, "second.h5")}} {
		if code, _, errs := in(t, t.Context(), args...); code != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
	}
	values := func(run, array string) string {
		t.Helper()
		code, out, errs := in(t, t.Context(), "slice", filepath.Join(folder, run)+":/model/"+array)
		if code != 0 || out == "" {
			t.Fatal(errs)
		}
		return out
	}
	for array, same := range map[string]bool{"1.weight": true, "3.weight": false} {
		if (values("first.h5", array) == values("second.h5", array)) != same {
			t.Errorf("%s is or is not the first model's", array)
		}
	}
	if code, _, out := in(t, t.Context(), "train", second, "-o", filepath.Join(folder, "first.h5"), "--force"); code == 0 {
		t.Errorf("the file of the first weights was replaced: %s", out)
	}
	missing := write("missing.yaml", data+"initial: nothing.pt\n")
	if code, _, out := in(t, t.Context(), "train", missing, "-o", filepath.Join(folder, "third.h5")); code == 0 || !strings.Contains(out, "nothing.pt") {
		t.Errorf("a file that is missing: %s", out)
	}
}
