package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/serialize/serializetest"
	"github.com/h5dnn/h5dnn/storage"
)

// A hostile file has one column, whose row groups have the same pages.
type hostile struct {
	physical, repetition int // 1: may be missing
	codec                int
	rows                 int64 // of a group
	groups               int
	pages                []byte
}

func (h hostile) bytes() []byte {
	var groups []any
	for range max(1, h.groups) {
		column := object{2: int64(4), 3: object{4: h.codec, 7: int64(len(h.pages)), 9: int64(4)}}
		groups = append(groups, object{1: []any{column}, 3: h.rows})
	}
	return withMetadata(h.pages, encode(nil, object{
		1: 1, 2: []any{object{4: "schema", 5: 1}, object{1: h.physical, 3: h.repetition, 4: "x"}},
		3: int64(len(groups)) * h.rows, 4: groups,
	}))
}

func withMetadata(pages, metadata []byte) []byte {
	b := append([]byte(magic), pages...)
	b = binary.LittleEndian.AppendUint32(append(b, metadata...), uint32(len(metadata)))
	return append(b, magic...)
}

// dataPage returns a page of n values, which has size bytes when it is decompressed.
func dataPage(n, encoding, size int, content []byte) []byte {
	header := encode(nil, object{1: pageData, 2: size, 3: len(content), 5: object{1: n, 2: encoding}})
	return append(header, content...)
}

func plainPage(n, encoding int, content []byte) []byte {
	return dataPage(n, encoding, len(content), content)
}

// levels returns a run of n levels before content.
func levels(n int, level byte, content []byte) []byte {
	run := append(binary.AppendUvarint(nil, uint64(n)<<1), level)
	return append(append(binary.LittleEndian.AppendUint32(nil, uint32(len(run))), run...), content...)
}

// window is a Zstandard frame of one byte that declares a window of 512 MiB.
var window = []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 19 << 3, 1<<3 | 1<<1 | 1, 0, 0, 'x'}

