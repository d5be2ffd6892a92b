package torch_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// TestAttacks: testdata/make_attacks.py describes the files.
func TestAttacks(t *testing.T) {
	serializetest.TestAttacks(t, "torch", "testdata/attacks", map[string]string{
		"appended_to_a_dict":            "items are added to dict",
		"attributes_of_a_number":        "attributes are set of int",
		"byte_order":                    `byte order "middle"`,
		"call_in_hooks":                 "names os.popen",
		"call_of_a_number":              "int is called",
		"call_with_a_list":              "called with list instead of a tuple",
		"compressed_less_than_declared": "unexpected EOF",
		"compressed_more_than_declared": "more than the 16 bytes it declares",
		"cycle":                         "values contain themselves",
		"cycle_of_dicts":                "values contain themselves",
		"declared_bytes":                "4611686018427387904 bytes are declared and 1 are left",
		"declared_text":                 "2147483648 bytes are declared and 1 are left",
		"deep_key":                      "a tuple of more than 4096 bytes is a key",
		"deep_lists":                    "values contain themselves, or too many others",
		"directory_outside":             "directory reaches outside of the file",
		"empty_stack":                   "a value is missing on the stack",
		"empty_stack_of_dict":           "a value is missing on the stack",
		"encrypted":                     "is encrypted",
		"endless_name":                  "a name has no end",
		"eval":                          "names builtins.eval, which runs programs",
		"exponential_key":               "a tuple of more than 4096 bytes is a key",
		"exponential_lists":             "values contain themselves, or too many others",
		"huge_size":                     "overflows",
		"huge_stride":                   "reach outside of 4 elements",
		"import_without_call":           "names importlib.import_module",
		"integer_beyond_64_bits":        "size (18446744073709551618, 2)",
		"items_of_a_list":               "items are added to list",
		"key_without_value":             "a key has no value",
		"left_on_the_stack":             "values are left on the stack",
		"legacy_huge":                   "truncated before the end of storage 0",
		"legacy_size_differs":           "storage 0 has 5 elements, but its tensors say 4",
		"legacy_storage_twice":          "duplicate storage 0",
		"legacy_truncated":              "truncated before the end of storage 0",
		"legacy_unused_storage":         `storage "9" of 1 is not used`,
		"legacy_version":                "version 7 of the format",
		"legacy_view_outside":           "its view reaches outside of it",
		"long_names":                    "a name of more than 65536 bytes",
		"long_integer":                  "an integer of 131072 bytes",
		"name_twice":                    `duplicate record "archive/data/0"`,
		"negative_offset":               "offset -1",
		"negative_size":                 "negative size",
		"negative_stride":               "negative ones are not allowed",
		"no_mark":                       "a mark is missing on the stack",
		"no_pickle":                     "no record archive/data.pkl",
		"no_stop":                       "unexpected EOF",
		"not_utf8":                      "is not UTF-8",
		"offset_beyond_storage":         "offset 1 reach outside of 4 elements",
		"os_system":                     "names posix.system, which runs programs",
		"overlapping_records":           "overlaps what follows it",
		"path_outside":                  "no record archive/data/../../../etc/passwd",
		"preview":                       "a preview of the zip format",
		"protocol_9":                    "protocol 9",
		"quantized":                     "quantized arrays are not read",
		"rank_100":                      "_rebuild_tensor_v2: offset 0, size (1, 1",
		"ranks_differ":                  "1 strides for a shape of 2 axes",
		"record_beyond_file":            "overlaps what follows it",
		"record_missing":                "no record archive/data/7",
		"records_of_the_directory":      "directory has 4 of 3 records",
		"size_beyond_storage":           "reach outside of 4 elements",
		"storage_as_other_type":         "4 elements of type float64 take 32",
		"storage_larger_than_record":    "take 4398046511104",
		"storage_of_negative_size":      `storage "0" of -4 elements`,
		"storage_of_overflowing_size":   `storage "0" of 4611686018427387904 elements`,
		"storage_smaller_than_record":   "storage 0 has 20 bytes",
		"subprocess_in_protocol_4":      "names subprocess.Popen",
		"tar":                           "the tar format of PyTorch before 0.1.10",
		"terabytes_of_one_element":      "beyond the limit of",
		"torchscript":                   "a TorchScript program",
		"truncated":                     "the archive has no directory",
		"unhashable_key":                "list cannot be a key",
		"unknown_instruction":           "instruction 'I' is not one",
		"unknown_memo":                  "value 4294967295 was never stored",
		"unknown_storage_class":         "class torch.SecretStorage, which is unknown",
		"zip_bomb":                      "declares 4294967280 bytes, more than 16310 can be decompressed to",
	})
}

