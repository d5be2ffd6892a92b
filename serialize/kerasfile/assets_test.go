package kerasfile_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestFilesOfLayersAreOmitted: conversions lose the vocabulary of a layer by name.
func TestFilesOfLayersAreOmitted(t *testing.T) {
	weights, err := os.ReadFile("testdata/keras3_cnn.weights.h5")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "m.keras")
	text := archive(t, member{"metadata.json", about, zip.Store}, member{"config.json", dense1, zip.Store}, member{"model.weights.h5", string(weights), zip.Store},
		member{"assets/", "", zip.Store}, member{"assets/layers/text_vectorization/vocabulary.txt", "a\nb\n", zip.Store})
	if err := os.WriteFile(name, text, 0o666); err != nil {
		t.Fatal(err)
	}
	omitted := serializetest.Open(t, name).(serialize.Omitter).Omitted()
	if len(omitted) != 1 || omitted[0].Path != "/assets/layers/text_vectorization/vocabulary.txt" || omitted[0].Inherent {
		t.Errorf("%v; want the vocabulary", omitted)
	}
	if omitted := serializetest.Open(t, "testdata/keras3_cnn.keras").(serialize.Omitter).Omitted(); len(omitted) > 0 {
		t.Errorf("%v of a file without", omitted)
	}
}
