package atomicfile_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/h5dnn/h5dnn/internal/atomicfile"
)

func TestFilesThatDoNotFitAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	if err := atomicfile.CheckSpace(name, 1); err != nil {
		t.Errorf("one byte: %v", err)
	}
	err := atomicfile.CheckSpace(name, 1<<60)
	if err == nil {
		t.Skip("the system does not say how much space is free")
	}
	for _, want := range []string{"the file needs 1.0 EiB and its disk has ", " free; make room or choose another disk"} {
		if !strings.Contains(err.Error(), want) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%v: want %q and ENOSPC", err, want)
		}
	}
	f, err := atomicfile.Create(name, atomicfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Discard()
	if err := f.CheckSpace(1 << 60); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v: want ENOSPC", err)
	}
	if err := atomicfile.CheckSpace(filepath.Join(name, "below"), 1); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a path without a folder: %v", err)
	}
}
