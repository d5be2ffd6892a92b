package convert_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/convert"
	"github.com/h5dnn/h5dnn/inspect"
	_ "github.com/h5dnn/h5dnn/serialize/npy"
)

// TestVerifyComparesStructures: another value in OUT is found, NaNs are equal. OUT has the types of the fields.
func TestVerifyComparesStructures(t *testing.T) {
	header := "\x93NUMPY\x01\x00\x76\x00{'descr': [('a', '<f4'), ('b', '<i2', (2,)), ('c', '|S3')], 'fortran_order': False, 'shape': (2,), }"
	for len(header) < 127 {
		header += " "
	}
	record := "\x00\x00\xc0\x7f\x01\x00\x02\x00abc"
	in := filepath.Join(t.TempDir(), "in.npy")
	if err := os.WriteFile(in, []byte(header+"\n"+record+record), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := inspect.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out := filepath.Join(t.TempDir(), "out.npz")
	plan, err := convert.New(context.Background(), file, "/", "npz", convert.Options{Verify: true})
	if err == nil {
		err = plan.Write(context.Background(), out)
	}
	if err != nil {
		t.Fatal(err)
	}
	written, err := inspect.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer written.Close()
	read, err1 := file.Find("/")
	kept, err2 := written.Find("/in")
	if got, want := fmt.Sprint(kept.Fields), fmt.Sprint(read.Fields); err1 != nil || err2 != nil || got != want {
		t.Errorf("fields %s, want %s; %v, %v", got, want, err1, err2)
	}
	other := filepath.Join(t.TempDir(), "other.npy")
	if err := os.WriteFile(other, []byte(header+"\n"+record+record[:4]+"\x02\x00\x02\x00abc"), 0o666); err != nil {
		t.Fatal(err)
	}
	changed, err := inspect.Open(other)
	if err != nil {
		t.Fatal(err)
	}
	defer changed.Close()
	a, err1 := file.Find("/")
	b, err2 := changed.Find("/")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if err := convert.SameData(context.Background(), a, b); err == nil {
		t.Error("structures with other values are equal")
	}
	if err := convert.SameData(context.Background(), a, a); err != nil {
		t.Error(err)
	}
}
