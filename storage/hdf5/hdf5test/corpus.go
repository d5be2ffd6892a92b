// Package hdf5test helps to test readers and writers of HDF5 files: it reads them a
// second time with libhdf5, and provides files from other projects.
package hdf5test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Corpora returns folders of files that other programs wrote. Each folder has a file
// golden.jsonl, which says what h5py reads from them, and subfolders by origin. The first
// one is part of the repository; a larger one may lie beside it, in ../shared/corpus.
func Corpora(t testing.TB) []string {
	t.Helper()
	root := moduleRoot(t)
	folders := []string{filepath.Join(root, "storage", "hdf5", "testdata", "corpus")}
	if shared := filepath.Join(root, "..", "shared", "corpus"); exists(shared) {
		folders = append(folders, shared)
	}
	return folders
}

// CorpusFiles returns the files of all [Corpora] from some origins, such as "official" or
// "hostile".
func CorpusFiles(t testing.TB, origins ...string) []string {
	t.Helper()
	var names []string
	for _, folder := range Corpora(t) {
		for _, origin := range origins {
			found, err := filepath.Glob(filepath.Join(folder, origin, "*"))
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, found...)
		}
	}
	if len(names) == 0 {
		t.Fatalf("no files from %v in %v", origins, Corpora(t))
	}
	return names
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// moduleRoot returns the folder of go.mod, above the package under test.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) {
		if dir == filepath.Dir(dir) {
			t.Fatalf("no go.mod above the working directory (%s)", runtime.GOOS)
		}
		dir = filepath.Dir(dir)
	}
	return dir
}
