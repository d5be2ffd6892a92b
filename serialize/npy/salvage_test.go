package npy_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestSalvageOfTruncatedArchives cuts archives of NumPy and of this package everywhere:
// what is read is right, and no complete array is given up.
func TestSalvageOfTruncatedArchives(t *testing.T) {
	format, err := serialize.ByName("npz")
	if err != nil {
		t.Fatal(err)
	}
	var ours bytes.Buffer
	err = serialize.Write(&ours, "npz", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range 5 {
			if !yield(serialize.Entry{Name: fmt.Sprint("array ", i), Array: storage.From([]int32{int32(i), 7}, 2)}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{"ours": ours.Bytes()}
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		if files[name], err = os.ReadFile(filepath.Join("testdata", name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, whole := range files {
		want := map[string][]byte{}
		f, err := serialize.OpenReader(bytes.NewReader(whole), int64(len(whole)), name)
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range f.All() {
			if err != nil {
				t.Fatal(err)
			}
			want[e.Name] = bytesOfArray(t, e.Array)
		}
		most := 0
		for n := len(whole); n > 0; n-- {
			f, err := format.Salvage(serialize.Input{ReaderAt: bytes.NewReader(whole[:n]), Size: int64(n), Name: name})
			if err != nil {
				continue
			}
			good, lost, later := 0, 0, false
			for e, err := range f.All() {
				if err != nil {
					lost++
					later = later || strings.Contains(err.Error(), "the directory, which has the names")
					continue
				}
				good++
				if !slices.Equal(bytesOfArray(t, e.Array), want[e.Name]) {
					t.Errorf("%s, %d bytes: %q differs", name, n, e.Name)
				}
			}
			if good+lost < len(want) && !later {
				t.Errorf("%s, %d bytes: %d arrays, %d lost, of %d, and not that there are more", name, n, good, lost, len(want))
			}
			if most == 0 {
				most = good
			}
			if good > most || n > len(whole)-20 && good != len(want) {
				t.Errorf("%s: %d of %d bytes have %d arrays, longer ones %d", name, n, len(whole), good, most)
			}
			most = good
		}
		if most != 1 {
			t.Errorf("%s: the shortest file has %d arrays, want 1", name, most)
		}
	}
}

func bytesOfArray(t *testing.T, a storage.Array) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := a.WriteTo(&b); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// TestVerifyFindsDamagedArrays of archives, compressed or not.
func TestVerifyFindsDamagedArrays(t *testing.T) {
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, damaged := range []bool{false, true} {
			want := ""
			if damaged {
				b[map[string]int{"stored.npz": 200, "deflated.npz": 140}[name]] ^= 1 // of the elements of x
				want = "x"
			}
			f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), name)
			if err != nil {
				t.Fatal(err)
			}
			bad := ""
			for name, err := range f.(serialize.Verifier).Verify(t.Context()) {
				if err != nil {
					bad += name
				}
			}
			if bad != want {
				t.Errorf("%s, damaged %v: %q, want %q", name, damaged, bad, want)
			}
		}
	}
}

// TestSalvageOfDamagedArchives changes each byte of files: an array that Verify does not name
// is right, also where the header of an array says another size.
func TestSalvageOfDamagedArchives(t *testing.T) {
	format, err := serialize.ByName("npz")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"stored.npz", "deflated.npz"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		want := map[string][]byte{}
		f, err := serialize.OpenReader(bytes.NewReader(whole), int64(len(whole)), name)
		if err != nil {
			t.Fatal(err)
		}
		for e := range f.All() {
			want[e.Name] = bytesOfArray(t, e.Array)
		}
		salvaged := 0
		for at := range whole {
			b := bytes.Clone(whole)
			b[at] ^= 1 << (at % 8)
			f, err := format.Salvage(serialize.Input{ReaderAt: bytes.NewReader(b), Size: int64(len(b)), Name: name})
			if err != nil {
				continue
			}
			damaged := map[string]bool{}
			for name, err := range f.(serialize.Verifier).Verify(t.Context()) {
				damaged[name] = err != nil
			}
			for e, err := range f.All() {
				if err != nil || damaged[e.Name] || want[e.Name] == nil { // a damaged name
					continue
				}
				if salvaged++; !bytes.Equal(bytesOfArray(t, e.Array), want[e.Name]) {
					t.Errorf("%s, byte %d: %q differs, and Verify does not say so", name, at, e.Name)
				}
			}
		}
		if least := len(whole) * len(want) / 3; salvaged < least {
			t.Errorf("%s: %d arrays are salvaged from %d files; want at least %d", name, salvaged, len(whole), least)
		}
	}
}

// TestSalvageOfManyArrays reads the complete arrays of an archive whose directory is too long to be made at once,
// and finds the damaged one and a duplicate name.
func TestSalvageOfManyArrays(t *testing.T) {
	const count, damaged = 2500, 1700
	var b bytes.Buffer
	err := serialize.Write(&b, "npz", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		for i := range count {
			if !yield(serialize.Entry{Name: fmt.Sprintf("a%06d", i), Array: storage.From([]int32{int32(i)}, 1)}, nil) {
				return
			}
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	whole := bytes.ReplaceAll(b.Bytes(), []byte("a000001.npy"), []byte("a002400.npy"))
	at := bytes.Index(whole, []byte(fmt.Sprintf("a%06d.npy", damaged+1)))
	at = bytes.LastIndex(whole[:at], binary.LittleEndian.AppendUint32(nil, damaged))
	whole[at+1]++ // an element
	format, err := serialize.ByName("npz")
	if err != nil {
		t.Fatal(err)
	}
	size := bytes.Index(whole, []byte("a002499.npy")) + 20
	f, err := format.Salvage(serialize.Input{ReaderAt: bytes.NewReader(whole[:size]), Size: int64(size), Name: "many.npz"})
	if err != nil {
		t.Fatal(err)
	}
	good, bad := 0, []string{}
	for e, err := range f.All() {
		if err != nil {
			bad = append(bad, e.Name)
			continue
		}
		if good++; e.Name == fmt.Sprintf("a%06d", damaged) {
			continue
		}
		if i := binary.LittleEndian.Uint32(bytesOfArray(t, e.Array)); e.Name != fmt.Sprintf("a%06d", i) {
			t.Errorf("%s has the elements of array %d", e.Name, i)
		}
	}
	if want := []string{"a002400", "a002499"}; good != count-3 || !slices.Equal(bad, want) {
		t.Errorf("%d arrays, and not %q; want %d, and not %q", good, bad, count-3, want)
	}
	for name, err := range serialize.Verify(t.Context(), f) {
		if err != nil && name == fmt.Sprintf("a%06d", damaged) {
			return
		}
	}
	t.Error("the damaged array was not found")
}
