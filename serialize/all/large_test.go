package all_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pythontest"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

var large = flag.Bool("large", false, "save arrays of more than 4 GiB in formats whose files are not sparse")

// elsewhere are the tests of other packages that read or write more than 4 GiB.
var elsewhere = map[string]string{
	"h5ck": "TestMoreThan4GiB of package h5ck", "h5ck-exact": "the layout of h5ck; TestMoreThan4GiB of package h5ck",
	"tfbundle": "TestMoreThan4GiB of package tfbundle",
}

// cannot says why a format has no array of more than 4 GiB in this test.
var cannot = map[string]string{
	"csv":   "4 GiB of text would be written",
	"arrow": "columns are stored in batches of less than 4 GiB", "arrow-stream": "columns are stored in batches of less than 4 GiB",
	"parquet": "columns are stored in pages of less than 4 GiB",
	"png":     "images are read by the importer alone", "raw": "is not read", "sharded": "its shards are files of native and safetensors",
	"onnx": "a file has at most 2 GiB; the elements are in another, which TestExternalDataIsReadFromItsFolder of package onnx reads",
}

// TestMoreThan4GiB saves more than 4 GiB to a sparse file in every format that is written from the first
// byte to the last, reads sparse files of the others, and gives the reason for those that it leaves
// out. With -large it saves HDF5 files, which cannot be sparse then, to the disk.
func TestMoreThan4GiB(t *testing.T) {
	sparse := []string{"native", "npy", "npz", "safetensors", "torch"}
	onDisk := []string{"hdf5", "h5ck", "keras-h5"}
	for _, name := range serialize.Formats() {
		t.Run(name, func(t *testing.T) {
			switch file, isRead := largeFiles[name]; {
			case slices.Contains(sparse, name) && testing.Short():
				t.Skip("goes through 4 GiB")
			case slices.Contains(sparse, name), *large && slices.Contains(onDisk, name):
				serializetest.TestLarge(t, name)
			case isRead:
				serializetest.NeedSparse(t)
				testReading(t, name, file)
			case elsewhere[name] != "":
				t.Skip(elsewhere[name])
			case cannot[name] != "":
				t.Skip(cannot[name])
			default:
				t.Errorf("%s is not tried with more than 4 GiB, and no reason is given", name)
			}
		})
	}
}

const largeLength = 4<<30 + 32 // bytes of the large array

// A largeFile makes a sparse file in which an array of the given number of bytes ends in 7, and another one, behind
// it, is 1, 2, 3.
type largeFile struct {
	extension  string
	big, after string // names
	write      func(t *testing.T, name string)
}

var largeFiles = map[string]largeFile{
	"gguf": {".gguf", "big", "after", writeLargeGGUF},
	"hdf5": {".h5", "big", "after", largeHDF5(`
big, after = f.create_dataset("big", (n,), "u1", **never), f.create_dataset("after", (3,), "f4", **never)`)},
	"matlab": {".mat", "big", "s/after", largeHDF5(`
big, after = f.create_dataset("big", (1, n), "u1", **never), f.create_dataset("s/after", (3, 1), "f4", **never)
big.attrs["MATLAB_class"], after.attrs["MATLAB_class"], f["s"].attrs["MATLAB_class"] = np.bytes_("uint8"), np.bytes_("single"), np.bytes_("struct")`)},
	"octave": {".h5", "big", "s/after", largeHDF5(`
def variable(path, typ):
    f.create_group(path).attrs["OCTAVE_NEW_FORMAT"] = np.uint8(1)
    f[path + "/type"] = np.bytes_(typ)
variable("big", "uint8 matrix"); variable("s", "scalar struct"); variable("s/value/after", "float matrix")
big, after = f.create_dataset("big/value", (1, n), "u1", **never), f.create_dataset("s/value/after/value", (3, 1), "f4", **never)`)},
	"netcdf": {".nc", "big", "after", largeHDF5(`
f.attrs["_NCProperties"] = "version=2"
big, after = f.create_dataset("big", (n,), "u1", **never), f.create_dataset("after", (3,), "f4", **never)
for d in [big, after]: d.attrs["_Netcdf4Coordinates"] = np.int32([0])`)},
	"anndata": {".h5ad", "layers/big", "obsm/after", largeHDF5(`
f.attrs["encoding-type"] = "anndata"
big, after = f.create_dataset("layers/big", (n,), "u1", **never), f.create_dataset("obsm/after", (3,), "f4", **never)
for d in [big, after]: d.attrs["encoding-type"] = "array"`)},
	"keras-weights": {".weights.h5", "dense/kernel", "dense_1/kernel", largeHDF5(`
f.create_group("vars")
big, after = f.create_dataset("layers/dense/vars/0", (n // 4, 4), "u1", **never), f.create_dataset("layers/dense_1/vars/0", (3, 1), "f4", **never)`)},
	"keras-h5": {".h5", "dense/kernel", "dense_1/kernel", largeHDF5(`
f.attrs["keras_version"], f.attrs["layer_names"] = "2.15.0", np.array([b"dense", b"dense_1"])
big, after = f.create_dataset("dense/dense/kernel:0", (n // 4, 4), "u1", **never), f.create_dataset("dense_1/dense_1/kernel:0", (3, 1), "f4", **never)
for name in ["dense", "dense_1"]: f[name].attrs["weight_names"] = np.array([(name + "/kernel:0").encode()])`)},
	"keras": {".keras", "dense/kernel", "dense_1/kernel", nil},
}

