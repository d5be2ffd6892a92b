package convert

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/inspect"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/csv"
	_ "github.com/h5dnn/h5dnn/serialize/native"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
)

// TestTextIsVerified: text of float32 and bools is verified, and damaged text is found.
func TestTextIsVerified(t *testing.T) {
	folder := t.TempDir()
	for name, a := range map[string]storage.Array{
		"floats": storage.From([]float32{0.1, 1e-8, 3e38, -0.3}, 2, 2),
		"bools":  storage.From([]bool{true, false, true}, 3),
	} {
		in, out := filepath.Join(folder, name+".npy"), filepath.Join(folder, name+".csv")
		err := serialize.Save(in, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) { yield(serialize.Entry{Name: name, Array: a}, nil) }})
		if err != nil {
			t.Fatal(err)
		}
		file, err := inspect.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		plan, err := New(context.Background(), file, "", "csv", Options{Out: out, Verify: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := plan.Write(context.Background(), out); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		for what, damaged := range map[string]string{
			"changed": strings.Replace(string(text), string(text[0]), "7", 1), "longer": string(text) + "1\n", "cut": string(text[:len(text)-3]), "empty": "",
		} {
			if err := os.WriteFile(out, []byte(damaged), 0o666); err != nil {
				t.Fatal(err)
			}
			if err := plan.verify(context.Background(), out); err == nil {
				t.Errorf("%s %s: verified", name, what)
			}
		}
	}
}

// TestSharedElementsAreHardLinks: tied weights are one dataset in HDF5, too, and views that
// differ are written as they are.
func TestSharedElementsAreHardLinks(t *testing.T) {
	folder := t.TempDir()
	in, out := filepath.Join(folder, "tied.h5dn"), filepath.Join(folder, "tied.h5")
	a := storage.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	transposed, err := a.Transpose(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	err = serialize.Save(in, "", serialize.Contents{Entries: func(yield func(serialize.Entry, error) bool) {
		_ = yield(serialize.Entry{Name: "embedding", Array: a, Shared: "x"}, nil) &&
			yield(serialize.Entry{Name: "layers/head", Array: a, Shared: "x"}, nil) &&
			yield(serialize.Entry{Name: "transposed", Array: a.With(transposed), Shared: "x"}, nil)
	}})
	if err != nil {
		t.Fatal(err)
	}
	file, err := inspect.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plan, err := New(context.Background(), file, "", "hdf5", Options{Out: out, Verify: true})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	h5, err := hdf5.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer h5.Close()
	addresses := map[string]uint64{}
	for _, name := range []string{"embedding", "layers/head", "transposed"} {
		o, err := h5.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		addresses[name], _ = o.Address()
	}
	if addresses["embedding"] != addresses["layers/head"] || addresses["embedding"] == addresses["transposed"] {
		t.Errorf("addresses %v: want one object for embedding and layers/head, and another for transposed", addresses)
	}
	sharesAgain(t, out, "/layers/head", "/embedding")
	sharesAgain(t, "../testdata/tour.h5", "/numbers/int8", "/links/hard")
}

// sharesAgain reports where two paths of an HDF5 file do not share their elements in a file that it is
// converted to.
func sharesAgain(t *testing.T, in, path, first string) {
	t.Helper()
	file, err := inspect.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := filepath.Join(t.TempDir(), "again.h5dn")
	plan, err := New(context.Background(), file, "", "native", Options{Out: out})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	again, err := inspect.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	objects, err := again.Entries("/")
	if err != nil {
		t.Fatal(err)
	}
	for o := range objects {
		if o.Path == path && o.Data.Shares != first {
			t.Errorf("%s: %s shares %q; want %s", in, path, o.Data.Shares, first)
		}
	}
}
