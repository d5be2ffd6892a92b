package hdf5

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
	"github.com/h5dnn/h5dnn/views"
)

// Values of any type become Go values:
//
//	integers, bitfields   int64, uint64
//	floats                float64, or float32 for that type
//	bools, complex        bool, complex128
//	strings               string
//	enums                 string, the name, or the integer if it has none
//	opaque, time          []byte
//	NumPy times           string in ISO 8601, or NaT; int64 for timedelta64
//	compounds             Record
//	arrays, sequences     []any
//	references            Reference

// A Record is a value of a compound type.
type Record = dtype.Record

// A Reference is a value that refers to an object, or to a region of a dataset.
type Reference struct {
	Path      string // of the object, or "" if it does not exist
	Region    bool
	Attribute string // of the object
}

// A valueReader converts stored elements to Go values.
type valueReader struct {
	f       *File
	budget  int               // bytes of memory that values may still take
	strings map[heapID]string // so that a string with several pointers is stored once
}

type heapID struct {
	address uint64
	index   int
}

// maxValues limits the memory of the values that a call returns, in bytes; valueCost is the
// approximate memory of a small value.
const (
	maxValues = 256 << 20
	valueCost = 32
)

func (f *File) values() *valueReader {
	return &valueReader{f: f, budget: maxValues, strings: map[heapID]string{}}
}

// interrupted returns the error of the file's context, checked at every 4096th value.
func (r *valueReader) interrupted(k int) error {
	if k%4096 != 0 {
		return nil
	}
	return r.f.err()
}

func (r *valueReader) tooMany() error {
	return fmt.Errorf("values take more than %d bytes; select a part, or read numbers as an array", maxValues)
}

// value returns the value of an element.
func (r *valueReader) value(t *Type, b []byte) (any, error) {
	if r.budget -= valueCost; r.budget < 0 {
		return nil, r.tooMany()
	}
	switch t.Class {
	case ClassString:
		return t.unpad(b), nil
	case ClassOpaque, ClassTime:
		if t.isNumPyText() {
			return string(bytes.TrimRight(b, "\x00")), nil
		}
		if t.IsTime() {
			return t.time.value(b), nil
		}
		return bytes.Clone(b), nil
	case ClassReference:
		return r.reference(t, b), nil
	case ClassVarLen:
		return r.sequence(t, b)
	case ClassEnum:
		return r.enum(t, b)
	case ClassArray:
		n, _ := format.Product(t.Dims...)
		all, err := r.list(t.Base, b, n)
		return dtype.Nest(all, t.Dims), err
	case ClassCompound:
		if _, err := t.conversion(); err != nil {
			return r.record(t, b)
		}
	}
	return r.number(t, b)
}

// unpad returns the text of a string of fixed length.
func (t *Type) unpad(b []byte) string {
	switch t.Text.Padding {
	case NullTerminated:
		return trimNUL(b)
	case SpacePadded:
		b = bytes.TrimRight(b, " ")
	}
	return string(bytes.TrimRight(b, "\x00"))
}

func (r *valueReader) enum(t *Type, b []byte) (any, error) {
	if t.isBool() {
		return b[0] != 0, nil
	}
	for k, value := range t.Values {
		if bytes.Equal(value, b) {
			return t.Names[k], nil
		}
	}
	return r.number(t.Base, b)
}

// number returns the value of a number.
func (r *valueReader) number(t *Type, b []byte) (any, error) {
	n, err := t.conversion()
	if err != nil { // no element type corresponds to it
		return bytes.Clone(b), nil
	}
	element := make([]byte, n.to.Size())
	n.write(element, b[:n.size])
	return storage.GoValue(n.to, element), nil
}