// TestAttacks: each file is refused with its reason.
func TestAttacks(t *testing.T) {
	four := make([]byte, 16)
	ints := plainPage(4, plain, four)
	deep := append(bytes.Repeat([]byte{0x1c}, 100), make([]byte, 101)...)
	for name, attack := range map[string]struct {
		reason string
		b      []byte
	}{
		"chunks_overlap":     {"its chunks overlap", hostile{physical: physicalInt32, rows: 4, groups: 9, pages: ints}.bytes()},
		"level_of_255":       {"the value 255 in 1 bits", hostile{physical: physicalInt32, repetition: 1, rows: 4, pages: plainPage(4, plain, levels(4, 255, make([]byte, 4080)))}.bytes()},
		"bool_of_2":          {"the value 2 in 1 bits", hostile{physical: physicalBool, rows: 4, pages: plainPage(4, rle, levels(4, 2, nil))}.bytes()},
		"rows_overflow":      {"rows, and", hostile{physical: physicalInt32, rows: 1 << 62, pages: ints}.bytes()},
		"negative_rows":      {"-4 rows", hostile{physical: physicalInt32, rows: -4, pages: ints}.bytes()},
		"more_values":        {"a page of 8 values for 4 rows", hostile{physical: physicalInt32, rows: 4, pages: plainPage(8, plain, make([]byte, 32))}.bytes()},
		"no_values":          {"a page of 0 values", hostile{physical: physicalInt32, rows: 4, pages: plainPage(0, plain, nil)}.bytes()},
		"few_bytes":          {"4 values in 8 bytes", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, plain, four[:8])}.bytes()},
		"text_outside":       {"1 values in 4 bytes", hostile{physical: physicalBytes, rows: 1, pages: plainPage(1, plain, []byte{255, 255, 255, 255})}.bytes()},
		"levels_outside":     {"levels in a page", hostile{physical: physicalInt32, repetition: 1, rows: 4, pages: plainPage(4, plain, []byte{255, 255, 255, 127})}.bytes()},
		"dictionary_missing": {"dictionary that is missing", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, rleDictionary, []byte{1, 8, 0})}.bytes()},
		"gzip_of_a_terabyte": {"a page of", hostile{physical: physicalInt32, rows: 4, codec: gzipCodec, pages: dataPage(4, plain, 1<<40, four)}.bytes()},
		"zstd_of_gigabytes":  {"1 bytes instead of 2147483647", hostile{physical: physicalInt32, rows: 4, codec: zstdCodec, pages: dataPage(4, plain, 1<<31-1, window)}.bytes()},
		"lz4_of_gigabytes":   {"a page of 2147483647 bytes for 16", hostile{physical: physicalInt32, rows: 4, codec: lz4Codec, pages: dataPage(4, plain, 1<<31-1, four)}.bytes()},
		"snappy_of_gigabyte": {"a page of 1073741824 bytes", hostile{physical: physicalInt32, rows: 4, codec: snappyCodec, pages: dataPage(4, plain, 1<<30, binary.AppendUvarint(nil, 1<<30))}.bytes()},
		"zstd_of_other_size": {"1 bytes instead of 16", hostile{physical: physicalInt32, rows: 4, codec: zstdCodec, pages: dataPage(4, plain, 16, window)}.bytes()},
		"deltas_of_no_block": {"differences in", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, deltaPacked, []byte{0x80, 1, 0, 4, 0})}.bytes()},
		"deltas_of_others":   {"differences in", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, deltaPacked, []byte{0x80, 1, 4, 9, 0})}.bytes()},
		"deltas_of_255_bits": {"differences in", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, deltaPacked, append([]byte{0x80, 1, 4, 4, 0, 0, 255, 255, 255, 255}, make([]byte, 4096)...))}.bytes()},
		"deltas_cut_off":     {"differences in", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, deltaPacked, []byte{0x80, 1, 4, 4, 0, 0, 32, 0, 0, 0})}.bytes()},
		"deltas_of_bools":    {"encoding DELTA_BINARY_PACKED of BOOLEAN", hostile{physical: physicalBool, rows: 4, pages: plainPage(4, deltaPacked, []byte{0x80, 1, 4, 4, 0})}.bytes()},
		"text_of_deltas":     {"a string of", hostile{physical: physicalBytes, rows: 2, pages: plainPage(2, deltaLengths, []byte{0x80, 1, 4, 2, 20, 0, 0, 0, 0, 0, 'x'})}.bytes()},
		"prefix_of_nothing":  {"a string begins with", hostile{physical: physicalBytes, rows: 1, pages: plainPage(1, deltaBytes, []byte{0x80, 1, 4, 1, 2, 0x80, 1, 4, 1, 0})}.bytes()},
		"split_of_few_bytes": {"4 values in 12 bytes", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, byteStreamSplit, four[:12])}.bytes()},
		"unknown_codec":      {"compression 99", hostile{physical: physicalInt32, rows: 4, codec: 99, pages: ints}.bytes()},
		"unknown_encoding":   {"encoding 77", hostile{physical: physicalInt32, rows: 4, pages: plainPage(4, 77, four)}.bytes()},
		"deep_metadata":      {"the metadata are damaged", withMetadata(nil, deep)},
		"endless_list":       {"the metadata are damaged", withMetadata(nil, []byte{0x29, 0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})},
		"metadata_outside":   {"may be truncated", append([]byte("PAR1"), "\xff\xff\xff\x7fPAR1"...)},
	} {
		serializetest.TestAttackBytes(t, "parquet", name, attack.b, attack.reason)
	}
}

// TestRowsFitTheBudget: the rows of a column are more than what is stored of it expands to.
func TestRowsFitTheBudget(t *testing.T) {
	b := hostile{physical: physicalInt32, rows: 1 << 50, pages: plainPage(4, plain, make([]byte, 16))}.bytes()
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.parquet")
	if err != nil {
		t.Fatal(err)
	}
	a, err := serialize.Find(f, "x")
	if err != nil {
		t.Fatal(err)
	}
	if a.View, err = a.View.Slice(0, 0, 1, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "beyond the limit") {
		t.Errorf("an element of 2^50 in %d bytes: %v", len(b), err)
	}
}

