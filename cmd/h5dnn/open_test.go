package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFoldersAndMissingFilesSayWhatToDo: which file of a folder, how to convert a checkpoint that is
// one, and that a writer was killed.
func TestFoldersAndMissingFilesSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"weights/a.txt", "weights/model.safetensors", "shards/a.safetensors", "shards/z.safetensors.index.json", "dcp/.metadata", "dcp/a.pt", "empty/a.txt", "several/a.npy", "several/b.npy", ".lost.safetensors.index.json.0123abcd.partial"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"weights": "weights is a folder; name a file in it, such as " + filepath.Join(dir, "weights/model.safetensors") + "\n",
		"shards":  "shards is a folder; name a file in it, such as " + filepath.Join(dir, "shards/z.safetensors.index.json") + "\n",
		"dcp":     "dcp is a folder; if it is a checkpoint of torch.distributed.checkpoint, python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE converts it\n",
		"several": "several is a folder; name a file in it\n",
		"empty":   "empty is a folder; name a file in it\n",

		"lost.safetensors.index.json": "lost.safetensors.index.json: no such file: the program that wrote it was killed before the file, and others that it names, were complete; write it again\n",
	} {
		for _, command := range []string{"inspect", "verify"} {
			status, _, errs := in(t, t.Context(), command, filepath.Join(dir, name))
			if status != 2 || !strings.HasSuffix(errs, want) {
				t.Errorf("%s %s: status %d, %s; want %s", command, name, status, errs, want)
			}
		}
	}
}
