package anndata_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize/anndata"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/storage/hdf5/hdf5write"
)

// TestObservations lists the arrays along obs of files of each version.
func TestObservations(t *testing.T) {
	for name, want := range map[string]string{
		"../../testdata/cells.h5ad": "/obs/_index /obs/cell type/codes /obs/nullable/values /obs/nullable/mask /X/data@/X/indptr /X/indices@/X/indptr /X/indptr@/X/indptr " +
			"/layers/columns/indices (numbers) /layers/dense /obsm/X_pca /obsp/distances/indices@/obsp/distances/indptr (numbers)",
		"testdata/old06.h5ad": "/obs /X/data@/X/indptr",
		"testdata/old07.h5ad": "/obs/kind /X/data@/X/indptr",
	} {
		f, err := hdf5.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		_, all, err := anndata.Observations(f)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := " "
		for _, a := range all {
			if text += a.Path; a.Offsets != "" {
				text += "@" + a.Offsets
			}
			if a.Numbers {
				text += " (numbers)"
			}
			text += " "
		}
		for _, path := range strings.Split(want, " /") {
			if !strings.Contains(text, "/"+strings.TrimPrefix(path, "/")+" ") {
				t.Errorf("%s: %s; want %s", name, text, path)
			}
		}
	}
}

// TestObservationsThatCannotBeDivided are errors: nothing along obs is left in another order than the rest.
func TestObservationsThatCannotBeDivided(t *testing.T) {
	for want, fill := range map[string]func(w *hdf5write.Writer) error{
		"/X has 2 rows, and others along obs 3": func(w *hdf5write.Writer) error { return w.Write("/X", storage.From(make([]int8, 4), 2, 2)) },
		"type awkward-array": func(w *hdf5write.Writer) error {
			return w.Group("/obsm/a", hdf5write.Attr{Name: "encoding-type", Value: "awkward-array"})
		},
		"has no encoding-type": func(w *hdf5write.Writer) error { return w.Group("/layers/a") },
		"is a single value":    func(w *hdf5write.Writer) error { return w.Write("/X", storage.From([]int8{1})) },
	} {
		name := filepath.Join(t.TempDir(), "x.h5ad")
		w, err := hdf5write.Create(name, hdf5write.CreateOptions{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{
			w.SetAttr("/", "encoding-type", "anndata"), w.Write("/obs/i", storage.From([]int8{1, 2, 3}, 3)),
			w.Group("/obs", hdf5write.Attr{Name: "encoding-type", Value: "dataframe"}, hdf5write.Attr{Name: "_index", Value: "i"}), fill(w), w.Close(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		f, err := hdf5.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, _, err := anndata.Observations(f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
