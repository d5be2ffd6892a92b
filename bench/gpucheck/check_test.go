package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// packed is a folder with the programs and tests that TestPlantedFaults needs, and one with the fake
// driver as a shared library.
var packed = sync.OnceValues(func() (here, driver string) {
	root, err := os.MkdirTemp("", "gpucheck-")
	if err != nil {
		panic(err)
	}
	here, driver = filepath.Join(root, "gpu-check"), filepath.Join(root, "driver")
	for _, args := range [][]string{
		{"build", "-o", here + "/h5dnn", "../../cmd/h5dnn"},
		{"test", "-c", "-o", here + "/tests/cuda/test", "../../cuda"},
		{"build", "-buildmode=c-shared", "-o", driver + "/libcuda.so.1", "../../cuda/cudatest/libcuda"},
	} {
		// Flags other than those of this test would have every package compiled again.
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	for _, name := range []string{"libcublasLt.so.12", "libcudnn.so.9"} {
		if err := os.Symlink("libcuda.so.1", filepath.Join(driver, name)); err != nil {
			panic(err)
		}
	}
	return here, driver
})

func TestMain(m *testing.M) {
	if tool := fakeTools[filepath.Base(os.Args[0])]; tool != nil {
		os.Exit(tool(os.Args[1:]))
	}
	if os.Getenv("GPUCHECK_TEST_HANG") != "" {
		hangInAGoroutine()
	}
	status := m.Run()
	if built {
		here, _ := packed()
		os.RemoveAll(filepath.Dir(here))
	}
	os.Exit(status)
}

var built bool

func hangInAGoroutine() {
	done := make(chan int)
	go func() { time.Sleep(time.Hour); done <- 1 }()
	<-done
}

// newTestCheck returns a check of the packed folder with a driver in which faults are planted.
func newTestCheck(t *testing.T, driver, faults string) (*check, string) {
	t.Helper()
	here, folder := packed()
	built = true
	if driver == "" {
		driver = filepath.Join(folder, "libcuda.so.1")
	}
	t.Setenv("H5DNN_LIBCUDA", driver)
	t.Setenv("H5DNN_CUDA_LIBS", filepath.Dir(driver))
	t.Setenv("H5DNN_TEST_FAULTS", faults)
	out := t.TempDir()
	c, err := newCheck(out, "", "cuda:0", true, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(c.scratch) })
	c.here, c.report.echo = here, nil
	return c, out
}

func read(t *testing.T, folder, name string) string {
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPlantedFaults plants faults in the driver, in kernels and in libraries: each is reported by
// name, and the rest still runs.
func TestPlantedFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	sums := group{title: "sums", pack: "cuda", run: "^(TestKernelsMatchReference|TestKernelsRunInOrder)$/^(sum_float|max_float|eager)", limit: time.Minute}
	for _, c := range []struct {
		name, faults string
		wrong        []string // how each failure begins
		trial        string   // in trials.tsv
	}{
		{"none", "", nil, "PASS\tcuda\tTestKernelsRunInOrder\t"},
		{"a wrong kernel", "sum_f32=wrong", []string{"sums: TestKernelsMatchReference", "sums: TestKernelsMatchReference/sum_float32[1]_float32[100003]"}, "FAIL\tcuda\tTestKernelsMatchReference/sum_float32[1]_float32[100003]\t"},
		{"a kernel that faults", "sum_columns_f32=crash", []string{"sums: TestKernelsMatchReference/sum_float32[1_300]_float32[70_300]"}, "FAULT\tcuda\tTestKernelsMatchReference/sum_float32[1_300]_float32[70_300]\t"},
		{"a pool that is refused", "cuMemPoolCreate=801", []string{"done without: arrays are allocated and freed one by one, which waits for the GPU, because memory pools are refused: create a memory pool: operation not supported"}, "PASS\tcuda\tTestKernelsRunInOrder\t"},
		{"a library that does not start", "cudnnCreate=1", []string{"done without: convolutions are computed by own kernels, because cuDNN 9.2.3 cannot be used: "}, "PASS\tcuda\tTestKernelsRunInOrder\t"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check, out := newTestCheck(t, "", c.faults)
			if err := check.starts(); err != nil {
				t.Fatal(err)
			}
			check.tests(sums)
			for _, want := range c.wrong {
				found := false
				for _, got := range check.wrong {
					found = found || strings.HasPrefix(got, want)
				}
				if !found {
					t.Errorf("%q; want one that begins with %q", check.wrong, want)
				}
			}
			if len(c.wrong) == 0 && len(check.wrong) > 0 {
				t.Errorf("%q; want none", check.wrong)
			}
			trials := read(t, out, "trials.tsv")
			if !strings.Contains(trials, c.trial) || !strings.Contains(trials, "PASS\tcuda\tTestKernelsRunInOrder\t") || !strings.Contains(trials, "PASS\tcuda\tTestKernelsMatchReference/max_float") {
				t.Errorf("want %q, and others that passed, in %d lines, not passed: %q", c.trial, strings.Count(trials, "\n"), notPassed(trials))
			}
			if len(c.wrong) > 0 && strings.HasPrefix(c.wrong[0], "sums") && !strings.Contains(read(t, out, "failed.log"), "sum_float32[1") {
				t.Error("failed.log does not name the trial")
			}
		})
	}
}

