package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgramWithoutCgo builds the program in pure Go. It must read, slice and convert as
// this one does, and say what it lacks where it computes or writes HDF5.
func TestProgramWithoutCgo(t *testing.T) {
	program := filepath.Join(t.TempDir(), "h5dnn")
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if message, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, message)
	}
	shared, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Symlink(shared, "testdata"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"inspect --stats testdata/digits.h5",
		"slice testdata/digits.h5:/test/images[0,2:]",
		"verify testdata/digits.h5",
		"convert testdata/digits.h5 OUT.npz --verify",
	} {
		want := commandOutput(t, strings.Fields(strings.Replace(line, "OUT", "native", 1)))
		got, err := exec.Command(program, strings.Fields(strings.Replace(line, "OUT", "pure", 1))...).CombinedOutput()
		if err != nil || strings.ReplaceAll(string(got), "pure.npz", "native.npz") != want {
			t.Errorf("%s: %v\n%s\nwith cgo\n%s", line, err, got, want)
		}
	}
	for line, want := range map[string]string{
		"--help":         "trains none",
		"help slice":     "writes no HDF5 files",
		"convert --help": "writes no HDF5 files",
		"help train":     "not in this program",
	} {
		if text, err := exec.Command(program, strings.Fields(line)...).CombinedOutput(); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %s", line, err, text)
		}
	}
	for line, reason := range map[string]string{
		"train --data testdata/digits.h5 --x train/images --y train/labels": "without cgo, which computing needs",
		"devices":                            "without cgo, which computing needs",
		"convert testdata/digits.h5 copy.h5": "without cgo, which writing HDF5 files needs",
		"convert testdata/rnn.weights.h5 rnn.safetensors": "without cgo, which converting models needs",
		"convert testdata/cnn.keras cnn.pt":               "without cgo, which converting models needs", // whose kernels are transposed
	} {
		message, err := exec.Command(program, strings.Fields(line)...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != statusTrouble || !strings.Contains(string(message), reason) {
			t.Errorf("%s: %v, %s", line, err, message)
		}
	}
}

// commandOutput runs a command of this program.
func commandOutput(t *testing.T, args []string) string {
	var out bytes.Buffer
	if status := run(context.Background(), append([]string{"h5dnn"}, args...), &out, &out); status != 0 {
		t.Fatalf("%v: exit %d, %s", args, status, out.String())
	}
	return out.String()
}
