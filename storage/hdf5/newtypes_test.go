package hdf5

import (
	"fmt"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
)

// TestTypesOfLaterVersions reads newtypes.h5, which HDF5 2.0 wrote: references of
// HDF5 1.12 and native complex numbers.
func TestTypesOfLaterVersions(t *testing.T) {
	f, err := Open("../../testdata/newtypes.h5")
	must(t, err)
	defer f.Close()
	const complexes = "[(1+2i) (-0-3.5i) (0+0i) (+Inf+1i)]"
	for path, want := range map[string]string{
		"/c64": complexes, "/c128 chunked": complexes, "/c128be": complexes,
		"/references":      `[reference to /g/inside region of /g/inside attribute "unit" of /g/inside reference to /g]`,
		"/objects":         "[reference to /g/inside reference to /g reference to /g/inside]",
		"/regions":         "[region of /g/inside region of /g/inside region of /g/inside]",
		"/null references": "[null reference null reference]",
	} {
		if got := fmt.Sprint(valuesAt(t, f, path)); got != want {
			t.Errorf("%s is %s; want %s", path, got, want)
		}
	}
	d, err := f.Dataset("/regions")
	must(t, err)
	raw, err := d.Raw(d.View())
	must(t, err)
	to, err := f.Referent(d.Type, raw[:d.Type.Size])
	must(t, err)
	if to.Region == nil || fmt.Sprint(to.Region.Bounds([]int{3, 4})) != "[3 3]" || to.Region.Count([]int{3, 4}) != 6 {
		t.Errorf("the region is %+v", to.Region)
	}
}

// TestArraysInElementsKeepTheirShape: values of several axes are lists of lists.
func TestArraysInElementsKeepTheirShape(t *testing.T) {
	if got := fmt.Sprint(dtype.Nest([]any{1, 2, 3, 4, 5, 6}, []int{3, 1, 2})); got != "[[[1 2]] [[3 4]] [[5 6]]]" {
		t.Error(got)
	}
	if got := fmt.Sprint(dtype.Nest([]any{1, 2}, []int{2}), dtype.Nest(nil, []int{0, 3})); got != "[1 2] []" {
		t.Error(got)
	}
	of := &Type{Class: ClassArray, Dims: []int{2, 3}, Size: 6, Base: &Type{Class: ClassInteger, Size: 1, Precision: 8}}
	if got, err := (&File{}).values().value(of, []byte{0, 1, 2, 3, 4, 5}); err != nil || fmt.Sprint(got) != "[[0 1 2] [3 4 5]]" {
		t.Error(got, err)
	}
	if got, err := (&File{}).values().zero(of); err != nil || fmt.Sprint(got) != "[[0 0 0] [0 0 0]]" {
		t.Error(got, err)
	}
}
