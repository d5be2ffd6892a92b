package cuda

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLibrariesAreNamedByRelativePaths sets H5DNN_LIBCUDA to a file in the working directory,
// which is no library.
func TestLibrariesAreNamedByRelativePaths(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	if err := os.WriteFile("driver.so", []byte("no library"), 0o666); err != nil {
		t.Fatal(err)
	}
	before := override
	defer func() { override = before }()
	override = nil
	t.Setenv("H5DNN_LIBCUDA", "driver.so")
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if path, err := loadDriver(); err == nil || !strings.Contains(err.Error(), filepath.Join(folder, "driver.so")) {
		t.Errorf("%q, %v; want an error about the file", path, err)
	}
}
