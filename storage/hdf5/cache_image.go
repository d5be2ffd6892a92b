package hdf5

import (
	"cmp"
	"slices"
	"sort"
)

// An imageEntry is an entry of a metadata cache image: metadata that the writer stored in one
// block when it closed the file, instead of at its addresses:
//
//	message                block                    entry
//	| 0          | 1       | MDCI        | 4        | type, flags, ring, age       | 4
//	| block      | O       | 0           | 1        | children, dirty ones, parents| 6
//	| its length | L       | flags       | 1        | rank in the LRU list         | 4
//	                       | length      | L        | address                      | O
//	                       | entries     | 4        | length                       | L
//	                       | entry …                | parent …                     | O
//	                       | checksum    | 4        | bytes
type imageEntry struct {
	address uint64
	bytes   []byte
}

func (f *File) readImage(m message) error {
	c := f.newCursor("cache image", m.body)
	if v := c.u8(); v != 0 {
		c.fail("version %d is not known", v)
	}
	address, size := c.address(), c.size()
	if c.err != nil || address == undefined {
		return c.err
	}
	c = f.cursor("cache image", address, size)
	c.signature("MDCI", 0)
	c.skip(1 + c.length)
	var image []imageEntry
	for range c.u32() {
		c.skip(8)
		parents := c.u16()
		c.skip(4)
		e := imageEntry{address: c.address()}
		n := c.size()
		c.skip(parents * c.offset)
		if e.bytes = c.bytes(n); c.err != nil {
			return c.err
		}
		image = append(image, e)
	}
	c.checksum()
	slices.SortFunc(image, func(a, b imageEntry) int { return cmp.Compare(a.address, b.address) })
	f.image = image
	return c.err
}

// imageOf returns n bytes at an address if they are in the cache image.
func (f *File) imageOf(address uint64, n int) []byte {
	k := sort.Search(len(f.image), func(k int) bool { return f.image[k].address > address }) - 1
	if k < 0 {
		return nil
	}
	e := f.image[k]
	if from := address - e.address; from < uint64(len(e.bytes)) && n <= len(e.bytes)-int(from) {
		return e.bytes[from : int(from)+n : int(from)+n]
	}
	return nil
}
