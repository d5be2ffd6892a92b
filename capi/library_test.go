package main

import (
	"debug/elf"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// compiled returns the output of the C program with the library in a folder.
func compiled(t *testing.T, at, define string) string {
	program := filepath.Join(t.TempDir(), "use")
	run(t, "gcc", "-Wall", "-Wextra", "-Werror", "-g", "-fsanitize=address", define, "-I.", "-o", program,
		"testdata/use.c", filepath.Join(at, "libh5dnn.so"), "-Wl,-rpath,"+at)
	return run(t, program, "../testdata/digits.h5")
}

// TestLibraryIsItsHeader checks that it exports what h5dnn.h declares, and no more, and
// the program in C to try all of that.
func TestLibraryIsItsHeader(t *testing.T) {
	library, err := elf.Open(filepath.Join(built(t), "libh5dnn.so"))
	if err != nil {
		t.Fatal(err)
	}
	defer library.Close()
	symbols, err := library.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var exported []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			exported = append(exported, s.Name)
		}
	}
	functions := regexp.MustCompile(`\bh5dnn_\w+\(`)
	named := func(file string) []string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := functions.FindAllString(string(text), -1)
		for i := range names {
			names[i] = strings.TrimSuffix(names[i], "(")
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	declared := named("h5dnn.h")
	if slices.Sort(exported); !slices.Equal(exported, declared) {
		t.Errorf("exported: %q; declared: %q", exported, declared)
	}
	tried := named("testdata/use.c")
	for _, name := range declared {
		if !slices.Contains(tried, name) {
			t.Errorf("testdata/use.c does not try %s", name)
		}
	}
}

func TestLibraryFromPython(t *testing.T) {
	at := built(t)
	run(t, withNumPy(t), "-B", "testdata/use.py", filepath.Join(at, "libh5dnn.so"), "../testdata/digits.h5")
}

// TestPythonPackage runs the tests of the package in python, which say what they skip.
func TestPythonPackage(t *testing.T) {
	t.Setenv("H5DNN_LIBRARY", filepath.Join(built(t), "libh5dnn.so"))
	run(t, withNumPy(t), "-B", "../python/tests/run.py")
}

// withNumPy returns the name of a Python that has NumPy, or skips the test.
func withNumPy(t *testing.T) string {
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("%s has no NumPy; name one that has in PYTHON: %v %s", python, err, out)
	}
	return python
}

func built(t *testing.T) string {
	if *folder == "" {
		t.Skip("no library to try; make capi builds it, and tries it")
	}
	return *folder
}

// run runs a program, which must succeed, and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(out)
}
