package hdf5test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

// FuzzFile calls try with files of arbitrary content, which must take at most five
// seconds of CPU time. The seeds are the files of storage/hdf5/testdata/seeds. Checksums of metadata
// are not verified, because hardly any mutation would get past them.
func FuzzFile(f *testing.F, try func(t *testing.T, name string)) {
	seeds, err := filepath.Glob(filepath.Join(moduleRoot(f), "storage", "hdf5", "testdata", "seeds", "*.h5"))
	if err != nil || len(seeds) == 0 {
		f.Fatalf("%d seeds, %v", len(seeds), err)
	}
	for _, name := range seeds {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	WithoutChecksums(f)
	name := filepath.Join(f.TempDir(), "fuzz.h5")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		start := storagetest.CPUTime(t)
		try(t, name)
		if took := storagetest.CPUTime(t) - start; took > 5*time.Second {
			t.Errorf("took %v of CPU time", took)
		}
	})
}

// WithoutChecksums switches the verification of metadata checksums off until the end of
// the test.
func WithoutChecksums(t testing.TB) {
	format.VerifyChecksums = false
	t.Cleanup(func() { format.VerifyChecksums = true })
}

// Verify calls [hdf5.Verify] and fails the test if the file cannot be verified.
func Verify(t testing.TB, name string) hdf5.Report {
	t.Helper()
	r, err := hdf5.Verify(context.Background(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
