// Package gguf reads GGUF, the files of llama.cpp.
//
// Elements of quantized types are read as float32. Of IQ1, IQ2, IQ3 and others that are rare
// the shapes are listed, with an error. A model of several files is read as a whole if its first file
// is named. The format is described in ggml/docs/gguf.md of
// github.com/ggml-org/ggml.
package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

func init() {
	serialize.Register(serialize.Format{Name: "gguf", Extensions: []string{".gguf"}, Match: match, Open: open})
}

const magic = "GGUF"

func match(r io.ReaderAt, _ int64) serialize.Confidence {
	var head [24]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:4]) != magic {
		return serialize.NoMatch
	}
	return serialize.ExactMatch
}

// ggmlTypes are the element types by number. Those of package dtype are stored as such.
var ggmlTypes = map[uint32]struct {
	name string
	typ  dtype.Type
}{
	0: {"F32", dtype.Float32}, 1: {"F16", dtype.Float16}, 30: {"BF16", dtype.BFloat16}, 28: {"F64", dtype.Float64},
	24: {"I8", dtype.Int8}, 25: {"I16", dtype.Int16}, 26: {"I32", dtype.Int32}, 27: {"I64", dtype.Int64},
	2: {"Q4_0", dtype.Invalid}, 3: {"Q4_1", dtype.Invalid}, 8: {"Q8_0", dtype.Invalid}, 6: {"Q5_0", dtype.Invalid}, 7: {"Q5_1", dtype.Invalid}, 9: {"Q8_1", dtype.Invalid}, 10: {"Q2_K", dtype.Invalid}, 11: {"Q3_K", dtype.Invalid}, 12: {"Q4_K", dtype.Invalid}, 13: {"Q5_K", dtype.Invalid},
	14: {"Q6_K", dtype.Invalid}, 15: {"Q8_K", dtype.Invalid}, 16: {"IQ2_XXS", dtype.Invalid}, 17: {"IQ2_XS", dtype.Invalid}, 18: {"IQ3_XXS", dtype.Invalid}, 19: {"IQ1_S", dtype.Invalid}, 20: {"IQ4_NL", dtype.Invalid},
	21: {"IQ3_S", dtype.Invalid}, 22: {"IQ2_S", dtype.Invalid}, 23: {"IQ4_XS", dtype.Invalid}, 29: {"IQ1_M", dtype.Invalid}, 34: {"TQ1_0", dtype.Invalid}, 35: {"TQ2_0", dtype.Invalid}, 39: {"MXFP4", dtype.Invalid},
	40: {"NVFP4", dtype.Invalid}, 41: {"Q1_0", dtype.Invalid}, 42: {"Q2_0", dtype.Invalid},
}

const (
	maxTensors       = 1 << 20
	maxAxes          = 8 // ggml has 4
	defaultAlignment = 32
)

// A reader reads the header:
//
//	"GGUF", uint32 version
//	uint64 number of tensors, uint64 number of key-value pairs
//	string key, uint32 type, value                            of each pair
//	string name, uint32 axes, uint64 size of each axis from the last to the first,
//	uint32 element type, uint64 offset                        of each tensor
//	padding to the alignment
//	the elements, from which offsets count
//
// Strings have their length before them, as a uint64.
type reader struct {
	*bufio.Reader
	order binary.ByteOrder
	size  int64 // of the file
	at    int64
	text  int // bytes of metadata that may still be made
	err   error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("byte %d: %w", r.at, fmt.Errorf(format, args...))
	}
}

// bytes reads n bytes.
func (r *reader) bytes(n uint64) []byte {
	if r.err == nil && n > uint64(r.size-r.at) {
		r.fail("%d bytes are declared and %d are left: %w", n, r.size-r.at, io.ErrUnexpectedEOF)
	}
	if r.err == nil && n > uint64(r.text) {
		r.fail("metadata take more memory than allowed: %w", storage.ErrState)
	}
	if r.err != nil {
		return make([]byte, min(n, 8))
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		r.fail("%w", err)
	}
	r.at += int64(n)
	return b
}

