package arrow

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize/internal/column"
)

// A field is a column of the schema, with those below it.
type field struct {
	name        string
	kind        column.Kind
	stores      dtype.Type // the type of the stored numbers; Invalid for strings
	offsets     int        // bytes of an offset of strings, or of lists
	stringViews bool       // strings have views instead of offsets
	null        bool       // all values are missing, and none are stored
	decimal     int        // bytes of a decimal, which is a string here
	scale       int        // of decimals: the digits after the point
	index       dtype.Type // of indices into a dictionary; Invalid if the values are stored
	id          int64      // of the dictionary
	unsupported string     // the name of the type, if it is not read
	group       int        // typeStruct, typeFixedList or typeList; 0 for a column that has values
	size        int        // elements of a list of that many

	// What the field takes of a record batch, beside its children.
	unknown  bool // which is not known
	buffers  int
	views    bool // beside a number of others, which the batch says
	children []field
}

// value returns the field for the values of a dictionary.
func (x field) value() field {
	v := field{name: x.name, kind: x.kind, stores: x.stores, offsets: x.offsets, stringViews: x.stringViews, buffers: 2}
	switch {
	case x.stringViews:
		v.views = true
	case !x.kind.Type.Valid():
		v.buffers = 3
	}
	return v
}

// Kinds of types.
const (
	typeNull, typeInt, typeFloat, typeBinary, typeUTF8, typeBool, typeDecimal, typeDate, typeTime, typeTimestamp, typeUnion, typeDuration = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 14, 18
	typeList, typeStruct, typeFixedList, typeMap, typeLargeBinary, typeLargeUTF8, typeLargeList, typeBinaryView, typeUTF8View             = 12, 13, 16, 17, 19, 20, 21, 23, 24
)

// kinds are the names of the types, and how many buffers a column has beside those of its
// children. A union has more than one, by its mode.
var kinds = []struct {
	name    string
	buffers int
}{
	{"", 0}, {"null", 0}, {"int", 2}, {"float", 2}, {"binary", 3}, {"utf8", 3}, {"bool", 2}, {"decimal", 2}, {"date", 2}, {"time", 2},
	{"timestamp", 2}, {"interval", 2}, {"list", 2}, {"struct", 1}, {"union", 1}, {"fixed_size_binary", 2}, {"fixed_size_list", 1},
	{"map", 2}, {"duration", 2}, {"large_binary", 3}, {"large_utf8", 3}, {"large_list", 2}, {"run_end_encoded", 0},
	{"binary_view", 2}, {"utf8_view", 2}, {"list_view", 3}, {"large_list_view", 3},
}

// maxDepth is how deeply columns may be nested.
const maxDepth = 64

// fieldOf reads a field and its children.
func fieldOf(t table, depth int) field {
	x := field{name: t.text(0)}
	kind := int(t.int(2, 1))
	if depth > maxDepth || t.buffer == nil {
		t.fail()
		return x
	}
	if kind <= 0 || kind >= len(kinds) {
		x.unsupported, x.unknown = fmt.Sprintf("unknown (%d)", kind), true
		return x
	}
	x.setType(kind, t.sub(3))
	for _, child := range t.tables(5) {
		if x.unsupported == "" && x.group == 0 { // numbers and strings have no children
			t.fail()
			return x
		}
		y := fieldOf(child, depth+1)
		if x.children = append(x.children, y); y.unknown {
			x.unsupported, x.unknown = y.unsupported, true
			return x
		}
	}
	if lists := x.group == typeList || x.group == typeFixedList; lists && len(x.children) != 1 || x.size < 0 {
		t.fail()
	}
	if encoding := t.sub(4); encoding.buffer != nil {
		x.setDictionary(encoding, kinds[kind].name)
	}
	return x
}

