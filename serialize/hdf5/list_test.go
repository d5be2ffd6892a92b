package hdf5_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/all"
	"github.com/h5dnn/h5dnn/serialize/hdf5"
)

// TestEntriesByNumberAreThoseListed, in files of HDF5 and of the conventions, with members that are listed
// elsewhere than they are stored and arrays that cannot be read.
func TestEntriesByNumberAreThoseListed(t *testing.T) {
	files := 0
	for _, pattern := range []string{"../../testdata/*", "../../storage/hdf5/testdata/*.h5", "../anndata/testdata/*", "../netcdf/testdata/*.nc", "../matlab/testdata/*.mat", "../matlab/testdata/*.h5"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			f, err := serialize.Open(name, serialize.Options{Follow: filepath.Dir(name)})
			if err != nil {
				continue
			}
			defer f.Close()
			numbered, ok := f.(*hdf5.File)
			if !ok {
				continue
			}
			files++
			i := 0
			for want, wantErr := range f.All() {
				got, err := numbered.At(i)
				if describe(got, err) != describe(want, wantErr) || !reflect.DeepEqual(got.Attrs, want.Attrs) {
					t.Errorf("%s: entry %d is %s, want %s", name, i, describe(got, err), describe(want, wantErr))
				}
				if err == nil && want.Elements == nil && want.Array.Len() < 1000 {
					if same, err := blocks.Equal(t.Context(), got.Array, want.Array); err == nil && !same {
						t.Errorf("%s: %s has other elements", name, want.Name)
					}
				}
				i++
			}
		}
	}
	if files < 20 {
		t.Errorf("%d files, want those of HDF5 and of each convention", files)
	}
}

func describe(e serialize.Entry, err error) string {
	kind := e.Array.Type.String()
	if e.Elements != nil {
		kind = e.Elements.Type
	}
	return fmt.Sprintf("%q %s %v shared %q renamed %q: %v", e.Name, kind, e.Shape(), e.Shared, e.Renamed, err)
}
