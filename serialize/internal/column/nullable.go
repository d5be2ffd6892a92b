package column

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Attributes of columns that are read as something else, for which a table has them again.
const (
	DescrAttr = "numpy.descr" // the type of times, as in package npy
	ZoneAttr  = "timezone"    // of times, which count in UTC
	TypeAttr  = "arrow.type"  // int8 to uint64 or bool, of integers and bools some of which are missing
)

// A Nullable is a column of which elements may be missing in a table that is written: times, for
// which NaT stands, and integers and bools that were read as float64s or strings because of them.
type Nullable struct {
	Kind
	entry serialize.Entry
}

// NullableOf returns such a column, and whether an array of one axis is one.
func NullableOf(e serialize.Entry) (n Nullable, ok bool) {
	text := func(name string) string {
		s, _ := e.Attrs[name].(string)
		return s
	}
	n.entry = e
	descr := strings.TrimLeft(text(DescrAttr), "<>=|")
	for _, unit := range []string{"s", "ms", "us", "ns", "D"} {
		for _, k := range []Kind{Time(unit), Duration(unit)} {
			if e.Elements == nil && e.Array.Type == dtype.Int64 && k.Descr == "<"+descr && k != Duration("D") {
				n.Kind = k
				if k.Descr[1] == 'M' && unit != "D" {
					n.Zone = text(ZoneAttr)
				}
				return n, true
			}
		}
	}
	typ, err := dtype.Parse(text(TypeAttr))
	if err != nil || typ != dtype.Bool && !typ.IsInt() {
		return n, false
	}
	n.Type = typ
	return n, e.Elements == nil && e.Array.Type == dtype.Float64 || e.Elements != nil && e.Elements.Type == "string" && typ.Size() == 8
}

// KeepsAttr reports whether a table that writes nullable columns has the information of an
// attribute.
func KeepsAttr(e serialize.Entry, attr string) bool {
	n, ok := NullableOf(e)
	return ok && n.keeps(attr)
}

// keeps reports whether the column has the information of an attribute.
func (n Nullable) keeps(attr string) bool {
	return attr == DescrAttr && n.Descr != "" || attr == ZoneAttr && n.Zone != "" || attr == TypeAttr && n.Descr == ""
}

// Read returns the elements of rows as numbers of the type, with 0 for missing ones, and which are
// valid, as Arrow calls those that are not missing.
func (n Nullable) Read(start, end int) (numbers []byte, valid []bool, err error) {
	valid = make([]bool, end-start)
	between := func(v views.View) views.View { return v.Narrow(0, start, end) }
	if n.entry.Elements != nil {
		values, err := n.entry.Elements.Values(between(n.entry.Elements.View))
		if err != nil {
			return nil, nil, err
		}
		for i, value := range values {
			x := uint64(0)
			if text, _ := value.(string); text != "" {
				if x, err = n.parse(text); err != nil {
					return nil, nil, n.misfit(start+i, text)
				}
				valid[i] = true
			}
			numbers = binary.NativeEndian.AppendUint64(numbers, x)
		}
		return numbers, valid, nil
	}
	elements, err := blocks.Read(n.entry.Array.With(between(n.entry.Array.View)))
	if err != nil {
		return nil, nil, err
	}
	if n.Descr != "" {
		for i := range valid {
			x := binary.NativeEndian.Uint64(elements[8*i:])
			if valid[i] = x != 1<<63; !valid[i] {
				x = 0
			}
			numbers = binary.NativeEndian.AppendUint64(numbers, x)
		}
		return numbers, valid, nil
	}
	present := make([]byte, len(elements)) // the same with 0 for NaN
	for i := range valid {
		x := math.Float64frombits(binary.NativeEndian.Uint64(elements[8*i:]))
		if valid[i] = x == x; valid[i] {
			copy(present[8*i:][:8], elements[8*i:])
		}
	}
	size := n.Type.Size()
	numbers = make([]byte, size*len(valid))
	if err := dtype.Convert(numbers, n.Type, present, dtype.Float64); err != nil {
		return nil, nil, err
	}
	back := make([]byte, len(elements))
	if err := dtype.Convert(back, dtype.Float64, numbers, n.Type); err != nil {
		return nil, nil, err
	}
	for i := range valid {
		x, y := binary.NativeEndian.Uint64(present[8*i:]), binary.NativeEndian.Uint64(back[8*i:])
		if x != y && x != 1<<63 { // -0
			return nil, nil, n.misfit(start+i, math.Float64frombits(x))
		}
	}
	return numbers, valid, nil
}

// AppendDays appends numbers of days as little-endian int32s, which dates are in a table.
func AppendDays(b, numbers []byte) ([]byte, error) {
	for ; len(numbers) > 0; numbers = numbers[8:] {
		day := int64(binary.NativeEndian.Uint64(numbers))
		if int64(int32(day)) != day {
			return nil, fmt.Errorf("day %d since 1970 is no date of a table, which has 32 bits: %w", day, dtype.ErrType)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(day))
	}
	return b, nil
}

func (n Nullable) parse(text string) (uint64, error) {
	if n.Type.IsSigned() {
		x, err := strconv.ParseInt(text, 10, 64)
		return uint64(x), err
	}
	return strconv.ParseUint(text, 10, 64)
}

func (n Nullable) misfit(row int, value any) error {
	return fmt.Errorf("row %d is %v, and the attribute %s says that elements are %v; remove the attribute: %w", row, value, TypeAttr, n.Type, storage.ErrState)
}
