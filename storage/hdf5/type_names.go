package hdf5

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// String returns a readable name: float32, bool, string, S5, compound{x: float32, y: float32},
// enum{RED: 0, …}, int32[3 4].
func (t *Type) String() string {
	switch t.Class {
	case ClassArray:
		return fmt.Sprintf("%v%v", t.Base, t.Dims)
	case ClassString:
		return "S" + strconv.Itoa(t.Size)
	case ClassOpaque:
		if t.IsTime() {
			return t.time.String()
		}
		if t.Tag != "" {
			return fmt.Sprintf("opaque%d(%s)", t.Size, t.Tag)
		}
		return fmt.Sprintf("opaque%d", t.Size)
	case ClassTime:
		return "time"
	case ClassReference:
		if t.Region {
			return "region reference"
		}
		return "reference"
	case ClassVarLen:
		if t.Text.Variable {
			return "string"
		}
		return fmt.Sprintf("sequence{%v}", t.Base)
	case ClassEnum:
		return t.enumName()
	}
	if n, err := t.conversion(); err == nil {
		return n.to.String()
	}
	if t.Class != ClassCompound {
		return fmt.Sprintf("%v of %d bits", t.Class, t.Precision)
	}
	members := make([]string, len(t.Members))
	for k, m := range t.Members {
		members[k] = fmt.Sprintf("%s: %v", m.Name, m.Type)
	}
	return "compound{" + strings.Join(members, ", ") + "}"
}

func (t *Type) enumName() string {
	if t.isBool() {
		return "bool"
	}
	names := make([]string, 0, 8)
	for k, name := range t.Names {
		if k == 8 {
			names = append(names, "…")
			break
		}
		value, _ := new(valueReader).number(t.Base, t.Values[k])
		names = append(names, fmt.Sprintf("%s: %v", name, value))
	}
	return "enum{" + strings.Join(names, ", ") + "}"
}

// NumPy returns str(dtype) for the type that h5py maps t to: int32, >f4, |S5, object,
// [('a', '<i4'), ('b', '<f8')].
func (t *Type) NumPy() string {
	if t.Class == ClassArray || t.Class == ClassCompound && t.simple() == "" {
		return t.format()
	}
	if t.IsTime() {
		return t.time.String()
	}
	switch s := t.simple(); {
	case s == "O":
		return "object"
	case s[0] == 'S', s[0] == 'V':
		return "|" + s
	case s[0] == '<', s == "?", s == "i1", s == "u1":
		if s == "<f16" {
			return "float128"
		}
		n, _ := t.conversion()
		return n.to.String()
	default:
		return s
	}
}

// simple returns NumPy's name of t within structured types, or "" if t is structured.
func (t *Type) simple() string {
	switch t.Class {
	case ClassString:
		return "S" + strconv.Itoa(t.Size)
	case ClassOpaque, ClassTime:
		if t.IsString() {
			return "S" + strconv.Itoa(t.Size)
		}
		if t.IsTime() {
			return t.time.code()
		}
		return "V" + strconv.Itoa(t.Size)
	case ClassReference, ClassVarLen:
		return "O"
	case ClassEnum:
		if !t.isBool() {
			return t.Base.simple()
		}
		return "?"
	case ClassArray:
		return ""
	}
	n, err := t.conversion()
	switch {
	case err != nil && t.Class == ClassCompound:
		return ""
	case err != nil:
		return "V" + strconv.Itoa(t.Size)
	}
	kind, size := "u", n.to.Size()
	switch {
	case n.to.IsComplex():
		kind = "c"
	case n.to.IsFloat():
		kind = "f"
		if t.exceeds64() { // long double, which takes 16 bytes in NumPy
			size = 16
		}
	case n.to.IsSigned():
		kind = "i"
	}
	switch big := t.BigEndian && !t.Float.VAX || t.Class == ClassCompound && t.Members[0].Type.BigEndian || t.Class == ClassComplex && t.Base.BigEndian; {
	case size == 1 && n.to.IsInt():
		return kind + "1"
	case n.to == dtype.BFloat16 || n.to.StorageOnly():
		return n.to.String()
	case big:
		return fmt.Sprintf(">%s%d", kind, size)
	default:
		return fmt.Sprintf("<%s%d", kind, size)
	}
}

// format returns t as it appears in NumPy's description of a structured type.
func (t *Type) format() string {
	switch {
	case t.Class == ClassArray:
		base, dims := t.flatten()
		return fmt.Sprintf("(%s, %s)", base.format(), tuple(dims))
	case t.Class == ClassCompound && t.simple() == "":
		return t.structure()
	default:
		return "'" + t.simple() + "'"
	}
}

// flatten returns the element type of nested arrays, and all their dimensions.
func (t *Type) flatten() (*Type, []int) {
	if t.Class != ClassArray {
		return t, nil
	}
	base, dims := t.Base.flatten()
	return base, append(append([]int{}, t.Dims...), dims...)
}

// structure returns a list of members if they are packed in memory, and otherwise a
// dictionary with their offsets.
func (t *Type) structure() string {
	var list, names, formats, offsets []string
	packed, end, moved := true, 0, 0
	for _, m := range t.Members {
		offset := m.Offset + moved
		packed = packed && offset == end
		end = offset + m.Type.numpySize()
		moved += m.Type.memorySize() - m.Type.Size
		name := quote(m.Name)
		names, formats, offsets = append(names, name), append(formats, m.Type.format()), append(offsets, strconv.Itoa(offset))
		if base, dims := m.Type.flatten(); dims != nil {
			list = append(list, fmt.Sprintf("(%s, %s, %s)", name, base.format(), tuple(dims)))
		} else {
			list = append(list, fmt.Sprintf("(%s, %s)", name, m.Type.format()))
		}
	}
	if packed && end == t.memorySize() {
		return "[" + strings.Join(list, ", ") + "]"
	}
	return fmt.Sprintf("{'names': [%s], 'formats': [%s], 'offsets': [%s], 'itemsize': %d}",
		strings.Join(names, ", "), strings.Join(formats, ", "), strings.Join(offsets, ", "), t.memorySize())
}

// memorySize returns the size of an element in the memory of libhdf5: strings of variable
// length are pointers, sequences are lengths and pointers.
func (t *Type) memorySize() int {
	switch t.Class {
	case ClassVarLen:
		if t.Text.Variable {
			return 8
		}
		return 16
	case ClassArray:
		base, dims := t.flatten()
		n, _ := format.Product(dims...)
		return base.memorySize() * n
	case ClassCompound:
		size := t.Size
		for _, m := range t.Members {
			size += m.Type.memorySize() - m.Type.Size
		}
		return size
	}
	return t.Size
}

// numpySize returns the size of an element in a NumPy array, where values of variable
// length are pointers.
func (t *Type) numpySize() int {
	switch base, dims := t.flatten(); {
	case dims != nil:
		n, _ := format.Product(dims...)
		return base.numpySize() * n
	case t.Class == ClassVarLen || t.Class == ClassReference:
		return 8
	}
	return t.memorySize()
}

// quote returns s as a Python literal.
func quote(s string) string {
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		return `"` + s + `"`
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'"
}

// tuple returns dims as a Python tuple.
func tuple(dims []int) string {
	if len(dims) == 1 {
		return fmt.Sprintf("(%d,)", dims[0])
	}
	return "(" + strings.Trim(strings.ReplaceAll(fmt.Sprint(dims), " ", ", "), "[]") + ")"
}