func (r *reader) uint32() uint32 { return r.order.Uint32(r.bytes(4)) }
func (r *reader) uint64() uint64 { return r.order.Uint64(r.bytes(8)) }
func (r *reader) string() string { return string(r.bytes(r.uint64())) }

// valueTypes are the types of metadata that are numbers: 8 is a string, 9 an array.
var valueTypes = []dtype.Type{
	dtype.Uint8, dtype.Int8, dtype.Uint16, dtype.Int16, dtype.Uint32, dtype.Int32, dtype.Float32, dtype.Bool,
	dtype.Invalid, dtype.Invalid, dtype.Uint64, dtype.Int64, dtype.Float64,
}

// value reads a value of the given type as text; texts in arrays are quoted.
func (r *reader) value(typ uint32, quoted bool, depth int) string {
	switch {
	case r.err != nil:
		return ""
	case typ == 8:
		text := r.string()
		r.text -= len(text)
		if quoted {
			return strconv.Quote(text)
		}
		return text
	case typ == 9:
		return r.array(depth)
	case int(typ) >= len(valueTypes):
		r.fail("a value of type %d; known are 0 to %d", typ, len(valueTypes)-1)
		return ""
	}
	number := valueTypes[typ]
	b := r.bytes(uint64(number.Size()))
	r.text -= 8
	serialize.NormalizeBytes(b, number, r.order)
	return fmt.Sprint(storage.GoValue(number, b))
}

// array reads the type of the items, their number, and the items.
func (r *reader) array(depth int) string {
	typ, n := r.uint32(), r.uint64()
	if depth > 4 {
		r.fail("arrays are nested more than 4 deep")
	}
	var b strings.Builder
	b.WriteByte('[')
	for i := uint64(0); i < n && r.err == nil; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(r.value(typ, true, depth+1))
		if r.text -= 2; r.text < 0 {
			r.fail("metadata take more memory than allowed: %w", storage.ErrState)
		}
	}
	return b.String() + "]"
}

// A tensor is an array as the header describes it.
type tensor struct {
	name   string
	shape  []int
	typ    uint32
	offset uint64
	bytes  int // of the elements, if the type is known; see entry
}

func (r *reader) tensor() tensor {
	t := tensor{name: r.string()}
	axes := r.uint32()
	if axes > maxAxes {
		r.fail("tensor %q has %d axes; at most %d are known", t.name, axes, maxAxes)
	}
	for range axes {
		size := r.uint64()
		if size > math.MaxInt64 {
			r.fail("tensor %q has a size of %d: %w", t.name, size, views.ErrShape)
		}
		if r.err != nil {
			return t
		}
		t.shape = append(t.shape, int(size))
	}
	slices.Reverse(t.shape) // ggml counts axes from the fastest
	t.typ, t.offset = r.uint32(), r.uint64()
	return t
}