func (r *valueReader) list(t *Type, b []byte, n int) ([]any, error) {
	r.f.cacheCollections(t, b[:min(len(b), n*t.Size)])
	all := make([]any, 0, min(n, len(b)))
	for k := range n {
		if err := r.interrupted(k); err != nil {
			return nil, err
		}
		v, err := r.value(t, b[k*t.Size:(k+1)*t.Size])
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (r *valueReader) record(t *Type, b []byte) (any, error) {
	var record Record
	for _, m := range t.Members {
		v, err := r.value(m.Type, b[m.Offset:m.Offset+m.Type.Size])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		record.Names, record.Values = append(record.Names, m.Name), append(record.Values, v)
	}
	return record, nil
}

// sequence returns the elements of a value of variable length.
func (r *valueReader) sequence(t *Type, b []byte) (any, error) {
	v, err := r.f.parseVarLen(b)
	if err != nil {
		return nil, err
	}
	if t.Text.Variable {
		return r.text(t, v)
	}
	data, err := r.f.varLenData(t, v)
	if err != nil || data == nil {
		return []any{}, err
	}
	return r.list(t.Base, data, v.n)
}

func (r *valueReader) text(t *Type, v varLen) (string, error) {
	if v.n == 0 || v.null() {
		return "", nil
	}
	if s, ok := r.strings[v.heapID]; ok {
		return s, nil
	}
	data, err := r.f.varLenData(t, v)
	if err != nil {
		return "", err
	}
	if r.budget -= len(data); r.budget < 0 {
		return "", r.tooMany()
	}
	s := trimNUL(data)
	r.strings[v.heapID] = s
	return s, nil
}

// reference returns the path of an object, whose header's address is stored.
func (r *valueReader) reference(t *Type, b []byte) any {
	to, err := r.f.Referent(t, b)
	ref := Reference{Region: to.Region != nil || t.Region, Attribute: to.Attribute}
	switch {
	case to.File != "":
		ref.Path = "an object of " + to.File // which is not opened
	case to.Address != 0:
		ref.Path = r.f.paths()[to.Address]
	case err != nil && t.Tagged:
		ref.Path = "what cannot be read: " + err.Error()
	}
	return ref
}

// A Referent is what a reference refers to.
type Referent struct {
	Address   uint64     // of an object's header; 0 for a null reference
	Region    *Selection // of a dataset; nil for the object, or one of its attributes
	Attribute string     // of the object
	File      string     // another file, which has the object
}

// Referent resolves a reference. References of HDF5 1.12 are (H5R__encode)
//
//	| kind: 2 object | flags (1) | bytes of the address, O (1) | address (O) | 0 … |
//	| kind: 2, 3 region, 4 attribute | flags (1) | size (4) | collection (O) | index (4) |
//
// where the object of the global heap is
//
//	| O (1) | address (O) |
//	| length (2) | name | of another file, with flag 1
//	| size (4) | rank (4) | selection | of a region
//	| length (2) | name | of an attribute
func (f *File) Referent(t *Type, element []byte) (to Referent, err error) {
	if !t.Tagged {
		if !t.Region {
			to.Address = f.newCursor("reference", element).address()
			if to.Address == undefined {
				to.Address = 0
			}
			return to, nil
		}
		return f.region(element)
	}
	const object, region, attribute, otherFile = 2, 3, 4, 1
	c := f.newCursor("reference", element)
	kind, flags := c.u8(), c.u8()
	switch {
	case kind == 0:
		return to, c.err
	case kind < object || kind > attribute:
		return to, fmt.Errorf("reference of kind %d is not known", kind)
	case kind != object || flags&otherFile != 0:
		size := c.u32()
		body, err := f.heapObject(c.address(), c.u32())
		if err != nil {
			return to, err
		}
		c = f.newCursor("reference", body[:min(size, len(body))])
	}
	if n := c.u8(); c.err == nil && n != c.offset {
		return to, fmt.Errorf("reference with a token of %d bytes is not supported", n)
	}
	to.Address = c.address()
	if flags&otherFile != 0 {
		to.File = string(c.bytes(c.u16()))
	}
	switch kind {
	case region:
		c.skip(8)
		s := parseSelection(c)
		to.Region = &s
	case attribute:
		to.Attribute = string(c.bytes(c.u16()))
	}
	return to, c.err
}

// region resolves a region reference, which is a pointer into the global heap: the address of the header
// of a dataset, and a selection.
func (f *File) region(element []byte) (to Referent, err error) {
	c := f.newCursor("region reference", element)
	heap, number := c.address(), c.u32()
	if c.err != nil || heap == 0 || heap == undefined {
		return to, c.err
	}
	object, err := f.heapObject(heap, number)
	if err != nil {
		return to, err
	}
	c = f.newCursor("region", object)
	to.Address = c.address()
	if s := parseSelection(c); to.Address != 0 && c.err == nil {
		to.Region = &s
	}
	return to, c.err
}

// Values returns the elements that v selects as Go values: int64, uint64, float32,
// float64, bool, complex128, string, []byte for opaque types, [Record], [Reference], or
// []any of these.
func (d *Dataset) Values(v views.View) ([]any, error) {
	if all, ok, err := d.unwrittenValues(v); ok {
		return all, err
	}
	raw, err := d.Raw(v)
	if err != nil {
		return nil, err
	}
	all, err := d.file.values().list(d.Type, raw, v.Len())
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	return all, nil
}

// unwrittenValues returns the values that v selects if none was ever written: all are the
// value of the fill value, without making as many bytes.
func (d *Dataset) unwrittenValues(v views.View) (all []any, ok bool, err error) {
	if d.Type.HasVarLen() || !d.unwritten() {
		return nil, false, nil
	}
	r := d.file.values()
	if v.Len() > maxValues/valueCost {
		return nil, true, d.file.fail(d.Path, r.tooMany())
	}
	var value any
	if d.Fill != nil {
		value, err = r.value(d.Type, d.Fill)
	} else {
		value, err = r.zero(d.Type)
	}
	if err != nil {
		return nil, true, d.file.fail(d.Path, err)
	}
	return slices.Repeat([]any{value}, v.Len()), true, nil
}

// zero returns the value of an element of zeros, without making its bytes where it has
// many.
func (r *valueReader) zero(t *Type) (any, error) {
	if _, err := t.conversion(); err == nil && t.Size <= valueCost {
		return r.value(t, make([]byte, t.Size))
	}
	switch t.Class {
	case ClassString:
		return "", nil
	case ClassArray:
		n, err := format.Product(t.Dims...)
		if err != nil || n > r.budget/valueCost {
			return nil, r.tooMany()
		}
		r.budget -= n * valueCost
		one, err := r.zero(t.Base)
		return dtype.Nest(slices.Repeat([]any{one}, n), t.Dims), err
	case ClassCompound:
		var record Record
		for _, m := range t.Members {
			value, err := r.zero(m.Type)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Name, err)
			}
			record.Names, record.Values = append(record.Names, m.Name), append(record.Values, value)
		}
		return record, nil
	}
	if t.Size > r.budget {
		return nil, r.tooMany()
	}
	r.budget -= t.Size
	return r.value(t, make([]byte, t.Size))
}

