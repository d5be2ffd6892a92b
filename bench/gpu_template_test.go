package main

import (
	"bytes"
	bits "encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/h5dnn/h5dnn/storage"
)

// TestUploadTemplateIsAFile makes the beginning of the file of 20 GiB, and its end.
func TestUploadTemplateIsAFile(t *testing.T) {
	if size := bits.LittleEndian.Uint64(uploadTemplate[8:]); size != 20<<30 {
		t.Errorf("it is for %d bytes, want 20 GiB", size)
	}
	name := filepath.Join(t.TempDir(), "small.template")
	if err := writeTemplate(name, 3, 1<<20); err != nil {
		t.Skipf("the template is written by libhdf5, which is missing: %v", err)
	}
	template, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fromTemplate(filepath.Join(t.TempDir(), "small.h5"), template)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, err := array(f, "x")
	if err != nil || x.Shape[0] != 3 || x.Shape[1] != 1<<20 {
		t.Fatalf("%v, %v", x, err)
	}
	all, err := storage.Read[uint8](x)
	if err != nil || all[len(all)-1] != uint8((len(all)-1)*31>>3&0xff) || !bytes.Equal(all[:3], []byte{0, 3, 7}) {
		t.Errorf("other bytes: %v", err)
	}
}
