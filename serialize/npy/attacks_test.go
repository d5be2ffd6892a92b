package npy_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// npyOf returns a file with a header of these.
func npyOf(descr, shape string, data []byte) []byte {
	dict := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': %s, }", descr, shape)
	b := binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(len(dict)))
	return append(append(b, dict...), data...)
}

// zipOf returns an archive of files, by name and content in turns.
func zipOf(t *testing.T, method uint16, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: files[i], Method: method})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// listedTwice adds an entry of the directory that refers to the first file under another name.
func listedTwice(b []byte) []byte {
	le := binary.LittleEndian
	end := bytes.LastIndex(b, []byte("PK\x05\x06"))
	at := int(le.Uint32(b[end+16:]))
	entry := bytes.Clone(b[at:end])
	copy(entry[46:], "y")
	out := append(append(bytes.Clone(b[:end]), entry...), b[end:]...)
	end += len(entry)
	le.PutUint16(out[end+8:], 2)
	le.PutUint16(out[end+10:], 2)
	le.PutUint32(out[end+12:], uint32(2*len(entry)))
	return out
}

// TestAttacks: each file is refused with its reason.
func TestAttacks(t *testing.T) {
	good := string(npyOf("'<f4'", "(2,)", make([]byte, 8)))
	nested := strings.Repeat("[('a', ", 40) + "'<f4'" + strings.Repeat(")]", 40)
	type attack struct {
		format, reason string
		b              []byte
	}
	attacks := map[string]attack{
		"huge_shape":                  {"npy", "overflows", npyOf("'<f4'", "(1099511627776, 1099511627776)", make([]byte, 8))},
		"beyond_file":                 {"npy", "takes 4000 bytes, but there are 8", npyOf("'<f4'", "(1000,)", make([]byte, 8))},
		"negative_size":               {"npy", "want a size", npyOf("'<f4'", "(-1,)", make([]byte, 8))},
		"many_axes":                   {"npy", "1000 axes; NumPy has at most 64", npyOf("'<f4'", "("+strings.Repeat("1, ", 1000)+")", make([]byte, 8))},
		"objects":                     {"npy", "a pickle would have to be run", npyOf("'|O'", "(1,)", []byte("cos\nsystem\n(S'true'\ntR."))},
		"objects_in_a_record":         {"npy", "a pickle would have to be run", npyOf("[('a', '|O')]", "(1,)", make([]byte, 8))},
		"call":                        {"npy", "want a size", npyOf("__import__('os').system('true')", "(1,)", make([]byte, 8))},
		"deep_record":                 {"npy", "want a value", npyOf(nested, "(1,)", make([]byte, 8))},
		"large_record":                {"npy", "elements of more than", npyOf("[('a', '|S1000000000'), ('b', '|S1000000000')]", "(1,)", make([]byte, 8))},
		"texts_of_no_bytes":           {"npy", "beyond the limit", npyOf("'<U0'", "(4611686018427387904,)", nil)},
		"records_of_no_bytes":         {"npy", "beyond the limit", npyOf("[]", "(4611686018427387904,)", nil)},
		"characters":                  {"npy", "is not a character", npyOf("'<U1'", "(1,)", []byte{255, 255, 255, 255})},
		"long_header":                 {"npy", "at most 1048576 are allowed", append([]byte("\x93NUMPY\x02\x00\x00\x00\x00\x80"), make([]byte, 100)...)},
		"compressed_header":           {"npz", "at most 65536 are allowed", zipOf(t, zip.Deflate, "x.npy", "\x93NUMPY\x02\x00\x00\x00\x02\x00"+strings.Repeat(" ", 1<<17))},
		"header_beyond_file":          {"npy", "header of 60000 bytes", append([]byte("\x93NUMPY\x01\x00\x60\xea"), make([]byte, 100)...)},
		"elements_left":               {"npz", "takes 4 bytes, but there are 8", zipOf(t, zip.Deflate, "x.npy", string(npyOf("'<f4'", "(1,)", make([]byte, 8))))},
		"name_twice":                  {"npz", "duplicate name", zipOf(t, zip.Store, "x.npy", good, "x.npy", good)},
		"objects_in_archive":          {"npz", "a pickle would have to be run", zipOf(t, zip.Deflate, "x.npy", string(npyOf("'|O'", "(1,)", []byte("cos\nsystem\n(S'true'\ntR."))))},
		"truncated":                   {"npz", "h5dnn repair saves its intact arrays", zipOf(t, zip.Store, "x.npy", good)[:100]},
		"comment":                     {"npz", "metadata", withComment(zipOf(t, zip.Store, "x.npy", good), `{"h5dnn": 3}`)},
		"comment of another checksum": {"npz", "metadata: checksum", withComment(zipOf(t, zip.Store, "x.npy", good), `{"h5dnn":{"a":"b"},"crc32c":"00000000"}`)},
		"comment that begins wrong":   {"npz", "metadata: checksum", withComment(zipOf(t, zip.Store, "x.npy", good), `{"h5dno":{"a":"b"},"crc32c":"00000000"}`)},
	}
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		name := fmt.Sprint("overlap_of_method_", method)
		attacks[name] = attack{"npz", `record "x.npy" overlaps what follows it`, listedTwice(zipOf(t, method, "x.npy", good))}
	}
	for name, a := range attacks {
		serializetest.TestAttackBytes(t, a.format, name, a.b, a.reason)
	}
}