// Strings returns the strings that v selects, of fixed or variable length. Elements that
// are arrays contribute all of their strings.
func (d *Dataset) Strings(v views.View) ([]string, error) {
	raw, err := d.Raw(v)
	if err != nil {
		return nil, err
	}
	all, err := d.file.texts(d.Type, raw, v.Len())
	if err != nil {
		return nil, d.file.fail(d.Path, err)
	}
	return all, nil
}

func (f *File) texts(of *Type, raw []byte, n int) ([]string, error) {
	t, dims := of.flatten()
	if !t.IsString() {
		return nil, fmt.Errorf("%v is not a string: %w", t, dtype.ErrType)
	}
	per, err := format.Product(dims...)
	if err != nil {
		return nil, err
	}
	n *= per
	r := f.values()
	r.budget += n * valueCost // the caller asked for n strings; only their texts are limited
	f.cacheCollections(t, raw)
	all := make([]string, n)
	for k := range all {
		if err := r.interrupted(k); err != nil {
			return nil, err
		}
		v, err := r.value(t, raw[k*t.Size:(k+1)*t.Size])
		if err != nil {
			return nil, err
		}
		all[k] = v.(string)
	}
	return all, nil
}

// IsString reports whether elements are strings, of fixed or variable length.
func (t *Type) IsString() bool {
	return t.Class == ClassString || t.Class == ClassVarLen && t.Text.Variable || t.isNumPyText()
}

