// Package safetensors reads and writes safetensors files, the exchange format of Hugging
// Face: a JSON header and the elements of each array, row-major and little-endian.
//
//	length of the header   8 bytes, little-endian
//	header                 {"__metadata__": {…}, "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, …}
//	elements               of all arrays, without gaps
//
// https://huggingface.co/docs/safetensors. Files are mapped. Those that are written begin
// their elements at a multiple of 4096, so that no reader has to copy them to align them,
// and are otherwise laid out as by the reference implementation.
//
// Arrays that share their elements are stored once, under the first name in the order of
// entries; "__metadata__" has the others, each with the first name as its value, as
// safetensors.torch.save_model writes them.
package safetensors

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

var format = serialize.Format{
	Name: "safetensors", Extensions: []string{".safetensors"}, Types: heldTypes(), Meta: true, Shares: true, Aliases: true,
	Match: match, Fits: fits, FitsMeta: fitsMeta,
}

func init() {
	format.Open, format.Save, format.Salvage = open, save, salvage
	serialize.Register(format)
}

const (
	maxHeader   = 100_000_000 // the limit of the reference implementation
	metadataKey = "__metadata__"
	aliasesKey  = "h5dnn.aliases" // in the metadata: which of them are names of arrays, a JSON list
)

// An element is a type of elements. bits is what one takes in the file.
type element struct {
	name string
	typ  dtype.Type // Invalid if package dtype has no such type
	bits int
}

// elements are the types in the order of the reference implementation, which writes arrays
// of later ones first, so that the elements of each are aligned.
var elements = []element{
	{"BOOL", dtype.Bool, 8},
	{"F4", dtype.Invalid, 4}, {"F6_E2M3", dtype.Invalid, 6}, {"F6_E3M2", dtype.Invalid, 6},
	{"U8", dtype.Uint8, 8}, {"I8", dtype.Int8, 8},
	{"F8_E5M2", dtype.Float8E5M2, 8}, {"F8_E4M3", dtype.Float8E4M3, 8}, {"F8_E8M0", dtype.Invalid, 8}, {"F8_E4M3FNUZ", dtype.Invalid, 8}, {"F8_E5M2FNUZ", dtype.Invalid, 8},
	{"I16", dtype.Int16, 16}, {"U16", dtype.Uint16, 16}, {"F16", dtype.Float16, 16}, {"BF16", dtype.BFloat16, 16},
	{"I32", dtype.Int32, 32}, {"U32", dtype.Uint32, 32}, {"F32", dtype.Float32, 32},
	{"C64", dtype.Complex64, 64}, {"F64", dtype.Float64, 64}, {"I64", dtype.Int64, 64}, {"U64", dtype.Uint64, 64},
}

func heldTypes() []dtype.Type {
	var types []dtype.Type
	for _, e := range elements {
		if e.typ.Valid() {
			types = append(types, e.typ)
		}
	}
	slices.SortFunc(types, func(a, b dtype.Type) int { return a.Number() - b.Number() })
	return types
}

// rank returns the place of t in elements.
func rank(t dtype.Type) int {
	return slices.IndexFunc(elements, func(e element) bool { return e.typ == t })
}

// match fits a length that the file has room for, and a header that begins as JSON.
func match(r io.ReaderAt, size int64) serialize.Confidence {
	var head [10]byte
	if n, _ := r.ReadAt(head[:], 0); n < len(head) {
		return serialize.NoMatch
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length < 2 || length > maxHeader || int64(length) > size-8 || head[8] != '{' || !slices.Contains([]byte("\"} \t\r\n"), head[9]) {
		return serialize.NoMatch
	}
	return serialize.ContentMatch
}

// headerText returns the header of a file, and where the elements begin.
func headerText(in serialize.Input) (string, int64, error) {
	var head [8]byte
	if err := in.ReadFull(head[:], 0); err != nil {
		return "", 0, fmt.Errorf("a file of %d bytes is too short for the length of a header: %w", in.Size, io.ErrUnexpectedEOF)
	}
	switch length := binary.LittleEndian.Uint64(head[:]); {
	case length > maxHeader:
		return "", 0, fmt.Errorf("header of %d bytes; at most %d are allowed: %w", length, maxHeader, storage.ErrState)
	case int64(length) > in.Size-8:
		return "", 0, fmt.Errorf("header of %d bytes in a file of %d; it is truncated: %w", length, in.Size, io.ErrUnexpectedEOF)
	default:
		text, err := in.ReadText(8, int64(length))
		if err != nil {
			return "", 0, fmt.Errorf("header: %w", err)
		}
		return text, int64(length) + 8, nil
	}
}