func notPassed(trials string) (all []string) {
	for line := range strings.Lines(trials) {
		if !strings.HasPrefix(line, "PASS") {
			all = append(all, line)
		}
	}
	return all
}

// TestMissingSymbols renames functions in the driver's library: optional ones are done without,
// others are named.
func TestMissingSymbols(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	_, folder := packed()
	built = true
	whole, err := os.ReadFile(filepath.Join(folder, "libcuda.so.1"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"cuMemAllocFromPoolAsync": "memory pools are refused: the driver has no cuMemAllocFromPoolAsync",
		"cuLaunchKernel":          "has no cuLaunchKernel; the driver is too old",
	} {
		t.Run(name, func(t *testing.T) {
			driver := filepath.Join(t.TempDir(), "libcuda.so.1")
			lacking := bytes.ReplaceAll(whole, []byte(name+"\x00"), []byte(name[:len(name)-1]+"?\x00"))
			if err := os.WriteFile(driver, lacking, 0o777); err != nil {
				t.Fatal(err)
			}
			c, out := newTestCheck(t, driver, "")
			err := c.starts()
			if (name == "cuLaunchKernel") != (err != nil) {
				t.Errorf("error %v", err)
			}
			if report := read(t, out, "RESULTS.md"); !strings.Contains(report, want) {
				t.Errorf("want %q in\n%s", want, report)
			}
		})
	}
}

// TestHangsShowStacks: what hangs writes the stacks of its goroutines.
func TestHangsShowStacks(t *testing.T) {
	e := process{command: []string{os.Args[0]}, env: []string{"GPUCHECK_TEST_HANG=1"}, limit: 300 * time.Millisecond}.run()
	if !e.hung || e.err == nil || !strings.Contains(string(e.log), "hangInAGoroutine.func1") {
		t.Errorf("hung %v, %v, and it says\n%s", e.hung, e.err, e.log)
	}
}

// TestResultsAreCut: no file is larger than may be left, and there are no more than may be.
func TestResultsAreCut(t *testing.T) {
	o := outputs{folder: t.TempDir()}
	f, err := o.create("log")
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		f.Write(bytes.Repeat([]byte("x"), 1<<20))
	}
	if info, err := os.Stat(filepath.Join(o.folder, "log")); err != nil || info.Size() > 16<<20 {
		t.Errorf("%v, %d bytes", err, info.Size())
	}
	for i := range mostFiles {
		if _, err := o.create("more"); (err != nil) != (i == mostFiles-1) {
			t.Errorf("file %d: %v", i+2, err)
		}
	}
}
