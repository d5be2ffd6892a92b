package train_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/h5dnn/h5dnn/serialize/h5ck"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/train"
)

// TestLastSavesAreKept trains with saves every second step, of which two stay, and goes on
// from the older one of them.
func TestLastSavesAreKept(t *testing.T) {
	for _, ext := range []string{".npz", ".ckpt.h5"} {
		folder := t.TempDir()
		file := filepath.Join(folder, "run"+ext)
		run, data := newRun(t, storage.CPU, mode{}, light)
		run.Config.Keep, run.Config.SaveEvery = 2, train.Interval{Steps: 2}
		if err := run.Fit(context.Background(), data, train.Options{File: file}); err != nil {
			t.Fatal(err)
		}
		end := run.Position.Step
		names := files(t, folder)
		if len(names) != 3 || names["run"+ext] == nil || names[fmt.Sprintf("run-step%d%s", end, ext)] == nil {
			t.Fatalf("%v; want the run, its last save of step %d and one before", names, end)
		}
		if !os.SameFile(names["run"+ext], names[fmt.Sprintf("run-step%d%s", end, ext)]) {
			t.Error("the last save is a copy")
		}
		for name := range names {
			kept, err := train.Resume(filepath.Join(folder, name), storage.CPU)
			if err != nil {
				t.Fatal(err)
			}
			if name != "run"+ext && name != fmt.Sprintf("run-step%d%s", kept.Position.Step, ext) {
				t.Errorf("%s holds step %d", name, kept.Position.Step)
			}
			if kept.Position.Step == end {
				continue
			}
			err = kept.Fit(context.Background(), data, train.Options{File: file}) // where a later step is kept
			if !errors.Is(err, storage.ErrState) {
				t.Errorf("%v: want that step %d is later", err, end)
			}
		}
	}
}

// files returns the files of a folder by name.
func files(t *testing.T, folder string) map[string]os.FileInfo {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]os.FileInfo{}
	for _, e := range entries {
		if found[e.Name()], err = e.Info(); err != nil {
			t.Fatal(err)
		}
	}
	return found
}
