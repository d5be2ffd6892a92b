package hdf5

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// FuzzOpen reads all there is in a file of any bytes: an error or data, soon,
// without much memory. Checksums are not looked at, or hardly any change would
// get past them.
func FuzzOpen(f *testing.F) {
	seeds, err := filepath.Glob("testdata/seeds/*.h5")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		content, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	verifyChecksums = false
	f.Cleanup(func() { verifyChecksums = true })
	name := filepath.Join(f.TempDir(), "fuzz.h5")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err := exercise(name)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v: %v", took, err)
		}
	})
}