func open(in serialize.Input) (serialize.File, error) {
	r := &reader{Reader: bufio.NewReaderSize(io.NewSectionReader(in, 0, in.Size), 1<<16), order: binary.LittleEndian, size: in.Size, text: in.Budget.Limit()}
	if head := r.bytes(4); string(head) != magic {
		return nil, errors.New("does not begin like a GGUF file")
	}
	version := r.bytes(4)
	if version[0] == 0 && version[3] != 0 {
		r.order = binary.BigEndian
	}
	if v := r.order.Uint32(version); r.err == nil && v != 2 && v != 3 {
		return nil, fmt.Errorf("version %d of GGUF; known are 2 and 3", v)
	}
	tensors, pairs := r.uint64(), r.uint64()
	if tensors > maxTensors || tensors > uint64(in.Size)/24 || pairs > uint64(in.Size)/12 {
		r.fail("%d tensors and %d values in a file of %d bytes: %w", tensors, pairs, in.Size, storage.ErrState)
	}
	meta, alignment := map[string]string{}, uint64(defaultAlignment)
	for range pairs {
		if r.err != nil {
			return nil, r.err
		}
		key, typ := r.string(), r.uint32()
		if _, twice := meta[key]; twice {
			r.fail("duplicate key %q", key)
		}
		if meta[key] = r.value(typ, false, 0); key == "general.alignment" {
			var err error
			if alignment, err = strconv.ParseUint(meta[key], 10, 31); err != nil || alignment == 0 || alignment&(alignment-1) != 0 {
				r.fail("general.alignment is %q, which is not a power of two", meta[key])
			}
		}
	}
	var list []tensor
	for range tensors {
		if r.err != nil {
			return nil, r.err
		}
		list = append(list, r.tensor())
	}
	if r.err != nil {
		return nil, r.err
	}
	n, err := parts(meta)
	if err != nil {
		return nil, err
	}
	start := (uint64(r.at) + alignment - 1) / alignment * alignment
	f, err := entries(in, r.order, list, start, alignment, meta)
	if err != nil || n == 1 {
		return f, err
	}
	return join(in, f, n)
}

// entries returns the tensors, whose elements begin at start.
func entries(in serialize.Input, order binary.ByteOrder, tensors []tensor, start, alignment uint64, meta map[string]string) (serialize.File, error) {
	sections, err := in.Sections()
	if err != nil {
		return nil, err
	}
	list := serialize.NewList(len(tensors), meta, sections.Close)
	var places []serialize.Extent
	for _, t := range tensors {
		e, err := serialize.Entry{Name: t.name}, error(nil)
		switch {
		case t.offset > uint64(in.Size):
			err = fmt.Errorf("it is at offset %d in a file of %d bytes, which may be truncated: %w", t.offset, in.Size, storage.ErrState)
		case t.offset%alignment != 0:
			err = fmt.Errorf("it is at offset %d, which is not a multiple of %d: %w", t.offset, alignment, storage.ErrState)
		default:
			e, err = t.entry(sections, order, start+t.offset)
			places = append(places, serialize.Extent{Name: t.name, At: int64(t.offset), Size: int64(t.bytes)})
		}
		list.AddMarkingDuplicates(e, err)
	}
	if err := serialize.CheckOverlap(places); err != nil {
		sections.Release()
		return nil, err
	}
	return list, nil
}

func (t *tensor) entry(sections *serialize.Sections, order binary.ByteOrder, at uint64) (serialize.Entry, error) {
	e := serialize.Entry{Name: t.name}
	known, ok := ggmlTypes[t.typ]
	if !ok {
		return serialize.Unsupported(t.name, t.shape, fmt.Sprintf("unknown (%d)", t.typ))
	}
	block, isBlock := blocks[t.typ]
	if !known.typ.Valid() && !isBlock {
		return serialize.Unsupported(t.name, t.shape, known.name)
	}
	typ := known.typ
	if isBlock {
		typ = dtype.Float32
	}
	v, err := views.New(t.shape, math.MaxInt/16)
	if err != nil {
		return e, err
	}
	if isBlock && (v.Rank() == 0 || t.shape[v.Rank()-1]%block.elements != 0) {
		return e, fmt.Errorf("shape %v of %s, whose rows are of %d elements each: %w", t.shape, known.name, block.elements, views.ErrShape)
	}
	size := v.Len() * typ.Size()
	if isBlock {
		size = v.Len() / block.elements * block.size
	}
	data, err := sections.Section(int64(at), int64(size))
	if err != nil {
		return e, err
	}
	t.bytes = size
	if isBlock {
		data = &quantizedSource{stored: data, block: block, n: v.Len(), order: order}
	} else {
		data = serialize.Normalize(data, typ, order)
	}
	e.Array = storage.Array{Data: data, Type: typ, View: v}
	return e, nil
}
