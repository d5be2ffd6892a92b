package hdf5_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestReaderLinksLittle lists what a program that imports only this package links: every
// filter, but not libhdf5, and nothing that computes.
func TestReaderLinksLittle(t *testing.T) {
	const module = "github.com/h5dnn/h5dnn/"
	out, err := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}} {{.CgoPkgConfig}}{{.CgoLDFLAGS}}", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var deps []string
	for line := range strings.Lines(string(out)) {
		path, flags, _ := strings.Cut(strings.TrimSpace(line), " ")
		deps = append(deps, path)
		for _, library := range []string{"hdf5", "dnnl", "blas", "cuda"} {
			if strings.Contains(flags, library) {
				t.Errorf("%s links %s", path, flags)
			}
		}
		name, ours := strings.CutPrefix(path, module)
		first, _, _ := strings.Cut(name, "/")
		if path == "gonum.org/v1/hdf5" || ours && slices.Contains([]string{"tensor", "kernels", "nn", "train", "cuda"}, first) {
			t.Errorf("the reader depends on %s", path)
		}
	}
	if !slices.Contains(deps, module+"storage/hdf5/filter") {
		t.Error("the reader does not import the filters")
	}
}
