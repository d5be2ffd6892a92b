package hdf5

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/remote"
	"github.com/h5dnn/h5dnn/storage/remote/remotetest"
)

// zipped stores content in a zip archive, uncompressed, and returns a reader of the entry.
func zipped(t *testing.T, content []byte) *io.SectionReader {
	t.Helper()
	name := filepath.Join(t.TempDir(), "archive.zip")
	out, err := os.Create(name)
	must(t, err)
	w := zip.NewWriter(out)
	entry, err := w.CreateHeader(&zip.FileHeader{Name: "data.h5", Method: zip.Store})
	must(t, err)
	_, err = entry.Write(content)
	must(t, err)
	must(t, errors.Join(w.Close(), out.Close()))

	file, err := os.Open(name)
	must(t, err)
	t.Cleanup(func() { file.Close() })
	info, err := file.Stat()
	must(t, err)
	archive, err := zip.NewReader(file, info.Size())
	must(t, err)
	at, err := archive.File[0].DataOffset()
	must(t, err)
	return io.NewSectionReader(file, at, int64(archive.File[0].UncompressedSize64))
}

// served returns content as a remote file with memory for little of it.
func served(t *testing.T, content []byte) *remote.File {
	server := remotetest.NewServer(t, map[string][]byte{"x.h5": content}, remotetest.Settings{})
	f, err := remote.NewClient(remote.Options{Memory: 1 << 20}).Open(t.Context(), server.URL+"x.h5")
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// TestNewReader reads every dataset of testdata out of memory, out of a zip archive, through
// an *os.File and by HTTP, and compares it with the mapped file. Random views of numbers are
// compared, too, because they are read in another way when nothing is mapped.
func TestNewReader(t *testing.T) {
	names, err := filepath.Glob("testdata/*.h5")
	must(t, err)
	compared := 0
	for _, name := range names {
		content, err := os.ReadFile(name)
		must(t, err)
		file, err := os.Open(name)
		must(t, err)
		defer file.Close()
		mapped, err := Open(name, Options{Follow: "testdata"})
		must(t, err)
		defer mapped.Close()
		for _, r := range []io.ReaderAt{bytes.NewReader(content), zipped(t, content), file, served(t, content)} {
			f, err := NewReader(r, int64(len(content)), Options{Follow: "testdata", Name: name})
			must(t, err)
			compared += compareFiles(t, f, mapped)
			want, err := mapped.Verify(context.Background(), nil)
			must(t, err)
			if got, err := f.Verify(context.Background(), nil); err != nil || !reflect.DeepEqual(got, want) || got.Objects == 0 {
				t.Errorf("%s: verified as %+v, %v, want %+v", name, got, err, want)
			}
			must(t, f.Close())
		}
	}
	if compared < 300 {
		t.Errorf("%d datasets compared, want at least 300", compared)
	}
}

func compareFiles(t *testing.T, f, mapped *File) (compared int) {
	t.Helper()
	random := rand.New(rand.NewPCG(11, 12))
	for o, err := range mapped.Walk() {
		must(t, err)
		if o.Kind != KindDataset {
			continue
		}
		want, err := o.Dataset()
		must(t, err)
		got, err := f.Dataset(o.Path)
		must(t, err)
		compared++
		if want.DType == dtype.Invalid {
			a, failed := want.Values(want.View())
			b, err := got.Values(got.View())
			if (failed == nil) != (err == nil) || !reflect.DeepEqual(a, b) {
				t.Errorf("%s%s: %v, %v, want %v, %v", f.Name(), o.Path, b, err, a, failed)
			}
			continue
		}
		a, failed := want.Array()
		b, err := got.Array()
		if failed != nil || err != nil {
			if (failed == nil) != (err == nil) {
				t.Errorf("%s%s: error %v, want %v", f.Name(), o.Path, err, failed)
			}
			continue
		}
		for k := range 6 {
			v := a.View
			if k > 0 {
				v = randomView(random, v)
			}
			if v.Len() > 1<<20 {
				continue
			}
			x, y := make([]byte, v.Len()*a.Type.Size()), make([]byte, v.Len()*a.Type.Size())
			must(t, a.Data.(storage.Source).ReadView(x, a.Type, v))
			if err := b.Data.(storage.Source).ReadView(y, a.Type, v); err != nil || !bytes.Equal(x, y) {
				t.Fatalf("%s%s: %+v: other elements than from the mapped file (%v)", f.Name(), o.Path, v, err)
			}
		}
	}
	return compared
}

// TestNewReaderErrors reads through a reader that fails, a wrong size, and after Close.
func TestNewReaderErrors(t *testing.T) {
	content, err := os.ReadFile("testdata/pages_latest.h5")
	must(t, err)
	if _, err := NewReader(bytes.NewReader(content), int64(len(content)/2), Options{Name: "part"}); err == nil || !strings.HasPrefix(err.Error(), "part: truncated") {
		t.Errorf("half of the file: %v", err)
	}
	if _, err := NewReader(bytes.NewReader(content), -1); err == nil {
		t.Error("negative size: no error")
	}
	r := &failingReader{ReaderAt: bytes.NewReader(content)}
	f, err := NewReader(r, int64(len(content)))
	must(t, err)
	var arrays []storage.Array
	for d, err := range f.NumericDatasets() {
		must(t, err)
		_, err = d.StoredSize()
		must(t, err)
		a, err := d.Array()
		must(t, err)
		arrays = append(arrays, a)
	}
	r.err = errors.New("connection lost")
	for _, a := range arrays {
		if _, err := a.To(storage.CPU); !errors.Is(err, r.err) {
			t.Errorf("%v: error %v, want that of the reader", a, err)
		}
	}
	r.err = nil
	must(t, f.Close())
	for _, a := range arrays {
		if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) {
			t.Errorf("%v after Close: error %v", a, err)
		}
	}
	if f.Close() != nil || len(arrays) == 0 {
		t.Errorf("%d arrays, or a second Close failed", len(arrays))
	}
}

type failingReader struct {
	io.ReaderAt
	err error
}

func (r *failingReader) ReadAt(p []byte, off int64) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.ReaderAt.ReadAt(p, off)
}

// TestClose reads every dataset of a file after Close, mapped ones included, which must
// fail. Copies in memory stay valid.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	content, err := os.ReadFile("testdata/types_latest.h5")
	must(t, err)
	name := filepath.Join(dir, "x.h5")
	must(t, os.WriteFile(name, content, 0o600))
	f, err := Open(name)
	must(t, err)
	type pair struct{ file, copy storage.Array }
	var pairs []pair
	mapped := 0
	for d, err := range f.NumericDatasets() {
		must(t, err)
		a, err := d.Array()
		must(t, err)
		host, err := a.To(storage.CPU)
		must(t, err)
		if _, ok := a.Data.(storage.MappedSource); ok {
			mapped++
		}
		pairs = append(pairs, pair{a, host})
	}
	before := make([][]byte, len(pairs))
	for k, p := range pairs {
		b, _ := p.copy.Bytes()
		before[k] = slices.Clone(b)
	}
	must(t, f.Close())
	must(t, os.Truncate(name, 0))
	for k, p := range pairs {
		if _, err := p.file.To(storage.CPU); !errors.Is(err, storage.ErrState) {
			t.Errorf("%v: error %v, want %v", p.file, err, storage.ErrState)
		}
		if b, _ := p.copy.Bytes(); !bytes.Equal(b, before[k]) {
			t.Errorf("%v: the copy changed", p.file)
		}
	}
	if mapped == 0 {
		t.Error("no dataset is mapped")
	}
}