// TestViewOfALegacyStorage reads elements 1 and 2 of a view that begins at element 1 of its storage, 0 to 3.
func TestViewOfALegacyStorage(t *testing.T) {
	f := serializetest.Open(t, "testdata/odd/legacy_view.pt")
	for e, err := range f.All() {
		if err != nil {
			t.Fatal(err)
		}
		if got, err := storage.Read[float32](e.Array); err != nil || !slices.Equal(got, []float32{2, 3}) {
			t.Errorf("%s: %v, %v; want 2 and 3", e.Name, got, err)
		}
	}
}

// TestOddKeys reads dicts whose keys are not names, or are the same name.
func TestOddKeys(t *testing.T) {
	for name, want := range map[string]string{
		"key_that_is_a_tuple":    "[[]]", // beside the key of the model, which is a tuple too
		"equal_names":            "[m.C m.C'2 m.C'3]",
		"exponential_object_key": "[w]",
		"buffers_of_tuples":      `[["a"] b]`, // of a module, and one of them in its set of transient ones
		"keys_of_equal_text":     `[["a string b"] ["a", "b"]]`,
		"prefixes":               "[w]",
	} {
		f, err := serialize.Open("testdata/odd/" + name + ".pt")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		defer f.Close()
		entries, err := serialize.Collect(f)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name)
		}
		if got := fmt.Sprint(names); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
}

func FuzzOpen(f *testing.F) {
	serializetest.AddSeeds(f, "testdata/*.pt", "testdata/attacks/*.pt")
	f.Fuzz(serializetest.FuzzTarget("torch"))
}

// FuzzPickle reads archives that are in order but for their pickle.
func FuzzPickle(f *testing.F) {
	names, err := filepath.Glob("testdata/*.pt")
	if err != nil || len(names) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, name := range names {
		if archive, err := zip.OpenReader(name); err == nil {
			for _, record := range archive.File {
				if path.Base(record.Name) == "data.pkl" {
					f.Add(contentOf(f, record))
				}
			}
			archive.Close()
		}
	}
	target := serializetest.FuzzTarget("torch")
	f.Fuzz(func(t *testing.T, pickled []byte) { target(t, archiveOf(t, pickled)) })
}

func contentOf(f *testing.F, record *zip.File) []byte {
	r, err := record.Open()
	if err != nil {
		f.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// archiveOf returns an archive of a pickle and four storages of 64 bytes.
func archiveOf(t *testing.T, pickled []byte) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, record := range []struct {
		name    string
		content []byte
	}{
		{"data.pkl", pickled}, {"byteorder", []byte("little")}, {"version", []byte("3\n")},
		{"data/0", make([]byte, 64)}, {"data/1", make([]byte, 64)}, {"data/2", make([]byte, 64)}, {"data/3", make([]byte, 64)},
	} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: "archive/" + record.name, Method: zip.Store})
		if err == nil {
			_, err = w.Write(record.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestPicklesTakeMemoryByTheirBytes: a pickle of a few bytes in the file that declares 256 MiB is
// refused before it is decompressed.
func TestPicklesTakeMemoryByTheirBytes(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "archive/data.pkl", Method: zip.Deflate, CompressedSize64: 4, UncompressedSize64: 256 << 20})
	if err == nil {
		_, err = w.Write(make([]byte, 4))
	}
	if err = cmp.Or(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = serialize.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "bomb.pt")
	if err == nil || !strings.Contains(err.Error(), "declares 268435456, more than the 67109888 that are allowed") {
		t.Error(err)
	}
}
