package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/cuda"
	_ "github.com/h5dnn/h5dnn/cuda/cudatest"
	loader "github.com/h5dnn/h5dnn/dataset"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// withoutGPUs removes the GPUs that package cudatest provides.
func withoutGPUs() {
	cuda.Override(nil)
	for _, l := range []string{"cuBLASLt", "cuDNN", "NCCL"} {
		cuda.OverrideLibrary(l, nil)
	}
}

// withGPUs runs h5dnn with two interpreted GPUs and returns its output and standard error.
func withGPUs(t *testing.T, args ...string) (out, errs string) {
	t.Helper()
	cmd := program(t, args...)
	cmd.Env = append(cmd.Env, "H5DNN_TEST_GPUS=yes")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v: %s", args, err, stderr.String())
	}
	return stdout.String(), stderr.String()
}

// fewDigits trains on few enough samples for the interpreter.
var fewDigits = append(slices.Clone(digitFlags), "--rows", "[:56]", "--val-x", "test/images", "--val-y", "test/labels", "--val-rows", "[:20]", "--batch", "16", "--epochs", "2")

// A figure is the output of train --json or eval --json for an epoch.
type figure struct {
	Loss        float64 `json:"loss"`
	Accuracy    float64 `json:"accuracy"`
	ValLoss     float64 `json:"val_loss"`
	ValAccuracy float64 `json:"val_accuracy"`
}

func figures(t *testing.T, out string) (all []figure) {
	t.Helper()
	for line := range strings.Lines(out) {
		var f figure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, f)
	}
	return all
}

// toldWay checks that the first line of train --json describes the mode that the flags select.
func toldWay(t *testing.T, out, flags string) {
	t.Helper()
	type way struct {
		Device   string `json:"device"`
		Data     string `json:"data"`
		Captured bool   `json:"captured"`
	}
	want := way{"cuda:0", "resident", !strings.Contains(flags, "--graph=false")}
	if strings.Contains(flags, "cuda:1") {
		want.Device = "cuda:1"
	}
	if strings.Contains(flags, "--resident no") {
		want.Data = "memory"
	}
	if flags == "" {
		want = way{"cpu", "memory", false}
	}
	var got way
	first, _, _ := strings.Cut(out, "\n")
	if err := json.Unmarshal([]byte(first), &got); err != nil || got != want {
		t.Errorf("%q: %v in %s, %v; want %v", flags, got, first, err, want)
	}
}

// near reports whether losses differ by at most a given fraction, and accuracies by at
// most 1 %.
func (f figure) near(g figure, part float64) bool {
	return math.Abs(f.Loss-g.Loss) <= part*g.Loss && math.Abs(f.ValLoss-g.ValLoss) <= part*g.ValLoss &&
		math.Abs(f.Accuracy-g.Accuracy) <= part+0.01 && math.Abs(f.ValAccuracy-g.ValAccuracy) <= part+0.01
}

// TestGPUTrainingModes trains in every mode. float32 gives the same bits in all modes,
// close to the CPU's result; other precisions are close to that.
func TestGPUTrainingModes(t *testing.T) {
	withDigits(t)
	status, out, errs := in(t, t.Context(), append(slices.Clone(fewDigits), "--json", "-o", "cpu.h5")...)
	if status != 0 {
		t.Fatal(errs)
	}
	toldWay(t, out, "")
	cpu, same := figures(t, out), []figure(nil)
	for i, way := range []struct {
		flags string
		part  float64 // of a loss that it may be off; 0 where bits are those of the first way
	}{
		{"--device cuda", 1e-3},
		{"--device cuda:0 --resident yes --graph", 0},
		{"--device cuda:1 --resident no", 0},
		{"--device cuda:0 --resident no --graph=false --profile", 0},
		{"--device cuda:0 --precision tf32", 1e-2},
		{"--device cuda:0 --precision bf16", 5e-2},
		{"--device cuda:0 --precision fp16", 1e-2},
	} {
		file := "gpu" + strconv.Itoa(i) + ".h5"
		out, errs := withGPUs(t, append(append(slices.Clone(fewDigits), "--json", "-o", file), strings.Fields(way.flags)...)...)
		toldWay(t, out, way.flags)
		got := figures(t, out)
		if len(got) != len(cpu) {
			t.Fatalf("%s: %d lines, %d on the CPU", way.flags, len(got), len(cpu))
		}
		if profiled := strings.Contains(errs, "launch"); profiled != strings.Contains(way.flags, "--profile") {
			t.Errorf("%s: says %q", way.flags, errs)
		}
		if i == 0 {
			same = got
		}
		for epoch := range got {
			switch {
			case way.part == 0 && got[epoch] != same[epoch]:
				t.Errorf("%s: epoch %d is %+v; in another way %+v", way.flags, epoch+1, got[epoch], same[epoch])
			case way.part > 0 && !got[epoch].near(cpu[epoch], way.part):
				t.Errorf("%s: epoch %d is %+v; on the CPU %+v", way.flags, epoch+1, got[epoch], cpu[epoch])
			}
		}
	}
	evaluatesAlike(t, cpu[len(cpu)-1])
	predictsAlike(t)
}

