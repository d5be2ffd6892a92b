package hdf5write

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// TestStringsAreWrittenInParts: shapes of any rank, parts of one row and of several, and of one
// character set though the last string alone is no UTF-8.
func TestStringsAreWrittenInParts(t *testing.T) {
	defer func(n int) { stringsAtOnce = n }(stringsAtOnce)
	for _, shape := range [][]int{{}, {0}, {1}, {25}, {5, 4}, {2, 0}, {3, 2, 4}} {
		for _, last := range []string{"z", "\xff", "a\x00b"} {
			list := make([]string, views.Of(shape...).Len())
			for i := range list {
				list[i] = fmt.Sprint("größe ", i)
			}
			if len(list) > 0 {
				list[len(list)-1] = last
			}
			for _, stringsAtOnce = range []int{1, 8, 1000} {
				name := filepath.Join(t.TempDir(), "s.h5")
				w, err := Create(name, CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.WriteStrings("/g/s", list, shape...); err != nil {
					t.Fatal(shape, err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				f, err := hdf5.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				d, err := f.Dataset("/g/s")
				if err != nil {
					t.Fatal(err)
				}
				got, err := d.Strings(views.Of(shape...))
				if err != nil || !slices.Equal(got, list) || !slices.Equal(d.Shape, shape) {
					t.Errorf("%v in parts of %d: %q %v, %v", shape, stringsAtOnce, got, d.Shape, err)
				}
				if utf8 := d.Type.Text.UTF8; len(list) > 0 && utf8 != (last != "\xff") {
					t.Errorf("%v in parts of %d: marked as UTF-8: %v", shape, stringsAtOnce, utf8)
				}
				f.Close()
			}
		}
	}
}
