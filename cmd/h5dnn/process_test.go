package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestMain runs the test binary as h5dnn if an environment variable is set, so that
// tests can start it as a process. Tests use no GPUs of this machine, only interpreted
// ones.
func TestMain(m *testing.M) {
	if os.Getenv("H5DNN_TEST_GPUS") == "" {
		withoutGPUs()
	}
	if os.Getenv("H5DNN_TEST_AS_PROGRAM") != "" {
		status := statusFine
		if name := os.Getenv(lookVariable); name != "" {
			limitGarbage(os.Args)
			lookAt(name)
		} else {
			status = process()
		}
		if name := os.Getenv(peakVariable); name != "" {
			writePeak(name)
		}
		os.Exit(status)
	}
	os.Setenv("H5DNN_LIBCUDA", "/no/libcuda.so")
	os.Setenv("H5DNN_CUDA_LIBS", "/no/folder")
	catchIgnored(syscall.SIGHUP, os.Interrupt)
	os.Exit(m.Run())
}

// catchIgnored receives signals that the tests were started to ignore, by nohup or as a job
// of a script: programs inherit that a signal is ignored, but not that it is received.
func catchIgnored(signals ...os.Signal) {
	for _, s := range signals {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// peakVariable names the file to which a process writes the peak of its resident memory. Its
// parent cannot ask the system, which counts the memory of the parent as well.
const peakVariable = "H5DNN_TEST_PEAK"

// writePeak writes the peak of resident memory in KiB, mapped pages included.
func writePeak(name string) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return // the parent finds no file
	}
	for line := range strings.Lines(string(status)) {
		if size, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			os.WriteFile(name, []byte(strings.Fields(size)[0]), 0o666)
		}
	}
}

// program returns a command that runs h5dnn.
func program(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "H5DNN_TEST_AS_PROGRAM=1",
		"GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")) // under the race detector, each would else end with a second of sleep
	return cmd
}

// measured lets cmd, which program returned, write the peak of its memory, and returns a
// function that reads it in bytes after the end.
func measured(t *testing.T, cmd *exec.Cmd) (peak func() int) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "peak")
	cmd.Env = append(cmd.Env, peakVariable+"="+name)
	return func() int {
		t.Helper()
		text, err := os.ReadFile(name)
		if err != nil && runtime.GOOS != "linux" {
			return 0 // not known
		}
		kib, err := strconv.Atoi(string(text))
		if err != nil {
			t.Errorf("%q wrote no peak of its memory: %v", cmd.Args[1:], err)
		}
		return kib << 10
	}
}

// The limits of a command on any file: CPU time and bytes of memory.
const (
	patience   = 5 * time.Second
	mostMemory = 512 << 20
)

// watched runs a command in the given folder. It must end within the limits, with a
// result or with one line on standard error.
func watched(t *testing.T, folder string, args ...string) ([]byte, error) {
	cmd := program(t, args...)
	cmd.Dir = folder
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	within(t, cmd)
	status := cmd.ProcessState.ExitCode()
	if err := answered(status, errs.String()); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	if status == statusFine || status == statusNegative {
		return out.Bytes(), nil
	}
	return out.Bytes(), errors.New(strings.TrimSpace(errs.String()))
}