// evaluatesAlike checks that a GPU evaluates as the CPU did at the end of training.
func evaluatesAlike(t *testing.T, want figure) {
	out, _ := withGPUs(t, "eval", "cpu.h5", "--device", "cuda:0", "--json")
	got := figures(t, out)[0]
	if math.Abs(got.Loss-want.ValLoss) > 1e-5*want.ValLoss || got.Accuracy != want.ValAccuracy {
		t.Errorf("a GPU evaluates to %+v, training said %+v", got, want)
	}
}

// predictsAlike checks that a GPU predicts as the CPU does, up to rounding.
func predictsAlike(t *testing.T) {
	predict := []string{"predict", "cpu.h5", "testdata/digits.h5:/test/images[:50]", "-o", "-", "--format", "csv"}
	status, want, errs := in(t, t.Context(), predict...)
	if status != 0 {
		t.Fatal(errs)
	}
	got, _ := withGPUs(t, append(predict, "--device", "cuda:1")...)
	separators := func(r rune) bool { return r == ',' || r == '\n' }
	said, numbers := strings.FieldsFunc(got, separators), strings.FieldsFunc(want, separators)
	if len(said) != 500 || len(said) != len(numbers) {
		t.Fatalf("%d numbers, %d from the CPU, want 500", len(said), len(numbers))
	}
	for i := range said {
		x, err := strconv.ParseFloat(said[i], 64)
		y, again := strconv.ParseFloat(numbers[i], 64)
		if err = errors.Join(err, again); err != nil || !(math.Abs(x-y) <= 1e-4*(1+math.Abs(y))) {
			t.Fatalf("number %d is %s from a GPU, %s from the CPU, %v", i, said[i], numbers[i], err)
		}
	}
}

// TestTrainingReportsGPUUse compares the lines before the first epoch.
func TestTrainingReportsGPUUse(t *testing.T) {
	withDigits(t)
	once := append(slices.Clone(fewDigits), "--epochs", "1", "--val-rows", "[:10]", "--rows", "[:48]")
	for i, c := range []struct{ flags, want string }{
		{"--device cuda:0", "cuda:0: all samples in GPU memory, 3.0 KiB; steps are captured in a CUDA graph\n"},
		{"--device cuda:1 --resident no --graph=false", "cuda:1: samples are streamed, 3.0 KiB; steps are not captured in a CUDA graph\n"},
		{"--device cuda:0 --shuffle exact --memory 1", "cuda:0: all samples in GPU memory, 3.0 KiB; steps are captured in a CUDA graph\n"},
		{"--device cpu", ""},
	} {
		out, errs := withGPUs(t, append(append(slices.Clone(once), "-o", "run"+strconv.Itoa(i)+".h5"), strings.Fields(c.flags)...)...)
		_, rest, _ := strings.Cut(out, "\n")
		_, rest, _ = strings.Cut(rest, "\n") // what is assumed
		if got, _, _ := strings.Cut(rest, "epoch 1/1"); got != c.want || errs != "" {
			t.Errorf("%s: %q, and says %q; want %q", c.flags, got, errs, c.want)
		}
	}
}

