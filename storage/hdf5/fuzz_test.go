package hdf5

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// fuzzFile tries something on files of any bytes: an error or not, but soon.
// Checksums are not looked at, or hardly any change would get past them.
func fuzzFile(f *testing.F, try func(t *testing.T, name string) error) {
	seeds, err := filepath.Glob("testdata/seeds/*.h5")
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
	verifyChecksums = false
	f.Cleanup(func() { verifyChecksums = true })
	name := filepath.Join(f.TempDir(), "fuzz.h5")
	f.Fuzz(func(t *testing.T, content []byte) {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		err := try(t, name)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v: %v", took, err)
		}
	})
}

// FuzzOpen reads all there is in a file.
func FuzzOpen(f *testing.F) {
	fuzzFile(f, func(t *testing.T, name string) error {
		_, err := readAll(name)
		return err
	})
}

func FuzzVerify(f *testing.F) {
	fuzzFile(f, func(t *testing.T, name string) error {
		_, err := Verify(context.Background(), name, nil)
		return err
	})
}

// FuzzRepack copies a file. What libhdf5 has written of it has nothing wrong.
func FuzzRepack(f *testing.F) {
	fuzzFile(f, func(t *testing.T, name string) error {
		file, err := Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		if declared(file) > 16<<20 {
			return nil // what is never written costs nothing to declare, and much to copy
		}
		out := name + ".out"
		if _, err := file.Repack(context.Background(), out, RepackOptions{NoSync: true, Memory: 1 << 20}); err != nil {
			return err
		}
		if r := verified(t, out); len(r.Problems) > 0 {
			t.Errorf("problems of the copy: %v", r.Problems)
		}
		return nil
	})
}

// declared returns how many bytes the datasets of a file take by what it says.
func declared(f *File) (total int) {
	for o := range f.Walk() {
		if o.Kind != KindDataset {
			continue
		}
		d, err := o.Dataset()
		if err != nil {
			continue
		}
		n, err := d.Len()
		if err != nil || n > 1<<30 {
			return 1 << 30
		}
		total += n * max(1, d.Type.Size)
	}
	return total
}
