package hdf5

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A Type is the datatype of a dataset or an attribute, as declared in the file.
//
//	| class, version | 1 |  low and high four bits
//	| bits           | 3 |  depend on the class
//	| size           | 4 |
//	| properties …   |   |  depend on the class, see the functions below
type Type struct {
	Class     Class
	Size      int  // of an element, in bytes
	BigEndian bool // of numbers
	Signed    bool // of integers
	Precision int  // significant bits of a number
	BitOffset int  // number of bits below the significant ones
	Float     FloatBits
	Text      TextKind // of strings
	Tag       string   // of opaque types
	Region    bool     // references are to regions of datasets
	Tagged    bool     // references are of HDF5 1.12: each says what it refers to
	Members   []Member // of compounds, by offset
	Names     []string // of enums
	Values    [][]byte // of enums, in the base type
	Base      *Type    // of enums, arrays, variable-length types and complex numbers
	Dims      []int    // of arrays
	Committed uint64   // the address of the committed datatype that this is, or 0

	time *numpyTime // of opaque types with the tag of a NumPy time
}

// A Member is a field of a compound type.
type Member struct {
	Name   string
	Offset int
	Type   *Type
}

// A Class is the class of a datatype.
type Class uint8

// The classes, with their numbers in files.
const (
	ClassInteger Class = iota
	ClassFloat
	ClassTime
	ClassString // of fixed length
	ClassBitfield
	ClassOpaque
	ClassCompound
	ClassReference
	ClassEnum
	ClassVarLen // sequences and strings of variable length
	ClassArray
	ClassComplex
)

var classNames = [...]string{"integer", "float", "time", "string", "bitfield", "opaque", "compound", "reference", "enum", "sequence", "array", "complex"}

func (c Class) String() string { return classNames[c] }

// FloatBits describes the bits of a floating-point number, counted from the lowest.
type FloatBits struct {
	Sign               int
	Exponent, ExpSize  int
	Mantissa, MantSize int
	Bias               int
	Normalization      int // highest bit of the mantissa: 0 free, 1 always set, 2 implied
	VAX                bool
}

// TextKind describes how strings are stored.
type TextKind struct {
	Variable bool // of variable length
	UTF8     bool // or ASCII
	Padding  Padding
}

// Padding is the padding of strings of fixed length.
type Padding uint8

const (
	NullTerminated Padding = iota
	NullPadded
	SpacePadded
)

func (p Padding) String() string {
	return [...]string{"null-terminated", "null-padded", "space-padded"}[p]
}

// maxTypeDepth limits the depth of nested types.
const maxTypeDepth = 32

// parseType reads a datatype message.
func (f *File) parseType(body []byte) (*Type, error) {
	c := f.newCursor("datatype", body)
	t := parseType(c, 0)
	return t, c.err
}

// datatype reads a datatype message, which may be shared.
func (f *File) datatype(m message) (*Type, error) {
	if m.flags&flagShared == 0 {
		if t, known := f.types.Load(string(m.body)); known {
			return t.(*Type), nil
		}
		t, err := f.parseType(m.body)
		if err == nil && len(m.body) < 64 { // such as types of numbers, which most datasets have
			f.types.Store(string(m.body), t)
		}
		return t, err
	}
	body, committed, err := f.resolve(msgDatatype, f.newCursor("datatype", m.body))
	if err != nil {
		return nil, err
	}
	t, err := f.parseType(body)
	if committed != undefined {
		t.Committed = committed
	}
	return t, err
}

func parseType(c *cursor, depth int) *Type {
	t := &Type{}
	first := c.u8()
	class, version := Class(first&15), first>>4
	bits := int(c.uint(3))
	t.Class, t.Size = class, c.u32()
	switch {
	case c.err != nil:
	case depth > maxTypeDepth:
		c.fail("nested more than %d deep", maxTypeDepth)
	case version < 1 || version > 5:
		c.fail("version %d is not known; the file is newer than this program", version)
	case int(class) >= len(typeParsers):
		c.fail("class %d is not known; the file is newer than this program", class)
	case t.Size == 0 && class != ClassString && class != ClassOpaque && class != ClassVarLen:
		c.fail("%v of size 0", class)
	default:
		typeParsers[class](t, c, typeHeader{version, bits, depth})
	}
	return t
}

// A typeHeader determines the format of a type's properties.
type typeHeader struct{ version, bits, depth int }

var typeParsers [12]func(*Type, *cursor, typeHeader)

func init() { // the functions refer to the table, so it cannot have an initializer
	typeParsers = [12]func(*Type, *cursor, typeHeader){
		(*Type).parseInteger, (*Type).parseFloat, (*Type).parseTime, (*Type).parseString,
		(*Type).parseInteger, (*Type).parseOpaque, (*Type).parseCompound, (*Type).parseReference,
		(*Type).parseEnum, (*Type).parseSequence, (*Type).parseArray, (*Type).parseComplex,
	}
}