// TestPagesFitTheBudget: runs of one value take next to nothing of the file, and much memory if a
// page is said to have millions, for which all pages of the column account.
func TestPagesFitTheBudget(t *testing.T) {
	const n, limit = 1 << 25, 64 << 20
	for name, h := range map[string]hostile{
		"bools":   {physical: physicalBool, pages: plainPage(n, rle, levels(n, 1, nil))},
		"levels":  {physical: physicalInt32, repetition: 1, pages: plainPage(n, plain, levels(n, 0, nil))},
		"indices": {physical: physicalInt32, pages: plainPage(n, rleDictionary, append([]byte{1}, levels(n, 0, nil)[4:]...))},
	} {
		h.rows, h.pages = n, append(h.pages, make([]byte, 16*n/storage.ExpansionRatio+1)...)
		b := h.bytes()
		before := serializetest.Allocated()
		f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.parquet", serialize.Options{Budget: storage.NewBudget(limit)})
		if err != nil {
			t.Fatal(name, err)
		}
		a, err := serialize.Find(f, "x")
		if err != nil {
			t.Fatal(name, err)
		}
		if a.View, err = a.View.Slice(0, 0, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := a.To(storage.CPU); !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "memory at once") {
			t.Errorf("%s: %v; want that they take too much memory at once", name, err)
		}
		if used := serializetest.Allocated() - before; used > limit {
			t.Errorf("%s: %d bytes of memory", name, used)
		}
	}
}

// TestMetadataFitTheBudget: an empty struct is a byte of the file, and hundreds of memory.
func TestMetadataFitTheBudget(t *testing.T) {
	n := 300_000
	list := append(binary.AppendUvarint([]byte{0x29, 0xfc}, uint64(n)), make([]byte, n+1)...)
	b := withMetadata(nil, list)
	_, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.parquet", serialize.Options{Budget: storage.NewBudget(1 << 20)})
	if !errors.Is(err, storage.ErrState) || !strings.Contains(err.Error(), "metadata: ") || !strings.Contains(err.Error(), "beyond the limit") {
		t.Errorf("metadata of %d structs: %v", n, err)
	}
}

// TestWindowsTakeNoMemory: a frame of some bytes declares any window.
func TestWindowsTakeNoMemory(t *testing.T) {
	b := hostile{physical: physicalBool, rows: 8, codec: zstdCodec, pages: dataPage(8, plain, 1, window)}.bytes()
	f, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.parquet")
	if err != nil {
		t.Fatal(err)
	}
	a, err := serialize.Find(f, "x")
	if err != nil {
		t.Fatal(err)
	}
	before := serializetest.Allocated()
	if _, err := a.To(storage.CPU); err != nil {
		t.Error(err)
	}
	if used := serializetest.Allocated() - before; used > 64<<20 {
		t.Errorf("a bool took %d bytes of memory", used)
	}
}

// TestEncryptedFilesAreRefused: the metadata may be encrypted, or columns.
func TestEncryptedFilesAreRefused(t *testing.T) {
	b := hostile{physical: physicalInt32, rows: 1, pages: make([]byte, 10)}.bytes()
	copy(b, encrypted)
	copy(b[len(b)-4:], encrypted)
	if _, err := serialize.OpenReader(bytes.NewReader(b), int64(len(b)), "x.parquet", serialize.Options{}); err == nil || !strings.Contains(err.Error(), "the file is encrypted") {
		t.Errorf("metadata: %v", err)
	}
	c := &columnReader{file: &file{}}
	groups := []any{object{1: []any{object{chunkCrypto: object{}}}}}
	if err := c.findChunks(groups, 0); err == nil || !strings.Contains(err.Error(), "the column is encrypted") {
		t.Errorf("a column: %v", err)
	}
}
