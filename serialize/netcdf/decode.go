package netcdf

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
	"github.com/h5dnn/h5dnn/serialize"
	convention "github.com/h5dnn/h5dnn/serialize/hdf5"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5"
	"github.com/h5dnn/h5dnn/views"
)

// A packing is how the elements of a variable are stored: an element x stands for
// scale·x + offset, and is missing if it is one of fills.
type packing struct {
	from          storage.Array
	as            dtype.Type // of the stored elements, as the variable says
	typ           dtype.Type // of decoded elements
	scale, offset *factor
	fills         [][]byte // stored elements that attributes call missing
	unwritten     []byte   // the stored element of what was never written, or nil
}

// A factor is a number in an attribute.
type factor struct {
	value float64
	typ   dtype.Type
}

// String returns the shortest text that gives the number in its type.
func (f factor) String() string {
	bits := 64
	if f.typ == dtype.Float32 {
		bits = 32
	}
	return strconv.FormatFloat(f.value, 'g', -1, bits)
}

// typeOf returns the type of a factor, or Invalid.
func typeOf(f *factor) dtype.Type {
	if f == nil {
		return dtype.Invalid
	}
	return f.typ
}

// decoding are the attributes that decoding accounts for.
var decoding = []string{"scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned"}

// decode makes an array of what a variable stands for. Variables that stand for themselves
// stay what they are.
func (r *reader) decode(m *convention.Meaning, d *hdf5.Dataset) error {
	scale, err := number(d.Object, "scale_factor")
	if err != nil {
		return err
	}
	offset, err := number(d.Object, "add_offset")
	if err != nil {
		return err
	}
	a, err := r.array(d)
	if err != nil {
		return err
	}
	t := a.Type // as the variable says
	switch unsigned := convention.Text(d.Object, "_Unsigned"); {
	case unsigned == "true" && t.IsInt():
		t = otherSign(t, false)
	case unsigned == "false" && t.IsInt():
		t = otherSign(t, true)
	}
	p := packing{from: a, as: t, typ: t, scale: scale, offset: offset}
	if p.fills, err = fillsOf(d.Object, a.Type); err != nil {
		return err
	}
	switch {
	case scale != nil || offset != nil:
		p.typ = unpackedType(t, typeOf(scale), typeOf(offset))
	case len(p.fills) > 0:
		p.typ = maskedType(t)
	case convention.Text(d.Object, "dtype") == "bool" && t.Size() == 1: // as xarray writes them
		p.typ = dtype.Bool
	}
	if p.typ.IsFloat() && t.Size() > 1 && !has(d.Object, "_FillValue") { // any byte may be data (NetCDF Users Guide, attribute conventions)
		p.unwritten = standardFills[a.Type]
	}
	if p.typ == a.Type && scale == nil && offset == nil && len(p.fills) == 0 && p.unwritten == nil {
		if !slices.Equal(a.Shape, d.Shape) {
			m.Entry, m.Stored, m.Encoding = &serialize.Entry{Array: a}, d.Backing, rowsStored(d)
		}
		return nil
	}
	m.Entry, m.Stored = &serialize.Entry{Array: blocks.Derive(a, p.typ, p.read)}, d.Backing
	switch {
	case p.typ != a.Type || scale != nil || offset != nil || len(p.fills) > 0:
		m.Encoding = p.describe()
	case !slices.Equal(a.Shape, d.Shape):
		m.Encoding = rowsStored(d)
	}
	hidden := m.Hidden
	m.Hidden = func(name string) bool {
		return slices.Contains(decoding, name) || hidden(name) || name == "dtype" && p.typ == dtype.Bool
	}
	return nil
}

// rowsStored says that a variable has fewer rows than its unlimited dimension.
func rowsStored(d *hdf5.Dataset) string { return fmt.Sprintf("%d rows stored", d.Shape[0]) }

// describe says how the elements are stored: "int16 × 0.01 + 273.15, -32767 missing".
func (p packing) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from %v", p.from.Type)
	if p.scale != nil {
		fmt.Fprintf(&b, " × %v", p.scale)
	}
	if p.offset != nil {
		b.WriteString(strings.Replace(" + "+p.offset.String(), "+ -", "- ", 1))
	}
	for _, fill := range p.fills {
		if elems, err := storage.Read[float64](storage.Array{Data: storage.Wrap(fill), Type: p.as, View: views.Of(1)}); err == nil {
			fmt.Fprintf(&b, ", %v missing", elems[0])
		}
	}
	return b.String()
}

// number returns an attribute that is a number; nil if it is not there.
func number(o *hdf5.Object, name string) (*factor, error) {
	a, err := o.Attribute(name)
	if err != nil {
		return nil, nil
	}
	x, err := a.Array()
	if err == nil && x.Len() != 1 {
		err = fmt.Errorf("%v numbers; want one: %w", x.Shape, views.ErrShape)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: attribute %s: %w", o.Path, name, err)
	}
	elems, err := storage.Read[float64](x)
	if err != nil {
		return nil, fmt.Errorf("%s: attribute %s: %w", o.Path, name, err)
	}
	return &factor{elems[0], x.Type}, nil
}

