package torch_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
)

// TestSalvageOfTruncatedFiles cuts files everywhere. What is read is right, the rest are
// errors, and no complete tensor is given up.
func TestSalvageOfTruncatedFiles(t *testing.T) {
	want := bitsOf(t, "types.pt")
	for _, name := range []string{"types.pt", "types_legacy.pt"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for n := len(whole); n > 0; n -= 7 {
			b := whole[:n]
			f, err := salvage(t, b, name)
			if err != nil {
				continue
			}
			good := 0
			for e, err := range f.All() {
				if err != nil {
					continue
				}
				if good++; hex.EncodeToString(elements(t, e.Array)) != want[e.Name] {
					t.Errorf("%s, %d of %d bytes: %q is %x, want %s", name, n, len(whole), e.Name, elements(t, e.Array), want[e.Name])
				}
				if at := bytes.Index(whole, must(hex.DecodeString(want[e.Name]))); at+len(want[e.Name])/2 > n {
					t.Errorf("%s, %d bytes: %q is read and not there", name, n, e.Name)
				}
			}
			if most < good {
				if most != 0 {
					t.Errorf("%s: %d bytes have %d tensors, more than %d in longer files", name, n, good, most)
				}
				most = good
			}
		}
		if most != len(want) {
			t.Errorf("%s: at most %d of %d tensors are read", name, most, len(want))
		}
	}
}

// TestSalvageReadsAllOfAFileWithoutDirectory that was written here, and that PyTorch wrote.
func TestSalvageReadsAllOfAFileWithoutDirectory(t *testing.T) {
	var b bytes.Buffer
	f, err := serialize.Open("testdata/types.pt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := serialize.Write(&b, "torch", serialize.Contents{Entries: f.All()}); err != nil {
		t.Fatal(err)
	}
	theirs, err := os.ReadFile("testdata/types.pt")
	if err != nil {
		t.Fatal(err)
	}
	want := bitsOf(t, "types.pt")
	for _, whole := range [][]byte{b.Bytes(), theirs} {
		cut := whole[:bytes.Index(whole, []byte("PK\x01\x02"))]
		if f, err := serialize.OpenReader(bytes.NewReader(cut), int64(len(cut)), "cut.pt", serialize.Options{Format: "torch"}); err == nil {
			t.Errorf("opened without a directory: %v", f)
		}
		f, err := salvage(t, cut, "cut.pt")
		if err != nil {
			t.Fatal(err)
		}
		entries, err := serialize.Collect(f)
		if err != nil || len(entries) != len(want) {
			t.Errorf("%d of %d tensors, %v", len(entries), len(want), err)
		}
		for _, e := range entries {
			if hex.EncodeToString(elements(t, e.Array)) != want[e.Name] {
				t.Errorf("%q differs", e.Name)
			}
		}
	}
}

// bitsOf returns the elements of the tensors of a file by name.
func bitsOf(t *testing.T, name string) map[string]string {
	files := serializetest.Expected[map[string]struct{ Tensors []description }](t)
	bits := map[string]string{}
	for _, d := range files[name].Tensors {
		bits[d.Name] = d.Bits
	}
	return bits
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// salvage opens bytes as a file whose end is missing.
func salvage(t *testing.T, b []byte, name string) (serialize.File, error) {
	t.Helper()
	f, err := serialize.ByName("torch")
	if err != nil {
		t.Fatal(err)
	}
	return f.Salvage(serialize.Input{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Name: name})
}