// TestTooManySamplesForGPUMemory checks that samples are streamed by default if they do
// not fit.
func TestTooManySamplesForGPUMemory(t *testing.T) {
	samples, err := loader.FromArrays(loader.NamedArray{Name: "x", Array: storage.From(make([]uint8, 2048), 2048)})
	if err != nil {
		t.Fatal(err)
	}
	if got := held(train.Plan{}); got != "streamed" {
		t.Errorf("JSON names them %q", got)
	}
	m := monitor{job: &job{train: &train.Run{}, data: &trainingData{Data: &train.Data{Train: samples}}}}
	if got, want := m.kept(train.Plan{}), "samples are streamed: 2.0 KiB is more than half of the free GPU memory"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestInterruptedGPUTrainingResumes sends SIGINT in the second epoch of four. The run
// resumed in another mode predicts the same bits as one that was not interrupted.
func TestInterruptedGPUTrainingResumes(t *testing.T) {
	withDigits(t)
	long := append(slices.Clone(fewDigits), "--epochs", "4", "--json", "--device", "cuda:0")
	whole, _ := withGPUs(t, append(long, "-o", "whole.h5", "--resident", "no")...)
	cmd := program(t, append(long, "-o", "run.h5")...)
	cmd.Env = append(cmd.Env, "H5DNN_TEST_GPUS=yes")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !exists("run.h5") && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	cmd.Process.Signal(os.Interrupt)
	err := cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != statusInterrupted || !strings.HasSuffix(errs.String(), "continue with: h5dnn train --resume run.h5\n") {
		t.Fatalf("%v, says %q; want status %d", err, errs.String(), statusInterrupted)
	}
	rest, _ := withGPUs(t, "train", "--resume", "run.h5", "--json", "--graph=false", "--resident", "no")
	varies := regexp.MustCompile(seconds.String() + `|"(data|captured|recorded)":[a-z"]+`)
	if got, want := varies.ReplaceAllString(out.String()+rest, ""), varies.ReplaceAllString(whole, ""); got != want {
		t.Errorf("in two parts:\n%swant:\n%s", got, want)
	}
	predicted := func(file string) string {
		_, said, _ := in(t, t.Context(), "predict", file, "testdata/digits.h5:/test/images[:50]", "-o", "-", "--format", "csv")
		return said
	}
	if got, want := predicted("run.h5"), predicted("whole.h5"); got != want || strings.Count(got, "\n") != 50 {
		t.Errorf("resumed, it predicts\n%swant\n%s", got, want)
	}
}

// TestNullDriver trains with a CUDA driver that does nothing, and checks the message of
// one without a GPU.
func TestNullDriver(t *testing.T) {
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skipf("the driver of this test is C, and there is no compiler: %v", err)
	}
	library := func(define string) string {
		path := filepath.Join(t.TempDir(), "libcuda.so")
		if out, err := exec.Command("cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", define,
			"-I../../cuda", "-o", path, "../../bench/null/driver.c", "../../bench/null/rest.c").CombinedOutput(); err != nil {
			t.Fatalf("cc: %v: %s", err, out)
		}
		return path
	}
	one, none := library("-DGPUS=1"), library("-DGPUS=0")
	withDigits(t)
	under := func(driver string, args ...string) string {
		cmd := program(t, args...)
		cmd.Env = append(cmd.Env, "H5DNN_LIBCUDA="+driver)
		out, _ := cmd.CombinedOutput()
		return string(out)
	}
	if out := under(one, append(slices.Clone(fewDigits), "--device", "cuda:0")...); !strings.Contains(out, "run written to run.h5") {
		t.Errorf("training under a driver that does nothing: %s", out)
	}
	want := "no CUDA: " + none + ", for CUDA 13.0, finds no GPU; check nvidia-smi"
	for _, args := range [][]string{{"devices", "--cuda"}, {"devices", "--json"}, append(slices.Clone(fewDigits), "--device", "cuda:0", "-o", "no.h5")} {
		if out := under(none, args...); !strings.Contains(out, want) {
			t.Errorf("%q: %s; want %q in it", args, out, want)
		}
	}
}

// TestDevicesShowsGPUs lists the interpreted GPUs.
func TestDevicesShowsGPUs(t *testing.T) {
	out, _ := withGPUs(t, "devices", "--cuda")
	for _, want := range []string{"cuda  CUDA 12.4, ", "\n  cuda:0  interpreter, compute capability 8.0, 2 multiprocessors, 1 GiB\n", "\n  cuda:1  interpreter, compute capability 7.5, "} {
		if !strings.Contains(out, want) {
			t.Errorf("%s; want %q in it", out, want)
		}
	}
}
