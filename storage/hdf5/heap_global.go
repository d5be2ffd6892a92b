package hdf5

import (
	"fmt"
	"slices"
)

// A collection is a block of the global heap, which stores values of variable length. The
// elements of a dataset are pointers to them:
//
//	collection                   an object in it              a pointer
//	| GCOL            | 4        | index           | 2        | length      | 4
//	| 1               | 1        | references      | 2        | collection  | O
//	| 0               | 3        | 0               | 4        | index       | 4
//	| size            | L        | size            | L
//	| object …                   | bytes, padded to 8
//
// Object 0 is the free space at the end.
type collection []numberedObject // by number

// A numberedObject is an object of a collection. A map would take twice the memory of short strings.
type numberedObject struct {
	number int
	bytes  []byte
}

// find returns the object of a number, the last one if there are several.
func (c collection) find(number int) ([]byte, bool) {
	after, _ := slices.BinarySearchFunc(c, number+1, compareNumber)
	if after == 0 || c[after-1].number != number {
		return nil, false
	}
	return c[after-1].bytes, true
}

func compareNumber(o numberedObject, number int) int { return o.number - number }

const maxHeapCache = 32 << 20 // bytes of collections and their objects

const numberedObjectSize = 32

// heapObject returns an object of the collection at an address.
func (f *File) heapObject(address uint64, number int) ([]byte, error) {
	all, err := f.collection(address)
	if err != nil {
		return nil, err
	}
	object, ok := all.find(number)
	if !ok {
		return nil, fmt.Errorf("global heap at %d: no object %d", address, number)
	}
	return object, nil
}

func (f *File) collection(address uint64) (collection, error) {
	return f.heaps.get(address, maxHeapCache, func() (collection, int, error) { return f.readCollection(address) })
}

func (f *File) readCollection(address uint64) (collection, int, error) {
	prefix := f.cursor("global heap", address, 8+f.length)
	prefix.signature("GCOL", 1)
	prefix.skip(3)
	size := prefix.size()
	c := f.cursor("global heap", address, size)
	if prefix.err != nil {
		return nil, 0, prefix.err
	}
	c.skip(8 + f.length)
	objects := collection{}
	for c.err == nil && c.remaining() >= 8+f.length {
		number := c.u16()
		c.skip(6)
		n := c.size()
		if number == 0 {
			break
		}
		objects = append(objects, numberedObject{number, c.bytes(n)})
		c.skip(min(-n&7, c.remaining()))
	}
	byNumber := func(a, b numberedObject) int { return a.number - b.number }
	if !slices.IsSortedFunc(objects, byNumber) {
		slices.SortStableFunc(objects, byNumber)
	}
	return objects, size + numberedObjectSize*len(objects), c.err
}

// A varLen is an element of variable length: a pointer into the global heap.
type varLen struct {
	n int // elements of the base type, or bytes of a string
	heapID
}

// null reports whether the pointer leads nowhere.
func (v varLen) null() bool { return v.address == 0 || v.address == undefined }

func (f *File) parseVarLen(element []byte) (varLen, error) {
	c := f.newCursor("sequence", element)
	v := varLen{c.u32(), heapID{c.address(), c.u32()}}
	return v, c.err
}

// varLenData returns the bytes that an element of type t points to.
func (f *File) varLenData(t *Type, v varLen) ([]byte, error) {
	if v.n == 0 || v.null() {
		return nil, nil
	}
	object, err := f.heapObject(v.address, v.index)
	if err != nil {
		return nil, err
	}
	size := t.Base.Size
	if t.Text.Variable {
		size = 1
	}
	if size == 0 || v.n > len(object)/size {
		return nil, fmt.Errorf("sequence of %d elements of %d bytes in %d bytes", v.n, size, len(object))
	}
	return object[:v.n*size], nil
}

// VarLen resolves an element of variable length, of type t: the number of its base
// elements, and their bytes as they are stored. ok is false for a null pointer. For
// strings the number is that of bytes.
func (f *File) VarLen(t *Type, element []byte) (n int, data []byte, ok bool, err error) {
	v, err := f.parseVarLen(element)
	if err != nil || v.null() {
		return 0, nil, false, err
	}
	data, err = f.varLenData(t, v)
	return v.n, data, true, err
}
