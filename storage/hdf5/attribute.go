package hdf5

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// An Attribute is a named value of an object. A few attributes are messages in the
// object's header; more are stored in a fractal heap, which a version 2 B-tree indexes by
// name.
//
//	version 1                   version 2              version 3
//	| 1                | 1      | 2            | 1     | 3             | 1
//	| 0                | 1      | flags        | 1     | flags         | 1
//	| size of name     | 2      | the same
//	| size of type     | 2                             | the same
//	| size of shape    | 2
//	|                                                  | character set | 1
//	| name, padded to 8|        | name         |       | name          |
//	| type, padded to 8|        | type         |       | type          |
//	| shape, padded    |        | shape        |       | shape         |
//	| value            |        | value        |       | value         |
//
// Flags 0 and 1: the type and the shape are shared messages.
type Attribute struct {
	Name  string
	Shape []int // nil: the attribute has a type but no value
	Type  *Type

	object *Object
	data   []byte
}

// Attributes returns the object's attributes, sorted by name. If some cannot be read, it
// returns the others with an error.
func (o *Object) Attributes() ([]Attribute, error) {
	if o.header == nil {
		return nil, nil
	}
	all, err := o.attributes()
	slices.SortStableFunc(all, func(a, b Attribute) int { return strings.Compare(a.Name, b.Name) })
	if err != nil {
		return all, o.file.fail(o.Path, err)
	}
	return all, nil
}

// Attribute returns the named attribute.
func (o *Object) Attribute(name string) (Attribute, error) {
	all, err := o.Attributes()
	for _, a := range all {
		if a.Name == name {
			return a, nil
		}
	}
	if err != nil {
		return Attribute{}, err
	}
	return Attribute{}, o.file.fail(o.Path, fmt.Errorf("no attribute %q", name))
}

func (o *Object) attributes() (all []Attribute, failed error) {
	add := func(body []byte, err error) {
		var a Attribute
		if err == nil {
			a, err = o.parseAttribute(o.file.newCursor("attribute", body))
		}
		if err != nil {
			failed = errors.Join(failed, err)
			return
		}
		all = append(all, a)
	}
	for _, m := range o.header.messages {
		switch m.kind {
		case msgAttribute:
			add(o.file.body(m))
		case msgAttributeInfo:
			if err := o.denseAttributes(m, add); err != nil {
				failed = errors.Join(failed, err)
			}
		}
	}
	return all, firstError(failed)
}

// firstError returns the first of several joined errors.
func firstError(err error) error {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		return firstError(many.Unwrap()[0])
	}
	return err
}

// denseAttributes reads the attributes that an attribute info message refers to:
//
//	| 0 (1) | flags (1) | (flag 0) largest creation order (2) | heap (O) | B-tree by name (O) | (flag 1) by order (O) |
//
// The records of that tree are
//
//	| heap id (8) | message flags (1) | order (4) | hash (4) |
func (o *Object) denseAttributes(m message, add func([]byte, error)) error {
	const orderSize = 2
	heap, names, err := o.file.denseStorage("attribute info", m, orderSize)
	if err != nil || heap == nil {
		return err
	}
	const byName = 8
	return o.file.btree2(names, byName, func(record *cursor) error {
		id := record.bytes(8)
		switch flags := record.u8(); {
		case record.err != nil:
			return record.err
		case flags&flagShared != 0:
			add(o.file.sharedInHeap(msgAttribute, id))
		default:
			add(heap.object(id))
		}
		record.rest()
		return nil
	})
}

func (o *Object) parseAttribute(c *cursor) (Attribute, error) {
	a := Attribute{object: o}
	version, flags := c.u8(), c.u8()
	if version < 1 || version > 3 {
		c.fail("version %d is not known", version)
	}
	nameSize, typeSize, spaceSize := c.u16(), c.u16(), c.u16()
	if version == 3 {
		c.skip(1)
	}
	if version == 1 {
		flags = 0
	}
	part := func(size int) []byte {
		b := c.bytes(size)
		if version == 1 {
			c.skip(min(-size&7, c.remaining()))
		}
		return b
	}
	a.Name = trimNUL(part(nameSize))
	typeBody, spaceBody := part(typeSize), part(spaceSize)
	if c.err != nil {
		return a, c.err
	}
	err := a.parseValue(c,
		message{kind: msgDatatype, flags: uint8(flags<<1) & flagShared, body: typeBody},
		message{kind: msgDataspace, flags: uint8(flags) & flagShared, body: spaceBody})
	if err != nil {
		return a, fmt.Errorf("attribute %q: %w", a.Name, err)
	}
	return a, nil
}

// parseValue reads the type and the shape, and the value that follows them.
func (a *Attribute) parseValue(c *cursor, typ, shape message) (err error) {
	f := a.object.file
	if a.Type, err = f.datatype(typ); err != nil {
		return err
	}
	body, err := f.body(shape)
	if err != nil {
		return err
	}
	space, err := parseDataspace(f.newCursor("dataspace", body))
	if err != nil || space.null {
		return err
	}
	a.Shape = space.shape
	if err := format.CheckShape(a.Type.Size, a.Shape...); err != nil {
		return err
	}
	size, err := format.Product(append([]int{a.Type.Size}, a.Shape...)...)
	if err != nil {
		return err
	}
	a.data = c.bytes(size)
	return c.err
}
