package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var folder = flag.String("library", "", "try the libraries that make capi put in this folder, from C and Python")

// TestLibraryFromC runs testdata/use.c under the address sanitizer, which also
// sees what is freed twice, late or never.
func TestLibraryFromC(t *testing.T) {
	at := built(t)
	compiled(t, at, "-DREAL")
	if said := compiled(t, filepath.Join(at, "fakegpus"), "-DFAKEGPUS"); strings.Contains(said, "skipped") {
		t.Errorf("with GPUs: %s", said)
	}
}

// compiled returns what the C program says with the library in a folder.
func compiled(t *testing.T, at, define string) string {
	program := filepath.Join(t.TempDir(), "use")
	run(t, "gcc", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address", define, "-I.", "-o", program,
		"testdata/use.c", filepath.Join(at, "libh5dnn.so"), "-Wl,-rpath,"+at)
	return run(t, program, "../testdata/digits.h5")
}

func TestLibraryFromPython(t *testing.T) {
	at, python := built(t), os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("%s has no NumPy; name one that has in PYTHON: %v %s", python, err, out)
	}
	run(t, python, "-B", "testdata/use.py", filepath.Join(at, "libh5dnn.so"), "../testdata/digits.h5")
}

func built(t *testing.T) string {
	if *folder == "" {
		t.Skip("no library to try; make capi builds it, and tries it")
	}
	return *folder
}

// run wants a program to succeed, and returns what it says.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}