// setType sets what follows from the type of the values.
func (x *field) setType(kind int, typ table) {
	x.buffers = kinds[kind].buffers
	switch kind {
	case typeNull:
		x.null, x.kind.Type = true, dtype.Float64
	case typeInt:
		x.kind.Type = integer(typ)
	case typeFloat:
		x.kind.Type = map[int64]dtype.Type{0: dtype.Float16, 1: dtype.Float32, 2: dtype.Float64}[typ.int(0, 2)]
	case typeBool:
		x.kind.Type = dtype.Bool
	case typeDate, typeTime, typeTimestamp, typeDuration:
		x.kind, x.stores = timeOf(kind, typ)
	case typeDecimal:
		x.scale = int(typ.int(1, 4))
		if bits := typ.intOr(2, 4, 128); slices.Contains([]int64{32, 64, 128, 256}, bits) && x.scale >= -column.MaxScale && x.scale <= column.MaxScale {
			x.decimal = int(bits) / 8
		}
	case typeUTF8, typeBinary:
		x.offsets = 4
	case typeLargeUTF8, typeLargeBinary:
		x.offsets = 8
	case typeUnion:
		x.buffers += int(typ.int(0, 2) & 1) // dense ones have offsets
	case typeBinaryView, typeUTF8View:
		x.views, x.stringViews = true, true
	case typeStruct:
		x.group = typeStruct
	case typeFixedList:
		x.group, x.size = typeFixedList, int(typ.int(0, 4))
	case typeList, typeMap:
		x.group, x.offsets = typeList, 4
	case typeLargeList:
		x.group, x.offsets = typeList, 8
	}
	if !x.stores.Valid() {
		x.stores = x.kind.Type
	}
	if x.group == 0 && x.offsets == 0 && !x.stringViews && x.decimal == 0 && !x.kind.Type.Valid() {
		x.unsupported = kinds[kind].name
	}
}

// setDictionary makes x a column of indices into a dictionary of values of its type.
func (x *field) setDictionary(encoding table, name string) {
	x.id, x.index, x.buffers, x.views, x.children = encoding.int(0, 8), dtype.Int32, 2, false, nil
	if typ := encoding.sub(1); typ.buffer != nil {
		x.index = integer(typ)
	}
	if x.unsupported != "" || !x.index.Valid() || x.decimal > 0 || x.group != 0 || x.null {
		x.group, x.unsupported = 0, "dictionary of "+name
	}
}

// units are those of times.
var units = []string{"s", "ms", "us", "ns"}

// timeOf returns the kind of a type of times, and the type of the stored integers. Days are
// stored as int32, as are times of the day in seconds and milliseconds, which count from
// midnight.
func timeOf(kind int, typ table) (k column.Kind, stores dtype.Type) {
	stores = dtype.Int64
	if kind == typeDate {
		if typ.buffer != nil && typ.intOr(0, 2, 1) == 0 {
			return column.Time("D"), dtype.Int32
		}
		return column.Time("ms"), stores
	}
	missing := int64(0)
	if kind == typeTime || kind == typeDuration {
		missing = 1 // milliseconds
	}
	unit := typ.intOr(0, 2, missing)
	if unit < 0 || unit >= int64(len(units)) {
		return column.Kind{}, dtype.Invalid
	}
	switch kind {
	case typeTimestamp:
		k = column.Time(units[unit])
		k.Zone = typ.text(1)
		return k, stores
	case typeTime:
		if typ.intOr(1, 4, 32) == 32 {
			stores = dtype.Int32
		}
	}
	return column.Duration(units[unit]), stores
}

// integer returns the type of integers, or Invalid.
func integer(t table) dtype.Type {
	types := map[int64]dtype.Type{8: dtype.Uint8, 16: dtype.Uint16, 32: dtype.Uint32, 64: dtype.Uint64}
	if t.int(1, 1) != 0 {
		types = map[int64]dtype.Type{8: dtype.Int8, 16: dtype.Int16, 32: dtype.Int32, 64: dtype.Int64}
	}
	return types[t.int(0, 4)]
}