// fillsOf returns the values that stand for missing ones, as elements of type t. Values that
// t cannot hold stand for no element, NaN needs no decoding, and complex numbers have none.
func fillsOf(o *hdf5.Object, t dtype.Type) (fills [][]byte, err error) {
	if t.IsComplex() {
		return nil, nil
	}
	for _, name := range []string{"_FillValue", "missing_value"} {
		a, err := o.Attribute(name)
		if err != nil {
			continue
		}
		x, err := a.Array()
		if err != nil || x.Type.IsComplex() { // such as a string
			continue
		}
		x, err = x.To(storage.CPU)
		if err != nil {
			return nil, fmt.Errorf("%s: attribute %s: %w", o.Path, name, err)
		}
		elems, _ := x.Bytes()
		for i := range x.Len() {
			elem, fill := elems[i*x.Type.Size():][:x.Type.Size()], make([]byte, t.Size())
			if x.Type.IsInt() && t.IsInt() && x.Type.Size() == t.Size() {
				copy(fill, elem) // which may be the unsigned one of a signed type
			} else if dtype.ConvertChecked(fill, t, elem, x.Type) != nil {
				continue
			}
			if !isNaN(fill, t) && !slices.ContainsFunc(fills, func(other []byte) bool { return bytes.Equal(other, fill) }) {
				fills = append(fills, fill)
			}
		}
	}
	return fills, nil
}

func isNaN(elem []byte, t dtype.Type) bool {
	x := make([]float64, 1)
	return t.IsFloat() && dtype.Convert(dtype.Bytes(x), dtype.Float64, elem, t) == nil && math.IsNaN(x[0])
}

// otherSign returns the integer type of the size of t that is signed, or not.
func otherSign(t dtype.Type, signed bool) dtype.Type {
	types := map[int][2]dtype.Type{
		1: {dtype.Uint8, dtype.Int8}, 2: {dtype.Uint16, dtype.Int16}, 4: {dtype.Uint32, dtype.Int32}, 8: {dtype.Uint64, dtype.Int64},
	}[t.Size()]
	if signed {
		return types[1]
	}
	return types[0]
}

// maskedType returns the type of elements of type t with NaN among them.
func maskedType(t dtype.Type) dtype.Type {
	switch {
	case !t.IsInt():
		return t
	case t.Size() <= 2:
		return dtype.Float32 // holds 24 bits
	}
	return dtype.Float64
}

// unpackedType returns the type of unpacked elements: that of both attributes if they agree
// and it is a float that is large enough, float64 if there is an offset, and else that of
// the scale, as xarray has it.
func unpackedType(t, scale, offset dtype.Type) dtype.Type {
	isFloat := func(t dtype.Type) bool { return t == dtype.Float32 || t == dtype.Float64 }
	switch {
	case scale == offset && isFloat(scale) && !(t.IsInt() && t.Size() == 4):
		return scale
	case offset != dtype.Invalid || !isFloat(scale):
		return dtype.Float64
	}
	return scale
}

// read writes decoded elements to dst.
func (p packing) read(dst []byte, v views.View) error {
	if p.typ == p.from.Type && p.scale == nil && p.offset == nil && dtype.Aligned(dst, p.typ) { // only missing ones change
		stored := storage.Array{Data: storage.Wrap(dst), Type: p.typ, View: views.Of(v.Shape...)}
		if err := p.from.With(v).CopyTo(stored); err != nil {
			return err
		}
		p.markMissing(dst, dst)
		return nil
	}
	elems, err := blocks.Read(p.from.With(v))
	if err != nil {
		return err
	}
	if p.typ == dtype.Bool {
		for i, elem := range elems {
			if dst[i] = 0; elem != 0 {
				dst[i] = 1
			}
		}
		return nil
	}
	if !dtype.Aligned(dst, p.typ) {
		to := dst
		dst = make([]byte, len(dst))
		defer func() { copy(to, dst) }()
	}
	if err := dtype.Convert(dst, p.typ, elems, p.as); err != nil {
		return err
	}
	if err := p.checkExact(dst, elems); err != nil {
		return err
	}
	switch p.typ {
	case dtype.Float32:
		unpack(dtype.Cast[float32](dst), p.scale, p.offset)
	case dtype.Float64:
		unpack(dtype.Cast[float64](dst), p.scale, p.offset)
	}
	p.markMissing(dst, elems)
	return nil
}

// markMissing makes NaN of the decoded elements that are stored as missing ones.
func (p packing) markMissing(decoded, elems []byte) {
	missing := dtype.NaN(p.typ)
	for _, fill := range append(slices.Clip(p.fills), p.unwritten) {
		switch len(fill) {
		case 1:
			replace[uint8](decoded, elems, fill, missing)
		case 2:
			replace[uint16](decoded, elems, fill, missing)
		case 4:
			replace[uint32](decoded, elems, fill, missing)
		case 8:
			replace[uint64](decoded, elems, fill, missing)
		}
	}
}

// replace writes by to the elements of dst where elems has the bits of one.
func replace[T uint8 | uint16 | uint32 | uint64](dst, elems, one, by []byte) {
	bits := dtype.Cast[T](one)[0]
	for i, elem := range dtype.Cast[T](elems) {
		if elem == bits {
			copy(dst[i*len(by):], by)
		}
	}
}

// checkExact returns an error for integers that are not missing and change when they become
// floats because others are: those of more than 53 bits.
func (p packing) checkExact(decoded, elems []byte) error {
	const exact = 1 << 53
	if p.as.Size() < 8 || !p.as.IsInt() || p.typ != dtype.Float64 || p.scale != nil || p.offset != nil {
		return nil
	}
	for i, x := range dtype.Cast[float64](decoded) {
		if (x <= -exact || x >= exact) && !slices.ContainsFunc(p.fills, func(fill []byte) bool { return bytes.Equal(fill, elems[8*i:8*i+8]) }) {
			return fmt.Errorf("integers become float64, because some may be missing, and one near %.0f would change; read the file as hdf5: %w", x, dtype.ErrType)
		}
	}
	return nil
}

// unpack scales elements and adds the offset, each rounded to the type of the elements.
func unpack[T float32 | float64](elems []T, scale, offset *factor) {
	if scale != nil {
		for i := range elems {
			elems[i] *= T(scale.value)
		}
	}
	if offset != nil {
		for i := range elems {
			elems[i] += T(offset.value)
		}
	}
}
