package hdf5write

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5test"
)

// TestEncodedTypes commits the type of every dataset of the corpus and reads it back.
func TestEncodedTypes(t *testing.T) {
	count := 0
	for _, name := range hdf5test.CorpusFiles(t, "official", "jhdf", "netcdf", "pyfive") {
		f, err := hdf5.Open(name)
		if err != nil {
			continue
		}
		defer f.Close()
		w, err := Create(filepath.Join(t.TempDir(), "types.h5"), CreateOptions{NoSync: true})
		must(t, err)
		var want []*hdf5.Type
		for o := range f.Walk() {
			if o.Kind != hdf5.KindDataset {
				continue
			}
			d, err := o.Dataset()
			if err != nil || d.Type.Tagged || strings.Contains(d.Type.String(), "complex") {
				continue // they become other types: see TestTypesOfLaterVersionsAreCopied
			}
			id, err := openType(d.Type)
			if err != nil {
				t.Logf("%s: %s: %v", name, o.Path, err)
				continue
			}
			if err := errors.Join(w.file.CommitUnnamed(id), w.file.LinkType(fmt.Sprintf("/t%d", len(want)), id)); err != nil {
				t.Logf("%s: %s: %v", name, o.Path, err)
				continue
			}
			want = append(want, d.Type)
		}
		must(t, w.Close())
		made, err := hdf5.Open(w.Name())
		must(t, err)
		defer made.Close()
		for k, want := range want {
			o, err := made.Lookup(fmt.Sprintf("/t%d", k))
			must(t, err)
			got, err := o.Datatype()
			must(t, err)
			plain := *want
			plain.Committed = 0
			if !reflect.DeepEqual(*got, plain) {
				t.Errorf("%s: type %d: got %+v, want %+v", name, k, got, plain)
			}
			count++
		}
	}
	t.Logf("%d types", count)
	if count < 50 {
		t.Errorf("%d types, want at least 50", count)
	}
}
