package npy_test

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/npy"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/storagetest"
)

func TestFormats(t *testing.T) {
	t.Run("npy", func(t *testing.T) { serializetest.TestFormat(t, "npy") })
	t.Run("npz", func(t *testing.T) { serializetest.TestFormat(t, "npz", "a/b", "", "x.npy") })
}

// open reads the arrays of a file in testdata.
func open(t *testing.T, name string) map[string]storage.Array {
	t.Helper()
	f, err := serialize.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	all := map[string]storage.Array{}
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name] = e.Array
	}
	return all
}

// TestReadsWhatNumPyWrote reads files that testdata/make.py wrote: each holds
// np.arange(24).reshape(2, 3, 4) % 7 in another form.
func TestReadsWhatNumPyWrote(t *testing.T) {
	want := make([]float64, 24)
	for i := range want {
		want[i] = float64(i % 7)
	}
	for _, name := range []string{"c_order.npy", "fortran.npy", "big_endian.npy", "version2.npy", "version3.npy", "float16.npy", "stored.npz", "deflated.npz"} {
		for _, a := range open(t, name) {
			got, err := storage.Read[float64](a)
			if err != nil || !slices.Equal(a.Shape, []int{2, 3, 4}) || !slices.Equal(got, want) {
				t.Errorf("%s: %v: %v, %v; want %v", name, a, got, err, want)
			}
		}
	}
	complex, err := storage.Read[complex128](open(t, "complex_big.npy")["complex_big"])
	if want := []complex128{1 + 2i, -3 - 4i}; err != nil || !slices.Equal(complex, want) {
		t.Errorf("complex: %v, %v; want %v", complex, err, want)
	}
	bools, err := storage.Read[bool](open(t, "bool.npy")["bool"])
	if want := []bool{true, false, true}; err != nil || !slices.Equal(bools, want) {
		t.Errorf("bool: %v, %v; want %v", bools, err, want)
	}
	scalar := open(t, "scalar.npy")["scalar"]
	if got, err := storage.Read[int64](scalar); err != nil || scalar.Rank() != 0 || got[0] != 42 {
		t.Errorf("scalar: %v: %v, %v; want 42", scalar, got, err)
	}
}

// TestPythonObjectsAreRefused, and the numbers beside them in an archive are read.
func TestPythonObjectsAreRefused(t *testing.T) {
	if f, err := serialize.Open("testdata/object.npy"); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "Python objects") {
		t.Errorf("object.npy: %v, %v; want a one-line error", f, err)
	}
	f := serializetest.Open(t, "testdata/mixed.npz")
	if _, err := serialize.Lookup(f, "objects"); !errors.Is(err, dtype.ErrType) || !strings.Contains(err.Error(), "Python objects") {
		t.Errorf("objects: %v", err)
	}
	a, err := serialize.Find(f, "x")
	if got, wrong := storage.Read[int64](a); err != nil || wrong != nil || !slices.Equal(got, []int64{0, 1, 2}) {
		t.Errorf("numbers beside objects: %v, %v, %v", got, err, wrong)
	}
	if _, err := serialize.Find(f, "text"); !errors.Is(err, dtype.ErrType) {
		t.Errorf("strings as numbers: %v", err)
	}
}

func TestSlicesOfAnArchiveReadTheirPart(t *testing.T) {
	a := open(t, "stored.npz")["x"]
	v, err := a.Select(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	v, err = v.Slice(1, 3, -5, -2)
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read[int32](a.With(v))
	if want := []int32{1, 6, 5, 3, 2, 0}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

// TestHeadersOfOtherWriters: Python 2 wrote strings of Unicode with a u, and ml_dtypes writes
// float8_e5m2 as f1.
func TestHeadersOfOtherWriters(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.npy")
	for dict, want := range map[string]dtype.Type{
		"{u'descr': u'<f4', u'fortran_order': False, u'shape': (1L,)}": dtype.Float32,
		"{'descr': '<f1', 'fortran_order': False, 'shape': (4,)}":      dtype.Float8E5M2,
	} {
		file := string(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(dict)))) + dict + "\x00\x00\x80\x3f"
		if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
			t.Fatal(err)
		}
		f, err := serialize.Open(name)
		if err != nil {
			t.Errorf("%s: %v", dict, err)
			continue
		}
		defer f.Close()
		a, err := serialize.Find(f, "x")
		if err != nil || a.Type != want {
			t.Errorf("%s: %v, %v", dict, a.Type, err)
			continue
		}
		if x, err := storage.Read[float64](a); err != nil || x[len(x)-1] != map[dtype.Type]float64{dtype.Float32: 1, dtype.Float8E5M2: 1.75}[want] {
			t.Errorf("%s: %v, %v", dict, x, err)
		}
	}
}

