package h5ck

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A sparseFile does not write blocks of zeros, so that they are holes.
type sparseFile struct{ *os.File }

func (sparseFile) CheckSpace(int64) error { return nil }

func (f sparseFile) Write(b []byte) (int, error) {
	if len(bytes.Trim(b, "\x00")) > 0 {
		return f.File.Write(b)
	}
	_, err := f.Seek(int64(len(b)), io.SeekCurrent)
	return len(b), err
}

// TestMoreThan4GiB writes an array of more than 4 GiB to a sparse file, and one behind it.
func TestMoreThan4GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("goes through 4 GiB")
	}
	serializetest.NeedSparse(t)
	const n = 4<<30 + 3
	list := map[string]storage.Array{"a": {Data: serializetest.MostlyZeros(n), Type: dtype.Uint8, View: views.Of(n)}, "b": storage.From([]float32{1, 2, 3}, 3)}
	w, err := newWriter(serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
		_ = yield("a", list["a"]) && yield("b", list["b"])
	})}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "big.ckpt.h5")
	out, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := w.write(sparseFile{out}); err != nil {
		t.Fatal(err)
	}
	f := serializetest.Open(t, name)
	a, err := serialize.Find(f, "a")
	if err != nil || a.Len() != n {
		t.Fatalf("%v, %v; want %d elements", a, err, n)
	}
	end, err := views.Of(n).Slice(0, n-3, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	last, err := storage.Read[uint8](a.With(end))
	if err != nil || fmt.Sprint(last) != "[0 0 7]" {
		t.Errorf("the end of a is %v, %v", last, err)
	}
	b, err := serialize.Find(f, "b")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[float32](b); err != nil || fmt.Sprint(got) != "[1 2 3]" {
		t.Errorf("b is %v, %v", got, err)
	}
}