func withComment(b []byte, text string) []byte {
	binary.LittleEndian.PutUint16(b[len(b)-2:], uint16(len(text)))
	return append(b, text...)
}

// TestManyAxesAreNotWritten: another format may have an array of a million axes.
func TestManyAxesAreNotWritten(t *testing.T) {
	shape := make([]int, 1_000_000)
	for i := range shape {
		shape[i] = 1
	}
	for _, format := range []string{"npy", "npz"} {
		err := serialize.Write(new(bytes.Buffer), format, serialize.Contents{Entries: serialize.Arrays(func(yield func(string, storage.Array) bool) {
			yield("x", storage.From([]float32{1}, shape...))
		})})
		if !errors.Is(err, views.ErrShape) || len(err.Error()) > 1000 {
			t.Errorf("%s: %.200v", format, err)
		}
	}
}

// TestBombsAreReadInOrder: what expands beyond the budget is not held in memory.
func TestBombsAreReadInOrder(t *testing.T) {
	b := zipOf(t, zip.Deflate, "x.npy", string(npyOf("'<f4'", "(16777216,)", make([]byte, 64<<20))))
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.npz", serialize.Options{Budget: storage.NewBudget(1 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	a, err := serialize.Find(f, "x")
	if err != nil {
		t.Fatal(err)
	}
	before := serializetest.Allocated()
	if a.View, err = a.View.Slice(0, 1<<24-1, 1<<24, 1); err == nil {
		_, err = a.To(storage.CPU)
	}
	if used := serializetest.Allocated() - before; err != nil || used > 8<<20 {
		t.Errorf("the last of %d bytes in %d: %v, after %d bytes of memory", 64<<20, len(b), err, used)
	}
}

// TestOtherFilesOfArchives: arrays without the extension, as other programs than NumPy write them,
// are read; what is no array, or compressed in ways that are not read, is named, and the others
// are read.
func TestOtherFilesOfArchives(t *testing.T) {
	good := string(npyOf("'<f4'", "(2,)", make([]byte, 8)))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	const bzip2 = 12
	z.RegisterCompressor(bzip2, func(w io.Writer) (io.WriteCloser, error) {
		return struct {
			io.Writer
			io.Closer
		}{w, io.NopCloser(nil)}, nil
	})
	for _, f := range []struct {
		name, text string
		method     uint16
	}{{"readme.txt", "text", zip.Store}, {"folder/", "", zip.Store}, {"x.npy", good, zip.Store}, {"bare", good, zip.Deflate}, {"y.npy", good, bzip2}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: f.name, Method: f.method})
		if err == nil {
			_, err = io.WriteString(w, f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "x.npz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := map[string]string{}
	for e, err := range f.All() {
		switch {
		case err == nil:
			got[e.Name] = e.Array.Type.String()
		case errors.Is(err, dtype.ErrType):
			got[e.Name] = err.Error()
		default:
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"readme.txt": "not an .npy file", "x": "float32", "bare": "float32", "y": "compression method 12 is not read"} {
		if !strings.Contains(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if len(got) != 4 {
		t.Errorf("%d entries: %v", len(got), got)
	}
}

// TestLongHeaders: structures may have thousands of members.
func TestLongHeaders(t *testing.T) {
	const n = 20_000
	var descr strings.Builder
	for i := range n {
		fmt.Fprintf(&descr, "('member %06d', '<f4'), ", i)
	}
	b := npyOf("["+descr.String()+"]", "(1,)", make([]byte, 4*n))
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.npy")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := serialize.Collect(f)
	if err != nil || len(list) != 1 || list[0].Elements == nil || list[0].Elements.Type != "compound" {
		t.Errorf("%v, %v", list, err)
	}
}

// TestNamesAreCompared: the name of an array is in the directory and before its bytes. If these differ, or
// if a name is a duplicate, that array is not read, and others are.
func TestNamesAreCompared(t *testing.T) {
	good := string(npyOf("'<f4'", "(2,)", make([]byte, 8)))
	other := bytes.Clone(zipOf(t, zip.Store, "x.npy", good, "y.npy", good))
	at := bytes.LastIndex(other, []byte("x.npy"))
	other[at] = 'z'
	for name, test := range map[string]struct {
		file         []byte
		bad, message string
	}{
		"directory": {other, "z", `its name is "x.npy"`},
		"twice":     {zipOf(t, zip.Store, "x.npy", good, "y.npy", good, "x.npy", good), "x", "duplicate name"},
	} {
		f, err := serialize.OpenReader(bytes.NewReader(test.file), int64(len(test.file)), name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if _, err := serialize.Find(f, test.bad); err == nil || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: %s: %v, want %q", name, test.bad, err, test.message)
		}
		if a, err := serialize.Find(f, "y"); err != nil {
			t.Errorf("%s: y: %v, %v", name, a, err)
		}
		for array, err := range f.(serialize.Verifier).Verify(t.Context()) {
			if name == "directory" && (err == nil) != (array == "y") {
				t.Errorf("verify %s: %v", array, err)
			}
		}
	}
}
