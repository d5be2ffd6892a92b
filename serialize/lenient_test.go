package serialize_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	_ "github.com/h5dnn/h5dnn/serialize/native"
)

// TestStridesAndCloseMayBeNil: a format of one's own needs no strides and nothing to close.
func TestStridesAndCloseMayBeNil(t *testing.T) {
	in := serialize.Input{ReaderAt: bytes.NewReader(nil)}
	v, err := in.View(dtype.Float32, []int{2, 3}, nil, 0, 24)
	if err != nil || !slices.Equal(v.Stride, []int{3, 1}) {
		t.Errorf("strides %v, %v; want [3 1]", v.Stride, err)
	}
	if err := serialize.NewList(0, nil, nil).Close(); err != nil {
		t.Error(err)
	}
}

func TestSalvageFindsTheFormat(t *testing.T) {
	damaged, err := os.ReadFile("../testdata/cut.h5dn")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "unnamed") // by its content alone
	if err := os.WriteFile(name, damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../testdata/cut.h5dn", name} {
		f, err := serialize.Salvage(name, "")
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func TestContentsWithoutEntriesAreSaved(t *testing.T) {
	name := filepath.Join(t.TempDir(), "none.h5dn")
	if err := serialize.Save(name, "", serialize.Contents{Meta: map[string]string{"epoch": "1"}}); err != nil {
		t.Fatal(err)
	}
	f, err := serialize.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if entries, err := serialize.Collect(f); len(entries) != 0 || err != nil || f.Meta()["epoch"] != "1" {
		t.Errorf("%d entries, metadata %v, %v", len(entries), f.Meta(), err)
	}
	var b bytes.Buffer
	if err := serialize.Write(&b, "native", serialize.Contents{}); err != nil {
		t.Error(err)
	}
}