// parseInteger reads the properties of integers and bitfields:
//
//	bits: 0 big-endian, 3 signed    | offset (2) | precision (2) |
func (t *Type) parseInteger(c *cursor, h typeHeader) {
	t.BigEndian = h.bits&1 != 0
	t.Signed = t.Class == ClassInteger && h.bits&8 != 0
	t.BitOffset, t.Precision = c.u16(), c.u16()
	t.checkPrecision(c)
}

func (t *Type) checkPrecision(c *cursor) {
	if c.err == nil && (t.Precision == 0 || t.BitOffset+t.Precision > 8*t.Size) {
		c.fail("%d bits at bit %d of %d bytes", t.Precision, t.BitOffset, t.Size)
	}
}

// parseFloat reads
//
//	bits: 0 big-endian, with 6 VAX, 4-5 normalization, 8-15 sign
//	| offset (2) | precision (2) | exponent: place, size (2) | mantissa: place, size (2) | bias (4) |
func (t *Type) parseFloat(c *cursor, h typeHeader) {
	t.BigEndian = h.bits&1 != 0
	t.Signed = true
	t.BitOffset, t.Precision = c.u16(), c.u16()
	t.Float = FloatBits{
		VAX: h.bits&(1<<6) != 0, Normalization: h.bits >> 4 & 3, Sign: h.bits >> 8 & 0xff,
		Exponent: c.u8(), ExpSize: c.u8(), Mantissa: c.u8(), MantSize: c.u8(), Bias: c.u32(),
	}
	t.checkPrecision(c)
	f, bits := t.Float, 8*t.Size
	if c.err == nil && (f.Sign >= bits || f.Exponent+f.ExpSize > bits || f.Mantissa+f.MantSize > bits || f.ExpSize == 0 || f.MantSize == 0) {
		c.fail("float with its sign at bit %d, exponent at %d+%d, mantissa at %d+%d of %d bytes",
			f.Sign, f.Exponent, f.ExpSize, f.Mantissa, f.MantSize, t.Size)
	}
}

// parseTime reads | precision (2) |; bit 0 is big-endian.
func (t *Type) parseTime(c *cursor, h typeHeader) {
	t.BigEndian = h.bits&1 != 0
	t.Precision = c.u16()
}

// parseString: bits 0-3 are the padding, 4-7 the character set. There are no properties.
func (t *Type) parseString(c *cursor, h typeHeader) {
	t.setText(c, h.bits, h.bits>>4)
}

func (t *Type) setText(c *cursor, padding, charset int) {
	if padding &= 15; padding > int(SpacePadded) {
		c.fail("string with padding %d", padding)
		padding = 0
	}
	t.Text.Padding, t.Text.UTF8 = Padding(padding), charset&15 == 1
}

// parseOpaque reads | tag |, padded with zeros to the length in bits 0-7.
func (t *Type) parseOpaque(c *cursor, h typeHeader) {
	tag := c.bytes(h.bits & 0xff)
	t.Tag = trimNUL(tag)
	t.time = parseNumpyTime(t.Tag, t.Size)
}

// parseReference: bits 0-3 are 0 for references to objects, 1 to regions, and more in the
// types of HDF5 1.12, whose elements say themselves what they refer to.
func (t *Type) parseReference(c *cursor, h typeHeader) {
	t.Region, t.Tagged = h.bits&15 == 1, h.bits&15 > 1
	if want := 2 + 4 + c.offset + 4; c.err == nil && t.Tagged && t.Size != want {
		c.fail("reference of %d bytes, want %d", t.Size, want)
	}
}

// parseCompound reads the members, whose number is in bits 0-15:
//
//	version 1 and 2: | name, padded to 8 | offset (4) | (1) rank (1), 0 (3), order (4), 0 (4), sizes (4x4) | type |
//	version 3:       | name, 0 | offset (as few bytes as the size needs) | type |
func (t *Type) parseCompound(c *cursor, h typeHeader) {
	count := h.bits & 0xffff
	if count == 0 {
		c.fail("compound without members")
	}
	for range count {
		m := Member{Name: c.typeName(h.version)}
		if h.version >= 3 {
			m.Offset = c.count(format.BytesFor(t.Size))
		} else {
			m.Offset = c.u32()
		}
		var dims []int
		if h.version == 1 {
			rank := c.u8()
			c.skip(3 + 4 + 4)
			for axis := range 4 {
				if size := c.u32(); axis < rank {
					dims = append(dims, size)
				}
			}
			if rank > 4 {
				c.fail("member %q has rank %d", m.Name, rank)
			}
		}
		m.Type = parseType(c, h.depth+1)
		if len(dims) > 0 && c.err == nil {
			m.Type = version1Array(c, m.Type, dims)
		}
		if c.err == nil && (m.Offset > t.Size || m.Type.Size > t.Size-m.Offset) {
			c.fail("member %q of %d bytes at %d of a compound of %d bytes", m.Name, m.Type.Size, m.Offset, t.Size)
		}
		if c.err != nil {
			return
		}
		t.Members = append(t.Members, m)
	}
}