func TestHostileHeadersAreErrors(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.npy")
	for _, dict := range []string{
		"", "{}", "{", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
		"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (3,)}",
		"{'descr': '<f4', 'descr': '<f8', 'fortran_order': False, 'shape': (0,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,)}",
		"{'descr': '', 'fortran_order': False, 'shape': (1,)}",
		"{'descr': '<', 'fortran_order': False, 'shape': (1,)}",
		"{'descr': 'f<4', 'fortran_order': False, 'shape': (1,)}",
		"{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (" + strings.Repeat("1,", 70) + ")}",
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
	} {
		refused(t, name, string(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(dict))))+dict+"1234567")
	}
	refused(t, name, "\x93NUMPY\x02\x00\x00\x00\x00\x80")
	long := "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}" + strings.Repeat(" ", 1<<20)
	refused(t, name, string(binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(len(long))))+long+"1234")
	refused(t, name, "\x93NUMPY\x04\x00\x00\x00\x00\x00")
}

// refused checks that a file of the given bytes is not even opened.
func refused(t *testing.T, name, file string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(file), 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := serialize.Open(name); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%.80q: %v, %v, want a one-line error", file, f, err)
	}
}

func TestArchivesOfOthersAreNotTaken(t *testing.T) {
	name := filepath.Join(t.TempDir(), "model.pt")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if _, err := z.Create("archive/data.pkl"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := serialize.Open(name); !errors.Is(err, serialize.ErrFormat) {
		t.Errorf("%v, want ErrFormat", err)
	}
}

// archive writes an .npz of one array of 5000 int16, compressed or not, whose
// directory may lie.
func archive(t *testing.T, method uint16, lie func(*zip.FileHeader)) string {
	t.Helper()
	var plain, packed bytes.Buffer
	elems := make([]int16, 5000)
	for i := range elems {
		elems[i] = int16(i * i)
	}
	if err := npy.Write(&plain, storage.From(elems, 5000)); err != nil {
		t.Fatal(err)
	}
	h := &zip.FileHeader{Name: "x.npy", Method: method, CRC32: crc32.ChecksumIEEE(plain.Bytes()), UncompressedSize64: uint64(plain.Len())}
	if method == zip.Deflate {
		w, _ := flate.NewWriter(&packed, 9)
		w.Write(plain.Bytes())
		w.Close()
	} else {
		packed = plain
	}
	h.CompressedSize64 = uint64(packed.Len())
	lie(h)
	name := filepath.Join(t.TempDir(), "x.npz")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	w, err := z.CreateRaw(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(packed.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestReadsOutsideAnEntryAreErrors reads compressed and stored arrays where they
// are not, and after closing.
func TestReadsOutsideAnEntryAreErrors(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		f, err := serialize.Open(archive(t, method, func(*zip.FileHeader) {}))
		if err != nil {
			t.Fatal(err)
		}
		a, err := serialize.Find(f, "x")
		if err != nil {
			t.Fatal(err)
		}
		want, err := a.To(storage.CPU)
		if err != nil {
			t.Fatal(err)
		}
		storagetest.TestSource(t, a, want)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) {
			t.Errorf("method %d, after closing: %v, want ErrState", method, err)
		}
	}
}

func TestLyingArchivesAreErrors(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		if err := serializetest.Drain(archive(t, method, func(*zip.FileHeader) {})); err != nil {
			t.Errorf("an honest archive: %v", err)
		}
		for name, lie := range map[string]func(*zip.FileHeader){
			"huge":                func(h *zip.FileHeader) { h.UncompressedSize64 = 1 << 40 },
			"huge in both sizes":  func(h *zip.FileHeader) { h.CompressedSize64, h.UncompressedSize64 = 1<<50, 1<<55 },
			"beyond int64":        func(h *zip.FileHeader) { h.CompressedSize64, h.UncompressedSize64 = 1<<63, 1<<63 },
			"smaller than header": func(h *zip.FileHeader) { h.UncompressedSize64 = 20 },
			"encrypted":           func(h *zip.FileHeader) { h.Flags |= 1 },
		} {
			if f, err := serialize.Open(archive(t, method, lie)); err == nil {
				t.Errorf("%s, method %d: opened as %v", name, method, f)
			}
		}
		for name, lie := range map[string]func(*zip.FileHeader){
			"checksum": func(h *zip.FileHeader) { h.CRC32++ },
			"too small": func(h *zip.FileHeader) {
				h.UncompressedSize64 -= 2
				if method == zip.Store {
					h.CompressedSize64 -= 2
				}
			},
		} {
			if err := serializetest.Drain(archive(t, method, lie)); err == nil {
				t.Errorf("%s, method %d: read", name, method)
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.np[yz]")
	file, archive := serializetest.FuzzTarget("npy"), serializetest.FuzzTarget("npz")
	f.Fuzz(func(t *testing.T, b []byte) {
		file(t, b)
		archive(t, b)
	})
}
