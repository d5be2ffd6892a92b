package sharded_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/torch"
)

// TestOmittedOfShards: what the shards have beside arrays is named.
func TestOmittedOfShards(t *testing.T) {
	folder := t.TempDir()
	shard, err := os.ReadFile("../torch/testdata/omitted_module.pt")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(folder, "model.bin.index.json")
	for file, content := range map[string]string{
		filepath.Join(folder, "model.bin"): string(shard),
		name:                               `{"metadata": {}, "weight_map": {"layer.weight": "model.bin", "layer.bias": "model.bin"}}`,
	} {
		if err := os.WriteFile(file, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if omitted := f.(serialize.Omitter).Omitted(); len(omitted) != 4 {
		t.Errorf("%v", omitted)
	}
}
