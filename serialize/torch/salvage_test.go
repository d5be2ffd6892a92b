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

// TestSalvageOfCompressedFiles cuts one everywhere. What is read is right, and nothing is
// given up that is whole.
func TestSalvageOfCompressedFiles(t *testing.T) {
	whole, err := os.ReadFile("testdata/compressed.pt")
	if err != nil {
		t.Fatal(err)
	}
	want := bitsOf(t, "compressed.pt")
	most := 0
	for n := len(whole); n > 0; n-- {
		f, err := salvage(t, whole[:n], "compressed.pt")
		if err != nil {
			continue
		}
		good := 0
		for e, err := range f.All() {
			if err != nil {
				continue
			}
			if good++; hex.EncodeToString(elements(t, e.Array)) != want[e.Name] {
				t.Fatalf("%d bytes: %q is %x, want %s", n, e.Name, elements(t, e.Array), want[e.Name])
			}
		}
		if most < good && most != 0 {
			t.Errorf("%d bytes have %d tensors, more than %d in longer files", n, good, most)
		}
		most = max(most, good)
	}
	if most != len(want) {
		t.Errorf("at most %d of %d tensors are read", most, len(want))
	}
}

// TestFlippedBitsAreNoticed changes every third byte of files: what is read is an error or right,
// also after Salvage, whose Verify names what is damaged.
func TestFlippedBitsAreNoticed(t *testing.T) {
	for _, name := range []string{"compressed.pt", "state.pth"} {
		whole, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want, salvaged := bitsOf(t, name), 0
		for at := 0; at < len(whole); at += 3 {
			b := bytes.Clone(whole)
			b[at] ^= 1 << (at % 8)
			f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), name)
			if err == nil {
				read(t, f, want, nil, at)
			}
			if f, err = salvage(t, b, name); err != nil {
				continue
			}
			damaged := map[string]bool{}
			for name, err := range f.(serialize.Verifier).Verify(t.Context()) {
				damaged[name] = err != nil
			}
			salvaged += read(t, f, want, damaged, at)
		}
		if least := len(whole) * len(want) / 9; salvaged < least {
			t.Errorf("%s: %d tensors are salvaged from %d files; want at least %d", name, salvaged, len(whole), least)
		}
	}
}

// read compares the tensors that can be read with what they should be, and counts them.
func read(t *testing.T, f serialize.File, want map[string]string, damaged map[string]bool, at int) (whole int) {
	t.Helper()
	for e, err := range f.All() {
		if err != nil || damaged[e.Name] {
			continue
		}
		var b bytes.Buffer
		if _, err = e.Array.WriteTo(&b); err != nil {
			if damaged != nil {
				t.Errorf("byte %d: Verify finds nothing in %q: %v", at, e.Name, err)
			}
			continue
		}
		if whole++; hex.EncodeToString(b.Bytes()) != want[e.Name] {
			t.Errorf("byte %d: %q is %x, want %s (salvaged: %v)", at, e.Name, b.Bytes(), want[e.Name], damaged != nil)
		}
	}
	return whole
}

// TestSalvageReadsAllOfAFileWithoutDirectory that was written here, and that PyTorch wrote.
func TestSalvageReadsAllOfAFileWithoutDirectory(t *testing.T) {
	var b bytes.Buffer
	f := serializetest.Open(t, "testdata/types.pt")
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
