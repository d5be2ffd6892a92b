package npy_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	npyio "github.com/sbinet/npyio/npy"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

func TestNpyioAgrees(t *testing.T) {
	want := []float64{1.5, -2, 3e300}
	var b bytes.Buffer
	if err := npy.Write(&b, storage.From(want, 3)); err != nil {
		t.Fatal(err)
	}
	var got []float64
	if err := npyio.Read(&b, &got); err != nil || !slices.Equal(got, want) {
		t.Errorf("npyio reads %v, %v; want %v", got, err, want)
	}
	name := filepath.Join(t.TempDir(), "x.npy")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(npyio.Write(f, want), f.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	a, err := serialize.Find(file, "x")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[float64](a); err != nil || !slices.Equal(got, want) {
		t.Errorf("of what npyio wrote, %v, %v; want %v", got, err, want)
	}
}

// bytesOf returns an .npy file with a header of version 1.
func bytesOf(header string, data ...byte) []byte {
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(header)))
	return append(append(b, header...), data...)
}

// read opens an .npy file in memory.
func read(t *testing.T, b []byte) serialize.Entry {
	t.Helper()
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.npy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	e, err := serialize.Lookup(f, "x")
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestDefectsOfNpyio pins what npyio v0.6.0 does wrong: that it does, so that a version
// which does not is noticed, and that this package does not.
func TestDefectsOfNpyio(t *testing.T) {
	t.Run("1: half precision, header version 3, sizes with an L", func(t *testing.T) {
		half := bytesOf("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), }\n", 0, 0x3c)
		version3 := append([]byte("\x93NUMPY\x03\x00"), binary.LittleEndian.AppendUint32(nil, 56)...)
		version3 = append(version3, "{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}\n\x01"...)
		python2 := bytesOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1L,)}\n", 1)
		for k, b := range [][]byte{half, version3, python2} {
			var got []uint16
			var bytes8 []uint8
			if k < 2 && (npyio.Read(bytes.NewReader(b), &got) == nil || npyio.Read(bytes.NewReader(b), &bytes8) == nil) {
				t.Errorf("npyio reads %q", b) // it takes an L in some places
			}
			if x, err := storage.Read[float32](read(t, b).Array); err != nil || x[0] != 1 {
				t.Errorf("%q: %v, %v; want 1", b, x, err)
			}
		}
	})
	t.Run("2: structured types", func(t *testing.T) {
		b := bytesOf("{'descr': [('a', '<f4'), ('b', '|u1')], 'fortran_order': False, 'shape': (1,)}\n", 0, 0, 0x80, 0x3f, 7)
		r, err := npyio.NewReader(bytes.NewReader(b))
		if err == nil && r.Header.Descr.Type == "" {
			t.Errorf("npyio has no type and no error")
		}
		e := read(t, b)
		values, err := e.Elements.Values(e.Elements.View)
		if want := (hdf5.Record{Names: []string{"a", "b"}, Values: []any{float32(1), uint64(7)}}); err != nil || !equal(values[0], want) {
			t.Errorf("%v, %v; want %v", values, err, want)
		}
	})
	t.Run("3: keys in another order, and a missing newline, panic", func(t *testing.T) {
		reordered := bytesOf("{'shape': (1,), 'fortran_order': False, 'descr': '|u1'}\n", 1)
		bare := bytesOf("{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}", 1)
		for _, b := range [][]byte{reordered, bare} {
			func() {
				defer func() { recover() }()
				var got []uint8
				if err := npyio.Read(bytes.NewReader(b), &got); err == nil && len(got) == 1 && got[0] == 1 {
					t.Errorf("npyio reads %q", b)
				}
			}()
			if x, err := storage.Read[uint8](read(t, b).Array); err != nil || x[0] != 1 {
				t.Errorf("%q: %v, %v; want 1", b, x, err)
			}
		}
	})
	t.Run("4 and 5: Fortran order, and more axes than two", func(t *testing.T) {
		b := bytesOf("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n", 1, 4, 2, 5, 3, 6)
		var flat []uint8
		if err := npyio.Read(bytes.NewReader(b), &flat); err == nil && slices.Equal(flat, []uint8{1, 2, 3, 4, 5, 6}) {
			t.Errorf("npyio reads Fortran order in row-major order")
		}
		a := read(t, b).Array
		if x, err := storage.Read[uint8](a); err != nil || !slices.Equal(x, []uint8{1, 2, 3, 4, 5, 6}) || !slices.Equal(a.Shape, []int{2, 3}) {
			t.Errorf("%v, %v", x, err)
		}
		var out bytes.Buffer
		if err := npy.Write(&out, storage.From([]uint8{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)); err != nil || !slices.Equal(read(t, out.Bytes()).Array.Shape, []int{2, 2, 2}) {
			t.Errorf("three axes: %v", err)
		}
	})
	t.Run("6: truncated files have old values and no error", func(t *testing.T) {
		b := bytesOf("{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }\n", make([]byte, 24)...)
		if f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.npy"); err == nil {
			t.Errorf("a truncated file is opened: %v", f)
		}
	})
	t.Run("7: short reads are taken for data", func(t *testing.T) {
		var b bytes.Buffer
		want := []float64{1, 2, 3, 4}
		if err := npy.Write(&b, storage.From(want, 4)); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.OpenReader(shortReader{bytes.NewReader(b.Bytes())}, int64(b.Len()), "x.npy")
		if err == nil {
			a, missing := serialize.Find(f, "x")
			got, wrong := storage.Read[float64](a)
			if err = errors.Join(missing, wrong); err == nil && !slices.Equal(got, want) {
				t.Errorf("from short reads, %v, want %v or an error", got, want)
			}
		}
		var got []float64
		if err := npyio.Read(iotest.OneByteReader(bytes.NewReader(b.Bytes())), &got); err == nil && slices.Equal(got, want) {
			t.Error("npyio reads one byte at a time")
		}
	})
	t.Run("8: an element at a time", func(t *testing.T) {
		var b bytes.Buffer
		if err := npy.Write(&b, storage.From(make([]float64, 10_000), 100, 100)); err != nil {
			t.Fatal(err)
		}
		counted := &countingReader{ReaderAt: bytes.NewReader(b.Bytes())}
		f, err := serialize.OpenReader(counted, int64(b.Len()), "x.npy")
		if err != nil {
			t.Fatal(err)
		}
		a, err := serialize.Find(f, "x")
		if err == nil {
			_, err = a.To(storage.CPU)
		}
		if err != nil || counted.n > 20 {
			t.Errorf("%d reads, %v; want a few", counted.n, err)
		}
	})
	t.Run("9: data begins at a multiple of 64 bytes", func(t *testing.T) {
		var theirs, ours bytes.Buffer
		if err := errors.Join(npyio.Write(&theirs, []float64{1}), npy.Write(&ours, storage.From([]float64{1}, 1))); err != nil {
			t.Fatal(err)
		}
		if at := theirs.Len() - 8; at%64 == 0 {
			t.Error("npyio aligns data")
		}
		if at := ours.Len() - 8; at%64 != 0 {
			t.Errorf("data begins at byte %d", at)
		}
	})
	t.Run("10: names in archives end in .npy, and entries are not compressed", func(t *testing.T) {
		var b bytes.Buffer
		one := serialize.Entry{Name: "x", Array: storage.From([]float64{1}, 1)}
		if err := serialize.Write(&b, "npz", contents(one)); err != nil {
			t.Fatal(err)
		}
		if name := string(b.Bytes()[30:35]); name != "x.npy" || b.Bytes()[8] != 0 {
			t.Errorf("entry %q with compression %d", name, b.Bytes()[8])
		}
	})
}

// A shortReader returns half of what is asked for, as network files may.
type shortReader struct{ io.ReaderAt }

func (r shortReader) ReadAt(b []byte, at int64) (int, error) {
	if len(b) > 1 {
		n, err := r.ReaderAt.ReadAt(b[:len(b)/2], at)
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	}
	return r.ReaderAt.ReadAt(b, at)
}

type countingReader struct {
	io.ReaderAt
	n int
}

func (r *countingReader) ReadAt(b []byte, at int64) (int, error) {
	r.n++
	return r.ReaderAt.ReadAt(b, at)
}