// largeHDF5 writes an HDF5 file with h5py: datasets whose elements are not written are holes.
func largeHDF5(datasets string) func(t *testing.T, name string) {
	return func(t *testing.T, name string) {
		pythontest.Run(t, []string{"h5py", "numpy"}, `
import h5py, numpy as np, sys
n, never = int(sys.argv[2]), {"fill_time": "never"}
with h5py.File(sys.argv[1], "w", userblock_size=512 if sys.argv[1].endswith(".mat") else 0) as f:`+indented(datasets)+`
    big[tuple(size - 1 for size in big.shape)] = 7
    after[...] = np.float32([1, 2, 3]).reshape(after.shape)
if sys.argv[1].endswith(".mat"):
    with open(sys.argv[1], "r+b") as f: f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")
`, name, fmt.Sprint(largeLength))
	}
}

// indented returns lines of Python, four columns further right.
func indented(lines string) string {
	return string(bytes.ReplaceAll([]byte(lines), []byte("\n"), []byte("\n    ")))
}

// writeLargeGGUF writes the header of two tensors, and the ends of their elements.
func writeLargeGGUF(t *testing.T, name string) {
	le := binary.LittleEndian
	b := le.AppendUint64(le.AppendUint64([]byte("GGUF\x03\x00\x00\x00"), 2), 0)
	tensor := func(name string, length uint64, typ uint32, at uint64) {
		b = append(le.AppendUint64(b, uint64(len(name))), name...)
		b = le.AppendUint64(le.AppendUint32(b, 1), length)
		b = le.AppendUint64(le.AppendUint32(b, typ), at)
	}
	tensor("big", largeLength, 24, 0)
	tensor("after", 3, 0, largeLength)
	start := int64(len(b)+31) / 32 * 32
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for at, part := range map[int64][]byte{0: b, start + largeLength - 1: {7}, start + largeLength: dtype.Bytes([]float32{1, 2, 3})} {
		if _, err := f.WriteAt(part, at); err != nil {
			t.Fatal(err)
		}
	}
}

// testReading reads the ends of the arrays of a large file.
func testReading(t *testing.T, format string, file largeFile) {
	if file.write == nil {
		t.Skip("an archive of .weights.h5, which is read like these from any offset")
	}
	name := filepath.Join(t.TempDir(), "large"+file.extension)
	file.write(t, name)
	f := serializetest.Open(t, name)
	if got, err := serialize.FormatOf(name); err != nil || got.Name != format {
		t.Errorf("opened as %s, %v", got.Name, err)
	}
	big, err := serialize.Find(f, file.big)
	if err != nil || big.Len() != largeLength {
		t.Fatalf("%v, %v; want %d elements", big, err, largeLength)
	}
	end := big.View // the last index of every axis, and the last two of the longest
	for axis, size := range big.Shape {
		few := 1
		if size == slices.Max(big.Shape) {
			few = 2
		}
		if end, err = end.Slice(axis, size-few, size, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := storage.Read[uint8](big.With(end)); err != nil || !slices.Equal(got, []uint8{0, 7}) {
		t.Errorf("the end of %s: %v, %v", file.big, got, err)
	}
	after, err := serialize.Find(f, file.after)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := storage.Read[float32](after); err != nil || !slices.Equal(got, []float32{1, 2, 3}) {
		t.Errorf("%s: %v, %v", file.after, got, err)
	}
}
