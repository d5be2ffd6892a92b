package npy_test

import (
	"errors"
	"io"
	"iter"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
)

// TestNamesStayInTheFolder: programs that unpack an archive write files by these names.
func TestNamesStayInTheFolder(t *testing.T) {
	for name, ok := range map[string]bool{
		"x": true, "a/b.weight": true, "...": true, "a..b": true, "..": false, "../x": false, "a/../../x": false, "/x": false,
		".": false, "a//b": false, `..\x`: false, "": true, "a/": false, "x\x00": false,
	} {
		var one iter.Seq2[string, storage.Array] = func(yield func(string, storage.Array) bool) { yield(name, storage.From([]float32{1}, 1)) }
		err := serialize.Write(io.Discard, "npz", serialize.Contents{Entries: serialize.Arrays(one)})
		if (err == nil) != ok || err != nil && !errors.Is(err, storage.ErrState) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
