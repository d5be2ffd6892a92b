package hdf5

import (
	"fmt"
	"testing"
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
