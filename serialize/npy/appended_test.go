package npy_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// TestArraysAfterTheFirst: NumPy appends arrays to an open .npy file. All are read, and what is no array is
// named.
func TestArraysAfterTheFirst(t *testing.T) {
	var b bytes.Buffer
	for _, a := range []storage.Array{storage.From([]int32{1, 2, 3}, 3), storage.From([]float64{}, 0), storage.From([]uint8{7}, 1)} {
		if err := serialize.Write(&b, "npy", serialize.Contents{Entries: serialize.Entries(serialize.Entry{Name: "x", Array: a})}); err != nil {
			t.Fatal(err)
		}
	}
	whole := b.Bytes()
	for _, test := range []struct {
		name             string
		file             []byte
		arrays, readable int
		ignored          string // of the metadata
		bad              []string
	}{
		{"three", whole, 3, 3, "", nil},
		{"junk", slices.Concat(whole, []byte("junk")), 3, 3, "4 bytes after the last array are not read", []string{""}},
		{"half a header", whole[:b.Len()-100], 2, 2, "29 bytes after the last array are not read", []string{""}},
		{"truncated", whole[:b.Len()-1], 3, 2, "", []string{"x.2"}},
	} {
		f, err := serialize.OpenReader(bytes.NewReader(test.file), int64(len(test.file)), "x.npy")
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var names []string
		readable := 0
		for e, err := range f.All() {
			if names = append(names, e.Name); err == nil {
				readable++
			}
		}
		if want := []string{"x", "x.1", "x.2"}[:test.arrays]; !slices.Equal(names, want) || readable != test.readable {
			t.Errorf("%s: arrays %q, %d readable, want %q and %d", test.name, names, readable, want, test.readable)
		}
		if got := f.Meta()["npy.ignored"]; got != test.ignored {
			t.Errorf("%s: %q is ignored, want %q", test.name, got, test.ignored)
		}
		var bad []string
		for name, err := range serialize.Verify(t.Context(), f) {
			if err != nil {
				bad = append(bad, name)
			}
		}
		if !slices.Equal(bad, test.bad) {
			t.Errorf("%s: errors of %q, want %q", test.name, bad, test.bad)
		}
		if serialize.HasChecksums(f) {
			t.Errorf("%s: has checksums", test.name)
		}
		f.Close()
	}
	if a, err := serialize.Find(openBytes(t, whole), "x.2"); err != nil {
		t.Error(err)
	} else if got, err := storage.Read[uint8](a); err != nil || !slices.Equal(got, []uint8{7}) {
		t.Errorf("the last array is %v, %v", got, err)
	}
}

func openBytes(t *testing.T, b []byte) serialize.File {
	t.Helper()
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.npy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