// within runs cmd, which program returned, to its end, and checks the limits.
func within(t *testing.T, cmd *exec.Cmd) error {
	t.Helper()
	peak := measured(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waited := time.AfterFunc(12*patience, func() { cmd.Process.Kill() }) // it may hang without computing
	err := cmd.Wait()
	waited.Stop()
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if memory := peak(); took > patience || memory > mostMemory {
		t.Errorf("%q takes %v and %d MiB of memory, want at most %v and %d", cmd.Args[1:], took, memory>>20, patience, mostMemory>>20)
	}
	return err
}

// answered returns an error unless a command ended with a result, or with one line of an error.
func answered(status int, errs string) error {
	switch {
	case status == statusFine || status == statusNegative && errs == "":
		return nil
	case status != statusTrouble || strings.Count(errs, "\n") != 1 || strings.Contains(errs, "internal error"):
		return fmt.Errorf("status %d, and on standard error, where one line should be:\n%.2000s", status, errs)
	}
	return nil
}

// large writes a file with 64 MiB to read, and returns its name.
func large(t *testing.T) string {
	name := filepath.Join(t.TempDir(), "large.h5")
	w, err := hdf5write.Create(name, hdf5write.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if err := errors.Join(w.Write("/x", storage.From(make([]float32, 16<<20), 4096, 4096)), w.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestClosedPipesAreQuiet closes the pipe early, as head does.
func TestClosedPipesAreQuiet(t *testing.T) {
	name := large(t)
	for _, args := range [][]string{
		{"slice", name + ":/x", "--format", "csv"},
		{"slice", name + ":/x", "--format", "npy", "-o", "-"},
		{"slice", name + ":/x", "--json"},
	} {
		cmd := program(t, args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		io.ReadFull(out, make([]byte, 100))
		out.Close()
		if err := cmd.Wait(); err != nil || errs.Len() > 0 {
			t.Errorf("%v: %v, says %q; want nothing", args, err, errs.String())
		}
	}
}

// TestInterruptedWritingLeavesNothing sends SIGINT while a file is written.
func TestInterruptedWritingLeavesNothing(t *testing.T) {
	name := large(t)
	for _, format := range []string{"npy", "npz", "csv", "raw"} {
		folder := t.TempDir()
		cmd := program(t, "slice", name+":/x", "-o", filepath.Join(folder, "out."+format), "--format", format)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			if partial, _ := filepath.Glob(folder + "/*.partial"); len(partial) > 0 || time.Now().After(deadline) {
				break
			}
		}
		cmd.Process.Signal(os.Interrupt)
		err := cmd.Wait()
		left, _ := os.ReadDir(folder)
		var exit *exec.ExitError
		switch {
		case err == nil && len(left) == 1 && left[0].Name() == "out."+format:
			// it was done before the signal came
		case !errors.As(err, &exit) || exit.ExitCode() != statusInterrupted || len(left) != 0:
			t.Errorf("%s: %v, says %q, leaves %v; want status %d and nothing left", format, err, errs.String(), left, statusInterrupted)
		}
	}
}

// TestFailuresAreOneLine runs commands that fail as processes.
func TestFailuresAreOneLine(t *testing.T) {
	folder := t.TempDir()
	readOnly := filepath.Join(folder, "locked")
	if err := os.Mkdir(readOnly, 0o555); err != nil {
		t.Fatal(err)
	}
	digits := "../../testdata/digits.h5"
	for _, args := range [][]string{
		{"slice", digits + ":/test/images", "-o", readOnly + "/none/x.npy"},
		{"slice", digits + ":/test/images", "-o", readOnly}, // a folder
		{"convert", digits, readOnly + "/none/x.h5"},
		{"inspect", "\x1b[31m"},
		{"\x1b[31m"},
	} {
		cmd := program(t, args...)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != statusTrouble || out.Len() > 0 ||
			strings.Count(errs.String(), "\n") != 1 || strings.Contains(errs.String(), "\x1b") {
			t.Errorf("%q: %v, prints %q, says %q; want status %d and one line", args, err, out.String(), errs.String(), statusTrouble)
		}
	}
	if left, _ := os.ReadDir(readOnly); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestColourIsForTerminals checks that piped output has no escape sequences.
func TestColourIsForTerminals(t *testing.T) {
	out, err := program(t, "inspect", "../../testdata/digits.h5").Output()
	if err != nil || bytes.Contains(out, []byte("\x1b")) {
		t.Errorf("%v, prints %q", err, out)
	}
}

// TestWritesIntoNamedPipes checks that a pipe is written to, not replaced.
func TestWritesIntoNamedPipes(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	cmd := program(t, "slice", "../../testdata/digits.h5:/test/labels[:3]", "-o", pipe, "--format", "csv")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(pipe)
	if err = errors.Join(err, cmd.Wait()); err != nil || string(got) != "2\n6\n5\n" {
		t.Errorf("%v, read %q", err, got)
	}
}
