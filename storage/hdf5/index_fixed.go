package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A fixedArray indexes the chunks of a dataset without unlimited axes. It has an element for
// every chunk of the maximum shape.
//
//	header                       data block                     page
//	| FAHD              | 4      | FADB                 | 4     | element … |
//	| 0                 | 1      | 0                    | 1     | checksum  | 4
//	| filtered          | 1      | filtered             | 1
//	| size of elements  | 1      | header               | O
//	| bits of pages     | 1      | (pages) page bitmap  | 1 bit each
//	| elements          | L      | element …, or checksum and then the pages
//	| data block        | O      | checksum             | 4
//	| checksum          | 4
type fixedArray struct {
	*indexer
	elemSize  int
	count     int
	page      int // elements of a page
	arrayGrid []int
}

func (x *indexer) fixed() error {
	f := x.d.file
	c := f.cursor("fixed array", x.d.layout.address, 8+f.length+f.offset+4)
	c.signature("FAHD", 0)
	client := c.u8()
	a := fixedArray{indexer: x, elemSize: c.u8(), arrayGrid: x.maxGrid()}
	pageBits := c.u8()
	a.count = c.size()
	block := c.address()
	c.checksum()
	x.checkElement(c, client, a.elemSize)
	if pageBits > 32 {
		c.fail("pages of %d bits", pageBits)
	}
	if c.err != nil || block == undefined {
		return c.err
	}
	if n, err := format.Product(a.arrayGrid...); err != nil || a.count > n {
		return fmt.Errorf("fixed array: %d elements for %v chunks", a.count, a.arrayGrid)
	}
	a.page = 1 << pageBits
	return a.read(block)
}

func (a *fixedArray) read(block uint64) error {
	f := a.d.file
	prefix := 6 + f.offset
	if a.count <= a.page {
		return a.elements(block, prefix, 0, a.count)
	}
	if _, err := f.span(block, a.count); err != nil { // every element takes more than a byte
		return err
	}
	f.cacheWhole(block, a.count*a.elemSize)
	pages := (a.count + a.page - 1) / a.page
	bitmap := (pages + 7) / 8
	c := f.cursor("fixed array", block, prefix+bitmap+4)
	c.signature("FADB", 0)
	c.skip(prefix - 5)
	exists := c.bytes(bitmap)
	c.checksum()
	if c.err != nil {
		return c.err
	}
	at := block + uint64(prefix+bitmap+4)
	for p := range pages {
		first := p * a.page
		n := min(a.page, a.count-first)
		if exists[p/8]>>(7-p%8)&1 != 0 {
			if err := a.elements(at, 0, first, n); err != nil {
				return err
			}
		}
		at += uint64(a.page*a.elemSize + 4)
	}
	return nil
}

// elements reads n elements, from number first on, between a prefix and a checksum.
func (a *fixedArray) elements(at uint64, prefix, first, n int) error {
	if n > maxStructure {
		return fmt.Errorf("fixed array: %d elements in one block", n)
	}
	c := a.d.file.cursor("fixed array", at, prefix+n*a.elemSize+4)
	if prefix > 0 {
		c.signature("FADB", 0)
		c.skip(prefix - 5)
	}
	elements := a.d.file.newCursor("fixed array", c.bytes(n*a.elemSize))
	if c.checksum(); c.err != nil {
		return c.err
	}
	for k := range n {
		if err := a.addNumbered(first+k, a.arrayGrid, a.element(elements, a.elemSize)); err != nil {
			return err
		}
	}
	return elements.err
}
