package hdf5

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestShapesAreChecked reads objects with shapes whose elements cannot be counted, which
// is an error before a view is made of the shape. Datasets whose bytes cannot be counted
// exist in the wild; reading their elements is an error.
func TestShapesAreChecked(t *testing.T) {
	for _, name := range []string{"shape_overflows", "shape_overflows_beside_zeros", "chunked_shape_overflows_beside_zeros"} {
		f, err := Open(filepath.Join("testdata", "corpus", "hostile", name+".h5"))
		must(t, err)
		defer f.Close()
		if d, err := f.Dataset("/x"); err == nil || !strings.Contains(err.Error(), "more bytes than any memory has") {
			t.Errorf("%s: dataset %v, error %v", name, d, err)
		}
	}
	for _, name := range []string{"attribute_shape_overflows", "attribute_shape_overflows_beside_zero"} {
		f, err := Open(filepath.Join("testdata", "corpus", "hostile", name+".h5"))
		must(t, err)
		defer f.Close()
		root, err := f.Root()
		must(t, err)
		if all, err := root.Attributes(); err == nil || len(all) > 0 {
			t.Errorf("%s: attributes %v, error %v", name, all, err)
		}
	}
	f, err := Open("testdata/corpus/hostile/shape_bytes_overflow.h5")
	must(t, err)
	defer f.Close()
	d, err := f.Dataset("/x")
	must(t, err)
	_, noArray := d.Array()
	_, noLen := d.Len()
	_, noRaw := d.Raw(d.View())
	for _, err := range []error{noArray, noLen, noRaw} {
		if err == nil || !strings.Contains(err.Error(), "more bytes than any memory has") {
			t.Errorf("bytes that cannot be counted: error %v", err)
		}
	}
}
