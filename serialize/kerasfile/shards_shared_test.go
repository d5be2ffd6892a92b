package kerasfile_test

import (
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/storage"
)

// TestElementsOfShardsAreNotShared: elements at one address of two shards are not the same: formats that store shared elements once
// would leave out all but the first.
func TestElementsOfShardsAreNotShared(t *testing.T) {
	whole, err := serialize.Open("testdata/keras3_cnn.keras")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	index := filepath.Join(t.TempDir(), "cnn.weights.json")
	entries, err := serialize.Collect(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := kerasfile.SaveShards(index, serialize.Contents{Entries: serialize.Entries(entries...), Meta: whole.Meta()}, kerasfile.ShardOptions{Size: 1 << 10}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(index)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	names := map[string]string{}
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		if other := names[e.Shared]; e.Shared != "" && other != "" {
			t.Errorf("%s and %s are said to share their elements", other, e.Name)
		}
		names[e.Shared] = e.Name
		if _, err := storage.Read[float64](e.Array); err != nil {
			t.Error(err)
		}
	}
	if len(names) < 20 {
		t.Errorf("%d arrays; want 22", len(names))
	}
}
