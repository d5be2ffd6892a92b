package train

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	_ "github.com/h5dnn/h5dnn/serialize/npy"
)

// TestRunsThatDoNotFitAreRefused asks for a saver of more bytes than a disk has.
func TestRunsThatDoNotFitAreRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.npz")
	_, err := newSaver(name, nil, Interval{}, 0, 1<<60)
	if err == nil {
		t.Skip("the system does not say how much space is free")
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "train: cannot save runs to "+name+": the file needs 1.0 EiB") {
		t.Errorf("%v: want that %s does not fit", err, name)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	s, err := newSaver(name, nil, Interval{}, 0, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	s.close()
}
