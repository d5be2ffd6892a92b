package hdf5write

import (
	"errors"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/libhdf5"
)

// TestCloseFailsAfterLostAttribute sets attributes of an invalid type. Replacing an
// attribute deletes the old one before the library refuses the new one, so Close must
// fail. Without an old attribute the file is unchanged, and Close succeeds.
func TestCloseFailsAfterLostAttribute(t *testing.T) {
	for _, replaces := range []bool{false, true} {
		w, path := created(t)
		if replaces {
			must(t, w.SetAttr("/", "a", 1))
		}
		err := w.do("set attribute of", "/", func() error { return w.file.Attr("/", "a", 0, nil, nil) })
		if err == nil || libhdf5.IsPartial(err) != replaces {
			t.Errorf("replaces %v: error %v, partial is %v", replaces, err, libhdf5.IsPartial(err))
		}
		closing := w.Close()
		if replaces && !errors.Is(closing, err) || !replaces && closing != nil {
			t.Errorf("replaces %v: Close returns %v after %v", replaces, closing, err)
		}
		if left := len(listing(t, path)); (left == 0) != replaces {
			t.Errorf("replaces %v: %d files are left", replaces, left)
		}
	}
}
