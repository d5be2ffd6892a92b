package arrow

import (
	"encoding/binary"
	"fmt"

	"github.com/h5dnn/h5dnn/storage"
)

// errMetadata is the reason why damaged metadata are refused.
var errMetadata = fmt.Errorf("the metadata are damaged: %w", storage.ErrState)

// A buffer holds the metadata of a message or a footer, which are a flatbuffer
// (flatbuffers.dev/internals). Its methods check every access and note the first error in
// err; what they return then is 0.
type buffer struct {
	b     []byte
	taken int // bytes of texts and vectors so far
	err   error
}

func (b *buffer) fail() {
	if b.err == nil {
		b.err = errMetadata
	}
}

// take fails if texts and vectors together are much larger than the buffer: then many
// tables refer to the same ones.
func (b *buffer) take(n int) bool {
	if b.taken += n; b.taken > 16*len(b.b) {
		b.fail()
	}
	return b.err == nil
}

// uint returns an integer of the given number of bytes.
func (b *buffer) uint(at, size int) (x uint64) {
	if at < 0 || at > len(b.b)-size {
		b.fail()
		return 0
	}
	for i := size - 1; i >= 0; i-- {
		x = x<<8 | uint64(b.b[at+i])
	}
	return x
}

// A table has fields, which may be missing.
type table struct {
	*buffer              // nil if the table is missing
	at, fields, size int // of the table, of the offsets of its fields, and their bytes
}

// table returns the table to which the offset at a position points.
func (b *buffer) table(at int) table {
	at += int(b.uint(at, 4))
	fields := at - int(int32(b.uint(at, 4)))
	size := int(b.uint(fields, 2))
	if b.err == nil && (fields < 0 || fields > len(b.b)-size) {
		b.fail()
	}
	if b.err != nil {
		return table{}
	}
	return table{b, at, fields, size}
}

// field returns the position of field i, or 0.
func (t table) field(i int) int {
	if t.buffer == nil || 4+2*i+2 > t.size {
		return 0
	}
	if offset := int(t.uint(t.fields+4+2*i, 2)); offset > 0 {
		return t.at + offset
	}
	return 0
}

// int returns a signed integer of the given number of bytes, or 0 if the field is missing.
func (t table) int(i, size int) int64 {
	at := t.field(i)
	if at == 0 {
		return 0
	}
	return int64(t.uint(at, size)<<(64-8*size)) >> (64 - 8*size)
}

// intOr is int for a field whose value is missing if it is not there.
func (t table) intOr(i, size int, missing int64) int64 {
	if t.buffer == nil || t.field(i) == 0 {
		return missing
	}
	return t.int(i, size)
}

func (t table) sub(i int) table {
	if at := t.field(i); at != 0 {
		return t.table(at)
	}
	return table{}
}

// vector returns the position of the elements of a vector, and their number.
func (t table) vector(i, width int) (at, n int) {
	if at = t.field(i); at == 0 {
		return 0, 0
	}
	at += int(t.uint(at, 4))
	if n = int(t.uint(at, 4)); t.err == nil && n > (len(t.b)-at-4)/width {
		t.fail()
	}
	if t.err != nil || !t.take(n*width) {
		return 0, 0
	}
	return at + 4, n
}

func (t table) text(i int) string {
	at, n := t.vector(i, 1)
	if n == 0 {
		return ""
	}
	return string(t.b[at : at+n])
}

// tables returns the elements of a vector of tables.
func (t table) tables(i int) []table {
	at, n := t.vector(i, 4)
	var list []table
	for k := 0; k < n && t.err == nil; k++ {
		list = append(list, t.table(at+4*k))
	}
	if t.buffer == nil || t.err != nil {
		return nil
	}
	return list
}

// An object is a table to be written. Its fields are integers, strings, objects, []object,
// structs, or nil for one that is missing.
type object []any

// structs is a vector of structures whose members are of 8 bytes.
type structs struct {
	n int
	b []byte
}

// encode returns a flatbuffer.
func encode(root object) []byte {
	e := &encoder{b: make([]byte, 4)}
	e.point(0, root)
	return e.b
}

type encoder struct{ b []byte }

// align appends zeros until n bytes more would end at a multiple of size.
func (e *encoder) align(size, n int) {
	for (len(e.b)+n)%size != 0 {
		e.b = append(e.b, 0)
	}
}

// point writes a value and, at a position, the offset to it.
func (e *encoder) point(from int, value any) {
	le := binary.LittleEndian
	at := 0
	switch v := value.(type) {
	case string:
		e.align(4, 0)
		at = len(e.b)
		e.b = append(append(le.AppendUint32(e.b, uint32(len(v))), v...), 0)
	case structs:
		e.align(8, 4)
		at = len(e.b)
		e.b = append(le.AppendUint32(e.b, uint32(v.n)), v.b...)
	case []object:
		e.align(4, 0)
		at = len(e.b)
		e.b = append(le.AppendUint32(e.b, uint32(len(v))), make([]byte, 4*len(v))...)
		for i, o := range v {
			e.point(at+4+4*i, o)
		}
	case object:
		at = e.table(v)
	default:
		panic(fmt.Sprintf("arrow: a field of type %T", value))
	}
	le.PutUint32(e.b[from:], uint32(at-from))
}

// table writes the offsets of the fields, the fields, and what they point to.
func (e *encoder) table(o object) int {
	le := binary.LittleEndian
	fields, offsets := make([]byte, 4), make([]int, len(o))
	for i, value := range o {
		size := 4
		switch value.(type) {
		case nil:
			continue
		case bool, uint8:
			size = 1
		case int16:
			size = 2
		case int64:
			size = 8
		}
		for len(fields)%size != 0 {
			fields = append(fields, 0)
		}
		offsets[i] = len(fields)
		switch v := value.(type) {
		case bool:
			fields = append(fields, 0)
			if v {
				fields[offsets[i]] = 1
			}
		case uint8:
			fields = append(fields, v)
		case int16:
			fields = le.AppendUint16(fields, uint16(v))
		case int32:
			fields = le.AppendUint32(fields, uint32(v))
		case int64:
			fields = le.AppendUint64(fields, uint64(v))
		default:
			fields = le.AppendUint32(fields, 0)
		}
	}
	size := 4 + 2*len(o)
	e.align(8, size)
	e.b = le.AppendUint16(e.b, uint16(size))
	e.b = le.AppendUint16(e.b, uint16(len(fields)))
	for _, offset := range offsets {
		e.b = le.AppendUint16(e.b, uint16(offset))
	}
	at := len(e.b)
	le.PutUint32(fields, uint32(size))
	e.b = append(e.b, fields...)
	for i, value := range o {
		switch value.(type) {
		case string, structs, []object, object:
			e.point(at+offsets[i], value)
		}
	}
	return at
}
