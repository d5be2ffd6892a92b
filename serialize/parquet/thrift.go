package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/h5dnn/h5dnn/storage"
)

// An object is metadata in Thrift's compact protocol (thrift/doc/specs/thrift-compact-protocol.md).
// Structs become maps by field number, lists []any, and integers int64.
type object = map[int]any

// Types of the compact protocol.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeI32    = 5
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12
)

const (
	maxDepth  = 32
	maxValues = 1 << 22

	valueCost, objectCost = 32, 256 // bytes of memory, about
)

var errThrift = errors.New("the metadata are damaged")

// A decoder reads structs. The first error stays.
type decoder struct {
	b      []byte
	budget *storage.Budget
	at     int
	values int
	cost   int // bytes of memory, about
	err    error
}

// spend fails if the values so far take more memory than the budget allows.
func (d *decoder) spend(n int) {
	d.cost += n
	if err := d.budget.Allocate(d.cost, len(d.b)); err != nil && d.err == nil {
		d.err = fmt.Errorf("metadata: %w", err)
	}
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = fmt.Errorf("byte %d: %w", d.at, errThrift)
	}
}

func (d *decoder) byte() byte {
	if d.at >= len(d.b) {
		d.fail()
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *decoder) uvarint() uint64 {
	x, n := binary.Uvarint(d.b[min(d.at, len(d.b)):])
	if n <= 0 {
		d.fail()
		return 0
	}
	d.at += n
	return x
}

func (d *decoder) int() int64 {
	x := d.uvarint()
	return int64(x>>1) ^ -int64(x&1)
}

func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)-d.at) {
		d.fail()
		return nil
	}
	d.at += int(n)
	return d.b[d.at-int(n) : d.at]
}

func (d *decoder) object(depth int) object {
	o := object{}
	d.spend(objectCost)
	for id := 0; d.err == nil; {
		head := d.byte()
		if head == 0 {
			break
		}
		if delta := int(head >> 4); delta != 0 {
			id += delta
		} else {
			id = int(d.int())
		}
		o[id] = d.value(head&15, depth+1, true)
	}
	return o
}

func (d *decoder) value(typ byte, depth int, field bool) any {
	if d.values++; d.values > maxValues || depth > maxDepth {
		d.fail()
		return nil
	}
	d.spend(valueCost)
	switch typ {
	case typeTrue, typeFalse:
		if field {
			return typ == typeTrue
		}
		return d.byte() == typeTrue
	case typeByte:
		return int64(int8(d.byte()))
	case 4, typeI32, typeI64:
		return d.int()
	case typeDouble:
		if b := d.bytes(8); b != nil {
			return math.Float64frombits(binary.LittleEndian.Uint64(b))
		}
		return nil
	case typeBinary:
		return string(d.bytes(d.uvarint()))
	case typeList, typeSet:
		head := d.byte()
		n := uint64(head >> 4)
		if n == 15 {
			n = d.uvarint()
		}
		var list []any
		for i := uint64(0); i < n && d.err == nil; i++ {
			list = append(list, d.value(head&15, depth+1, false))
		}
		return list
	case typeMap:
		n := d.uvarint()
		if n == 0 {
			return nil
		}
		types := d.byte()
		for i := uint64(0); i < n && d.err == nil; i++ {
			d.value(types>>4, depth+1, false)
			d.value(types&15, depth+1, false)
		}
		return nil
	case typeStruct:
		return d.object(depth)
	}
	d.fail()
	return nil
}

// integer and the other methods return fields of an object, or zero values.
func integer(o object, id int) int64 { x, _ := o[id].(int64); return x }
func text(o object, id int) string   { x, _ := o[id].(string); return x }
func list(o object, id int) []any    { x, _ := o[id].([]any); return x }
func sub(o object, id int) object    { x, _ := o[id].(object); return x }

// encoded is a struct that is encoded.
type encoded []byte

// encode appends a struct. Its fields, whose numbers are less than 16 apart, are bools, ints of 32 bits,
// int64s, strings, structs, or lists of the same.
func encode(b []byte, o object) []byte {
	last := 0
	for _, id := range slices.Sorted(maps.Keys(o)) {
		b = append(b, byte(id-last)<<4|typeOf(o[id]))
		b, last = appendValue(b, o[id]), id
	}
	return append(b, 0)
}

// typeOf returns the type of a value, which of a bool is the value.
func typeOf(value any) byte {
	switch value := value.(type) {
	case bool:
		if value {
			return typeTrue
		}
		return typeFalse
	case int:
		return typeI32
	case int64:
		return typeI64
	case string:
		return typeBinary
	case []any:
		return typeList
	}
	return typeStruct
}

// appendValue appends a value without its type.
func appendValue(b []byte, value any) []byte {
	switch value := value.(type) {
	case int:
		return binary.AppendVarint(b, int64(value))
	case int64:
		return binary.AppendVarint(b, value)
	case string:
		return append(binary.AppendUvarint(b, uint64(len(value))), value...)
	case []any:
		typ := byte(typeStruct)
		if len(value) > 0 {
			typ = typeOf(value[0])
		}
		if n := len(value); n < 15 {
			b = append(b, byte(n)<<4|typ)
		} else {
			b = binary.AppendUvarint(append(b, 15<<4|typ), uint64(n))
		}
		for _, item := range value {
			b = appendValue(b, item)
		}
	case object:
		return encode(b, value)
	case encoded:
		return append(b, value...)
	}
	return b
}
