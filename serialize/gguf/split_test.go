package gguf_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// part returns a file of one tensor of one float32, which is part no of a model.
func part(no, parts int, tensor string, value float32) []byte {
	le := binary.LittleEndian
	text := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	b := append([]byte("GGUF"), 3, 0, 0, 0)
	b = le.AppendUint64(le.AppendUint64(b, 1), 2)
	for key, n := range map[string]int{"split.no": no, "split.count": parts} {
		b = le.AppendUint16(le.AppendUint32(text(b, key), 2), uint16(n))
	}
	b = le.AppendUint64(le.AppendUint32(text(b, tensor), 1), 1)
	b = le.AppendUint64(le.AppendUint32(b, 0), 0)
	b = append(b, make([]byte, -len(b)&31)...)
	b, _ = binary.Append(b, le, value)
	return b
}

// TestModelsOfSeveralFiles are read as a whole from the first file; a part that is not there is named, and so
// are all others of a file that has another name.
func TestModelsOfSeveralFiles(t *testing.T) {
	folder := t.TempDir()
	path := func(no int) string { return filepath.Join(folder, fmt.Sprintf("m-%05d-of-00003.gguf", no)) }
	for no, tensor := range []string{"a", "b", "c"} {
		if err := os.WriteFile(path(no+1), part(no, 3, tensor, float32(no)+0.5), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	names := func(f serialize.File) (list, bad []string) {
		for e, err := range f.All() {
			list = append(list, e.Name)
			if err != nil {
				bad = append(bad, e.Name)
			}
		}
		return list, bad
	}
	open := func(name string) serialize.File {
		t.Helper()
		f, err := serialize.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	whole := open(path(1))
	if list, bad := names(whole); !slices.Equal(list, []string{"a", "b", "c"}) || bad != nil {
		t.Errorf("arrays %q, of which %q are errors", list, bad)
	}
	a, err := serialize.Find(whole, "c")
	if got, wrong := storage.Read[float32](a); err != nil || wrong != nil || got[0] != 2.5 {
		t.Errorf("c is %v, %v, %v", got, err, wrong)
	}
	if err := whole.Close(); err != nil {
		t.Error(err)
	}
	if _, err := storage.Read[float32](a); !errors.Is(err, storage.ErrState) {
		t.Errorf("read after closing: %v", err)
	}
	if list, _ := names(open(path(2))); !slices.Equal(list, []string{"b"}) {
		t.Errorf("the second part has %q", list)
	}

	if err := os.Remove(path(2)); err != nil {
		t.Fatal(err)
	}
	missing := open(path(1))
	if list, bad := names(missing); !slices.Equal(list, []string{"a", "m-00002-of-00003.gguf", "c"}) || len(bad) != 1 {
		t.Errorf("without a part: arrays %q, of which %q are errors", list, bad)
	}
	if _, err := serialize.Find(missing, "m-00002-of-00003.gguf"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing part: %v", err)
	}
	b := part(0, 3, "a", 1)
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if list, bad := names(f); len(list) != 3 || len(bad) != 2 {
		t.Errorf("from memory: arrays %q, of which %q are errors", list, bad)
	}
}
