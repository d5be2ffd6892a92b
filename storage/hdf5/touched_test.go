package hdf5

import "testing"

// TestTouchedBytesBeginAgainAfterARelease counts bytes up to the size of a dataset, and
// anew once pages were released.
func TestTouchedBytesBeginAgainAfterARelease(t *testing.T) {
	var touched touchedBytes
	for _, step := range []struct {
		n        int
		releases int64
		want     int
	}{{60, 0, 60}, {60, 0, 40}, {60, 0, 0}, {60, 1, 60}, {60, 1, 40}, {1, 1, 0}, {200, 2, 100}} {
		if got := touched.add(step.n, 100, step.releases); got != step.want {
			t.Errorf("%d bytes of 100 after %d releases: the count grows by %d, want %d", step.n, step.releases, got, step.want)
		}
	}
}