// typeName reads the name of a member.
func (c *cursor) typeName(version int) string {
	start := c.at
	name := c.text()
	if version < 3 {
		c.skip((start - c.at) & 7)
	}
	return name
}

// version1Array returns an array type for a member with dimensions; version 1 has no
// array class.
func version1Array(c *cursor, base *Type, dims []int) *Type {
	t := &Type{Class: ClassArray, Base: base, Dims: dims}
	t.sizeArray(c)
	return t
}

func (t *Type) sizeArray(c *cursor) {
	err := format.CheckShape(t.Base.Size, t.Dims...)
	n, _ := format.Product(append([]int{t.Base.Size}, t.Dims...)...)
	switch {
	case err != nil || n > 1<<32:
		c.fail("array of %v elements", t.Dims)
	case t.Size == 0:
		t.Size = n
	case t.Size != n:
		c.fail("array of %v elements of %d bytes that takes %d", t.Dims, t.Base.Size, t.Size)
	}
}

// parseEnum reads
//
//	| base type | name, 0, padded to 8 before version 3 … | value … |
func (t *Type) parseEnum(c *cursor, h typeHeader) {
	t.Base = parseType(c, h.depth+1)
	if c.err == nil && (t.Base.Class != ClassInteger || t.Base.Size != t.Size) {
		c.fail("enum of %d bytes over %v of %d bytes", t.Size, t.Base.Class, t.Base.Size)
	}
	for range h.bits & 0xffff {
		if c.err != nil {
			return
		}
		t.Names = append(t.Names, c.typeName(h.version))
	}
	for range t.Names {
		t.Values = append(t.Values, c.bytes(t.Size))
	}
}

// parseSequence reads | base type |. Bits 0-3 are 1 for strings, of which bits 4-7 are the
// padding and 8-11 the character set. An element is a pointer into the global heap.
func (t *Type) parseSequence(c *cursor, h typeHeader) {
	t.Base = parseType(c, h.depth+1)
	if t.Text.Variable = h.bits&15 == 1; t.Text.Variable {
		t.setText(c, h.bits>>4, h.bits>>8)
	}
	if want := 4 + c.offset + 4; c.err == nil && t.Size != want {
		c.fail("sequence of %d bytes, want %d", t.Size, want)
	}
}

// parseArray reads
//
//	version 2: | rank (1) | 0 (3) | size (4) … | order (4) … | base type |
//	version 3: | rank (1) | size (4) … | base type |
func (t *Type) parseArray(c *cursor, h typeHeader) {
	rank := c.u8()
	if h.version < 3 {
		c.skip(3)
	}
	if rank == 0 || rank > format.MaxRank {
		c.fail("array of rank %d", rank)
		return
	}
	for range rank {
		t.Dims = append(t.Dims, c.u32())
	}
	if h.version < 3 {
		c.skip(4 * rank)
	}
	t.Base = parseType(c, h.depth+1)
	if c.err == nil {
		t.sizeArray(c)
	}
}

// parseComplex reads | base type |. An element consists of two.
func (t *Type) parseComplex(c *cursor, h typeHeader) {
	t.Base = parseType(c, h.depth+1)
	if c.err == nil && (t.Base.Class != ClassFloat || t.Size != 2*t.Base.Size) {
		c.fail("complex number of %d bytes over %v of %d bytes", t.Size, t.Base.Class, t.Base.Size)
	}
}

// trimNUL returns the text before the first zero byte.
func trimNUL(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

// EnumMembers returns the names and the values of an enum, by value; nil for other types
// and for bools.
func (t *Type) EnumMembers() (names []string, values []int64) {
	if t.Class != ClassEnum || t.isBool() {
		return nil, nil
	}
	reader := new(valueReader)
	order := make([]int, len(t.Names))
	all := make([]int64, len(t.Names))
	for k := range t.Names {
		order[k] = k
		switch value, _ := reader.number(t.Base, t.Values[k]); value := value.(type) {
		case int64:
			all[k] = value
		case uint64:
			all[k] = int64(value)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a], all[b]) })
	for _, k := range order {
		names, values = append(names, t.Names[k]), append(values, all[k])
	}
	return names, values
}

// HasVarLen reports whether elements are or contain values of variable length, which
// are stored in the global heap.
func (t *Type) HasVarLen() bool {
	switch t.Class {
	case ClassVarLen:
		return true
	case ClassArray:
		return t.Base.HasVarLen()
	case ClassCompound:
		return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Type.HasVarLen() })
	}
	return false
}

// HasReferences reports whether elements are or contain references.
func (t *Type) HasReferences() bool {
	switch t.Class {
	case ClassReference:
		return true
	case ClassArray, ClassVarLen:
		return t.Base.HasReferences()
	case ClassCompound:
		return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Type.HasReferences() })
	}
	return false
}
