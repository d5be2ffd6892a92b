package main

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
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

// TestInspectCountsWhatIsNotRead behind the first reason, without the kind of the error.
func TestInspectCountsWhatIsNotRead(t *testing.T) {
	dir := t.TempDir()
	one := filepath.Join(dir, "one.npy")
	if err := serialize.Save(one, "", serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "one", Array: storage.From([]float32{1}, 1)})}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"a.npy", "b.npy", "a.npy", "b.npy", "c.npy"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name})
		if err == nil {
			_, err = w.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(dir, "twice.npz")
	if err := errors.Join(z.Close(), os.WriteFile(name, archive.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	status, out, errs := in(t, t.Context(), "inspect", name)
	if want := "h5dnn inspect: " + name + ": /a: duplicate name (and 1 more object that could not be read)\n"; status != 2 || errs != want || !strings.Contains(out, "c  float32 (1,)") {
		t.Errorf("status %d, %s%s; want %s", status, out, errs, want)
	}
}
