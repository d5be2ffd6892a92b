package tfbundle_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/serialize/tfbundle"
	"github.com/h5dnn/h5dnn/storage"
)

// TestMoreThan4GiB reads the end of an array of more than 4 GiB in a sparse data file, and an array behind
// it.
func TestMoreThan4GiB(t *testing.T) {
	serializetest.NeedSparse(t)
	const n = 4<<30 + 32
	entry := func(typ byte, size, offset, bytes uint64) string { // a BundleEntryProto
		dim := append([]byte{0x08}, binary.AppendUvarint(nil, size)...)
		shape := append([]byte{0x12, byte(len(dim))}, dim...)
		b := append([]byte{0x08, typ, 0x12, byte(len(shape))}, shape...)
		b = binary.AppendUvarint(append(b, 0x20), offset)
		b = binary.AppendUvarint(append(b, 0x28), bytes)
		return string(append(b, 0x35, 0, 0, 0, 0))
	}
	name := filepath.Join(t.TempDir(), "large.index")
	index := tfbundle.Index([2]string{"after", entry(1, 3, n, 12)}, [2]string{"big", entry(4, n, 0, n)})
	if err := os.WriteFile(name, index, 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := os.Create(filepath.Join(filepath.Dir(name), "large.data-00000-of-00001"))
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	if _, err := data.WriteAt(append([]byte{7}, dtype.Bytes([]float32{1, 2, 3})...), n-1); err != nil {
		t.Fatal(err)
	}
	f := serializetest.Open(t, name)
	big, err := serialize.Find(f, "big")
	if err != nil {
		t.Fatal(err)
	}
	end, err := big.Slice(0, n-2, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[uint8](big.With(end)); err != nil || !slices.Equal(got, []uint8{0, 7}) {
		t.Errorf("the end: %v, %v", got, err)
	}
	after, err := serialize.Find(f, "after")
	if err != nil {
		t.Fatal(err)
	}
	first, err := after.Slice(0, 0, 2, 1) // not the whole, whose checksum is 0 here
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[float32](after.With(first)); err != nil || !slices.Equal(got, []float32{1, 2}) {
		t.Errorf("after: %v, %v", got, err)
	}
}
