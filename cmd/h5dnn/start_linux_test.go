package main

import (
	"debug/elf"
	"os"
	"strings"
	"testing"
)

// TestProgramsStartWithoutLibraries fails if the system loads libhdf5, oneDNN or what
// these need before the program starts: commands load what they use.
func TestProgramsStartWithoutLibraries(t *testing.T) {
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	libraries, err := program.ImportedLibraries()
	if err != nil || len(libraries) == 0 {
		t.Fatalf("%v, %v", libraries, err)
	}
	for _, library := range libraries {
		for _, later := range []string{"hdf5", "dnnl", "blas", "cuda", "OpenCL", "curl"} {
			if strings.Contains(library, later) {
				t.Errorf("the program needs %s to start", library)
			}
		}
	}
}
