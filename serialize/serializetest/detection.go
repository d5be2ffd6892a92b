package serializetest

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// matches looks at a file of the format with the eyes of every registered one.
func (x examiner) matches(t *testing.T) {
	name := x.file(t)
	x.save(t, name, nil, named{"w", storage.From([]float32{1, 2}, 2)})
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(b)
	own := x.Match(r, r.Size())
	for _, other := range serialize.Formats() {
		f, err := serialize.ByName(other)
		if err == nil && f.Match != nil && other != x.Name && f.Match(r, r.Size()) >= own {
			t.Errorf("%s matches as well as %s does", other, x.Name)
		}
	}
	for _, size := range []int64{0, 1, 7} {
		if c := x.Match(io.NewSectionReader(r, 0, size), size); c != serialize.NoMatch {
			t.Errorf("the first %d bytes alone match: %v; Match should want more than a signature", size, c)
		}
	}
	if f, err := serialize.Detect(r, r.Size()); err != nil || f.Name != x.Name {
		t.Errorf("detected as %q, %v", f.Name, err)
	}
}

// readers writes a file to memory and reads it from there, and from a zip archive
// where it is stored without compression among other things.
func (x examiner) readers(t *testing.T) {
	list := []named{{"w", random(rand.New(rand.NewPCG(5, 5)), dtype.Float32, 70, 33)}, {"b", storage.From([]float32{3}, 1)}}
	if x.Single {
		list = list[:1]
	}
	var b bytes.Buffer
	if err := serialize.Write(&b, x.Name, serialize.Contents{Entries: all(list)}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "memory")
	if err != nil {
		t.Fatal(err)
	}
	x.compare(t, f, map[string]string{}, list...)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	x.inArchive(t, b.Bytes(), list)
}

// inArchive reads a file from within a zip archive, and a slice of its first array.
func (x examiner) inArchive(t *testing.T, file []byte, list []named) {
	in := archived(t, file)
	f, err := serialize.OpenReader(in, in.Size(), "archive.zip/inner")
	if err != nil {
		t.Fatal(err)
	}
	x.compare(t, f, map[string]string{}, list...)
	var last storage.Array
	for e := range f.All() {
		if last = e.Array; e.Name != list[0].name && !x.Single {
			continue
		}
		part, err := e.Array.Slice(0, 60, 2, -7)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := list[0].Slice(0, 60, 2, -7)
		if !bytes.Equal(content(t, e.Array.With(part)), content(t, list[0].With(want))) {
			t.Error("a slice from within an archive differs")
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := last.To(storage.CPU); !errors.Is(err, storage.ErrState) {
		t.Errorf("read after closing: %v, want storage.ErrState; arrays from Sections report it", err)
	}
}

// archived returns the second of two copies of a file in a zip archive.
func archived(t *testing.T, file []byte) *io.SectionReader {
	t.Helper()
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"readme", "inner"} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(archive.Bytes())
	r, err := zip.NewReader(in, in.Size())
	if err != nil {
		t.Fatal(err)
	}
	at, err := r.File[1].DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	return io.NewSectionReader(in, at, int64(r.File[1].UncompressedSize64))
}