// isNumPyText reports whether elements are strings that h5py stored as an opaque type.
func (t *Type) isNumPyText() bool {
	return t.Class == ClassOpaque && strings.HasPrefix(t.Tag, "NUMPY:|S")
}

// Raw returns the attribute's elements as they are stored.
func (a Attribute) Raw() []byte { return bytes.Clone(a.data) }

// Values returns the attribute's elements as [Dataset.Values] does.
func (a Attribute) Values() ([]any, error) {
	if a.Shape == nil {
		return nil, nil
	}
	n, err := format.Product(a.Shape...)
	if err == nil && a.Type.Size == 0 {
		n = 0
	}
	var all []any
	if err == nil {
		all, err = a.object.file.values().list(a.Type, a.data, n)
	}
	if err != nil {
		return nil, a.fail(err)
	}
	return all, nil
}

// Value returns the element of a scalar attribute, nil if the attribute has no value, and
// otherwise nested lists of its shape.
func (a Attribute) Value() (any, error) {
	all, err := a.Values()
	if err != nil || a.Shape == nil {
		return nil, err
	}
	if len(a.Shape) == 0 && len(all) == 1 {
		return all[0], nil
	}
	if len(all) == 0 {
		return all, nil
	}
	return dtype.Nest(all, a.Shape), nil
}

// Strings returns the attribute's strings.
func (a Attribute) Strings() ([]string, error) {
	n, err := format.Product(a.Shape...)
	if a.Shape == nil {
		err = errors.New("has no value")
	}
	var all []string
	if err == nil {
		all, err = a.object.file.texts(a.Type, a.data, n)
	}
	if err != nil {
		return nil, a.fail(err)
	}
	return all, nil
}

// Plain returns the value as other formats have it, too: a string, []string or
// [storage.Array] of numbers. Any other value is an error.
func (a Attribute) Plain() (any, error) {
	if a.Shape == nil || !a.Type.IsString() || len(a.Shape) > 1 {
		return a.Array()
	}
	list, err := a.Strings()
	if err == nil && len(a.Shape) == 0 {
		return list[0], nil
	}
	return list, err
}

// Array returns the attribute's numbers.
func (a Attribute) Array() (storage.Array, error) {
	n, err := a.Type.conversion()
	if err == nil && a.Shape == nil {
		err = errors.New("has no value")
	}
	if err != nil {
		return storage.Array{}, a.fail(err)
	}
	array, err := storage.Make(storage.CPU, n.to, append(append([]int{}, a.Shape...), n.dims...)...)
	if err != nil {
		return storage.Array{}, a.fail(err)
	}
	n.write(array.Data.(storage.Host).Bytes(), a.data)
	return array, nil
}

func (a Attribute) fail(err error) error {
	return a.object.file.fail(a.object.Path, fmt.Errorf("attribute %q: %w", a.Name, err))
}

// Format returns a readable form of a value of [Dataset.Values].
func Format(value any) string { return dtype.FormatValue(value) }

func (r Reference) String() string {
	switch {
	case r.Path == "":
		return "null reference"
	case r.Region:
		return "region of " + r.Path
	case r.Attribute != "":
		return "attribute " + strconv.Quote(r.Attribute) + " of " + r.Path
	}
	return "reference to " + r.Path
}

// MarshalJSON encodes the reference as its string.
func (r Reference) MarshalJSON() ([]byte, error) { return json.Marshal(r.String()) }
