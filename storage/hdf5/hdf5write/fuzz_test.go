package hdf5write

import (
	"context"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
)

// FuzzRepack copies files. Verify finds no problems in a copy that Repack returned.
func FuzzRepack(f *testing.F) {
	hdf5test.FuzzFile(f, func(t *testing.T, name string) {
		file, err := hdf5.Open(name)
		if err != nil {
			return
		}
		defer file.Close()
		if declaredSize(file) > 16<<20 {
			return // elements that were never written take no space to declare, but time to copy
		}
		out := name + ".out"
		if _, err := Repack(context.Background(), file, out, RepackOptions{NoSync: true, Memory: 1 << 20}); err != nil {
			return
		}
		if r := hdf5test.Verify(t, out); len(r.Problems) > 0 {
			t.Errorf("problems of the copy: %v", r.Problems)
		}
	})
}

// declaredSize returns the size of the elements of all datasets, written or not.
func declaredSize(f *hdf5.File) (total int) {
	for o := range f.Walk() {
		if o.Kind != hdf5.KindDataset {
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
