package kerasfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/kerasfile"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// TestShardsHoldTheModel writes models in shards of one array and more, and reads them.
func TestShardsHoldTheModel(t *testing.T) {
	for _, name := range []string{"keras3_graph.keras", "keras2_transformer.keras", "keras3_recurrent.h5"} {
		for _, size := range []int{1, 300, 1 << 20} {
			source := serializetest.Open(t, "testdata/"+name)
			index := filepath.Join(t.TempDir(), "model"+kerasfile.IndexExtension)
			shards := 0
			err := kerasfile.SaveShards(index, serialize.Contents{Entries: source.All(), Meta: source.Meta()}, kerasfile.ShardOptions{Size: size, Check: func(string) error { shards++; return nil }})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if most := size == 1<<20; most != (shards == 1) {
				t.Errorf("%s: %d shards of %d bytes", name, shards, size)
			}
			f := serializetest.Open(t, index).(*kerasfile.File)
			if err := f.SetModel(source.(*kerasfile.File).Model()); err != nil {
				t.Fatal(err)
			}
			for path, l := range source.(*kerasfile.File).Model().All() {
				for _, w := range l.Weights {
					a, err := serialize.Find(f, path+"/"+w.Name)
					if err != nil {
						t.Errorf("%s: %v", name, err)
					} else if !equal(t, a, w.Array) {
						t.Errorf("%s: %s/%s differs", name, path, w.Name)
					}
				}
			}
		}
	}
}

// TestShardsOfOthersStay refuses to replace a shard without its index.
func TestShardsOfOthersStay(t *testing.T) {
	source := serializetest.Open(t, "testdata/keras3_mlp.keras")
	index := filepath.Join(t.TempDir(), "model"+kerasfile.IndexExtension)
	contents := serialize.Contents{Entries: source.All(), Meta: source.Meta()}
	for range 2 {
		if err := serialize.Save(index, "", contents); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if err := serialize.Save(index, "", contents); !errors.Is(err, storage.ErrState) {
		t.Errorf("error %v; want one that the shard exists", err)
	}
}
