package hdf5

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

func TestVirtualDatasets(t *testing.T) {
	f := openTestdata(t, "virtual.h5", Options{Follow: "testdata"})
	all, err := f.Lookup("/want")
	if err != nil {
		t.Fatal(err)
	}
	names, err := all.Names()
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 10))
	for _, name := range names {
		a, want := array(t, f, "/"+name), array(t, f, "/want/"+name)
		if !slices.Equal(a.Shape, want.Shape) {
			t.Errorf("%s: shape %v, want %v", name, a.Shape, want.Shape)
			continue
		}
		elems := read[int32](t, want)
		if got := read[int32](t, a); !slices.Equal(got, elems) {
			t.Errorf("%s:\n got %v\nwant %v", name, got, elems)
		}
		for range 200 {
			v := randomView(r, a.View)
			dst, k := make([]int32, v.Len()), 0
			must(t, a.Data.(storage.Source).ReadView(dtype.Bytes(dst), dtype.Int32, v))
			for at := range v.Positions() {
				if dst[k] != elems[at] {
					t.Fatalf("%s: %+v: element %d is %d, want %d", name, v, k, dst[k], elems[at])
				}
				k++
			}
		}
	}
}

func array(t *testing.T, f *File, path string) storage.Array {
	t.Helper()
	d, err := f.Dataset(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.Array()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestVirtualSourcesInTheSameFile(t *testing.T) {
	f := openTestdata(t, "virtual.h5")
	if got, want := read[int32](t, array(t, f, "/same")), []int32{-7, -7, -7, -7, -7, 0, 1, 2, 3, 4, -7, -7, -7, -7, -7}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	d, err := f.Dataset("/rows")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range d.VirtualSources() {
		names = append(names, s.File+":"+s.Dataset)
	}
	if !slices.Equal(names, []string{"source0.h5:x", "source1.h5:x"}) {
		t.Errorf("sources %v", names)
	}
	if _, err := d.Array(); !errors.Is(err, storage.ErrState) {
		t.Errorf("read sources in other files: %v", err)
	}
}

func TestExternalData(t *testing.T) {
	f := openTestdata(t, "external.h5", Options{Follow: "testdata"})
	if got := read[int32](t, array(t, f, "/raw")); !slices.Equal(got, []int32{0, 1, 2, 3, 4, 5}) {
		t.Errorf("raw: %v", got)
	}
	f = openTestdata(t, "virtual.h5", Options{Follow: "testdata"})
	if got := read[int32](t, array(t, f, "/link")); got[0] != 100 || len(got) != 24 {
		t.Errorf("link: %v", got)
	}
}

// TestLinkedFilesStayInTheFolder tries names that lead out of the folder.
func TestLinkedFilesStayInTheFolder(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "inner")
	must(t, os.Mkdir(inner, 0o700))
	for _, name := range []string{"source0.h5", "virtual.h5"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
		must(t, os.WriteFile(filepath.Join(inner, name), content, 0o600))
	}
	must(t, os.Symlink(filepath.Join(dir, "source0.h5"), filepath.Join(inner, "alias.h5")))
	f, err := Open(filepath.Join(inner, "virtual.h5"), Options{Follow: inner})
	must(t, err)
	defer f.Close()
	for _, name := range []string{"../source0.h5", "x/../../source0.h5", "alias.h5", filepath.Join(inner, "..", "nowhere.h5")} {
		if _, err := f.linkedFile(name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
	for _, name := range []string{"source0.h5", "./source0.h5", filepath.Join(inner, "source0.h5"), filepath.Join(dir, "source0.h5"), "."} {
		if g, err := f.linkedFile(name); err != nil || strings.HasPrefix(g.name, filepath.Join(dir, "source0")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.externalFile("../source0.h5"); err == nil {
		t.Error("raw file outside was opened")
	}
}

func TestCloseClosesLinkedFiles(t *testing.T) {
	f, err := Open("testdata/virtual.h5", Options{Follow: "testdata"})
	must(t, err)
	a := array(t, f, "/rows")
	must(t, f.Close())
	if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) {
		t.Errorf("read after closing: %v", err)
	}
}
