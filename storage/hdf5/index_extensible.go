package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// An extensibleArray indexes the chunks of a dataset with one unlimited axis. The first
// elements are in its index block, the next in data blocks that the index block points to,
// all others in data blocks that secondary blocks point to. Data blocks double in size as
// the array grows, secondary blocks in their number of data blocks.
//
//	header                               index block             secondary block
//	| EAHD                      | 4      | EAIB           | 4    | EASB               | 4
//	| 0                         | 1      | 0              | 1    | 0                  | 1
//	| filtered                  | 1      | filtered       | 1    | filtered           | 1
//	| size of elements          | 1      | header         | O    | header             | O
//	| bits of the maximum number| 1      | element …             | offset             | B
//	| elements in the index     | 1      | data block …   | O    | (pages) page bitmap, by data block
//	| in the smallest data block| 1      | secondary bl. …| O    | data block …       | O
//	| minimum of data blocks    | 1      | checksum       | 4    | checksum           | 4
//	| bits of pages             | 1
//	| statistics                | 6L     data block
//	| index block               | O      | EADB, 0, filtered (1), header (O), offset (B) | element … | checksum (4) |
//	| checksum                  | 4      or, in pages: … | checksum (4) | element …, checksum (4) | …
//
// B is the number of bytes of the maximum number of elements.
//
// Elements are numbered in row-major order in the grid of the maximum shape, with the
// unlimited axis first.
type extensibleArray struct {
	*indexer
	elemSize   int
	offsetSize int // B
	inIndex    int // elements in the index block
	smallest   int // elements in the smallest data block
	pointers   int // data blocks of the smallest secondary block
	page       int // elements of a page
	supers     int // maximum number of secondary blocks
	unlimited  int // axis
	arrayGrid  []int
	visited    map[uint64]bool
}

func (x *indexer) extensible() error {
	f := x.d.file
	c := f.cursor("extensible array", x.d.layout.address, 12+6*f.length+f.offset+4)
	c.signature("EAHD", 0)
	client := c.u8()
	a := extensibleArray{indexer: x, elemSize: c.u8(), visited: map[uint64]bool{}}
	numberBits := c.u8()
	a.offsetSize = (numberBits + 7) / 8
	a.inIndex, a.smallest, a.pointers = c.u8(), c.u8(), c.u8()
	pageSize := c.u8()
	c.skip(6 * c.length)
	block := c.address()
	c.checksum()
	x.checkElement(c, client, a.elemSize)
	if c.err == nil && (numberBits > 60 || pageSize > 32 || a.pointers < 2 || a.pointers&(a.pointers-1) != 0 ||
		a.smallest == 0 || a.smallest&(a.smallest-1) != 0 || numberBits < log2(a.smallest)) {
		c.fail("numbers of %d bits, pages of %d, %d elements in a block, %d pointers", numberBits, pageSize, a.smallest, a.pointers)
	}
	if c.err != nil || block == undefined {
		return c.err
	}
	a.page = 1 << pageSize
	a.supers = 1 + numberBits - log2(a.smallest)
	if err := a.setGrid(); err != nil {
		return err
	}
	return a.indexBlock(block)
}

// setGrid computes the grid in which elements are numbered.
func (a *extensibleArray) setGrid() error {
	a.unlimited = -1
	for axis, most := range a.d.MaxShape {
		if most == Unlimited && a.unlimited >= 0 {
			return fmt.Errorf("extensible array: axes %d and %d both grow for ever", a.unlimited, axis)
		}
		if most == Unlimited {
			a.unlimited = axis
		}
	}
	if a.unlimited < 0 {
		return fmt.Errorf("extensible array: no axis grows for ever")
	}
	a.arrayGrid = a.indexer.maxGrid()
	a.arrayGrid[0], a.arrayGrid[a.unlimited] = a.arrayGrid[a.unlimited], a.arrayGrid[0]
	copy(a.arrayGrid[1:], a.others())
	if _, err := format.Product(a.arrayGrid[1:]...); err != nil {
		return err
	}
	return nil
}

// others returns the grid of the maximum shape without the unlimited axis.
func (a *extensibleArray) others() []int {
	all := a.indexer.maxGrid()
	return append(all[:a.unlimited:a.unlimited], all[a.unlimited+1:]...)
}

// coordinates converts the number of an element into the coordinates of its chunk.
func (a *extensibleArray) coordinates(number int) []int {
	coord := make([]int, len(a.arrayGrid))
	unravel(coord, number, a.arrayGrid)
	grown := coord[0]
	copy(coord, coord[1:a.unlimited+1])
	coord[a.unlimited] = grown
	return coord
}

// superBlock returns the number of data blocks of secondary block k, and of their elements.
func (a *extensibleArray) superBlock(k int) (blocks, elements int) {
	return 1 << (k / 2), a.smallest << ((k + 1) / 2)
}

func (a *extensibleArray) visit(address uint64) error {
	if a.visited[address] {
		return fmt.Errorf("extensible array: two pointers to the block at %d", address)
	}
	a.visited[address] = true
	return nil
}

func (a *extensibleArray) indexBlock(address uint64) error {
	f := a.d.file
	direct := 2 * log2(a.pointers) // secondary blocks whose data blocks the index block points to directly
	blocks := 2 * (a.pointers - 1)
	supers := max(0, a.supers-direct)
	c := f.cursor("extensible array", address, 6+f.offset+a.inIndex*a.elemSize+(blocks+supers)*f.offset+4)
	c.signature("EAIB", 0)
	c.skip(1 + f.offset)
	elements := f.newCursor("extensible array", c.bytes(a.inIndex*a.elemSize))
	pointers := f.newCursor("extensible array", c.bytes((blocks+supers)*f.offset))
	if c.checksum(); c.err != nil {
		return c.err
	}
	if err := a.elements(elements, 0, a.inIndex); err != nil {
		return err
	}
	a.d.file.cacheEntries(pointers.buf, a.d.file.offset, usualNode)
	number := a.inIndex
	for k := range direct {
		blocks, n := a.superBlock(k)
		for range blocks {
			if err := a.dataBlock(pointers.address(), number, n, pageBits{}); err != nil {
				return err
			}
			number += n
		}
	}
	for k := range supers {
		if err := a.superBlockAt(pointers.address(), direct+k, number); err != nil {
			return err
		}
		blocks, n := a.superBlock(direct + k)
		number += blocks * n
	}
	return pointers.err
}

func (a *extensibleArray) superBlockAt(address uint64, k, number int) error {
	if address == undefined {
		return nil
	}
	if err := a.visit(address); err != nil {
		return err
	}
	f := a.d.file
	blocks, n := a.superBlock(k)
	bitmap := 0 // bytes, for each data block
	if n > a.page {
		bitmap = (n/a.page + 7) / 8
	}
	size, err := format.Product(blocks, bitmap+f.offset)
	if err != nil {
		return err
	}
	c := f.cursor("extensible array", address, 6+f.offset+a.offsetSize+size+4)
	c.signature("EASB", 0)
	c.skip(1 + f.offset + a.offsetSize)
	exist := c.bytes(blocks * bitmap)
	pointers := f.newCursor("extensible array", c.bytes(blocks*f.offset))
	if c.checksum(); c.err != nil {
		return c.err
	}
	a.d.file.cacheEntries(pointers.buf, a.d.file.offset, usualNode)
	for b := range blocks {
		if err := a.dataBlock(pointers.address(), number, n, pageBits{exist, b * (n / a.page)}); err != nil {
			return err
		}
		number += n
	}
	return nil
}

// pageBits is the page bitmap of a secondary block: a bit for each page of its data
// blocks, highest first, which is set if the page was written.
type pageBits struct {
	all   []byte
	first int // page of the data block
}

func (b pageBits) set(k int) bool {
	k += b.first
	return k/8 < len(b.all) && b.all[k/8]>>(7-k%8)&1 != 0
}

// dataBlock reads n elements, from the given number on.
func (a *extensibleArray) dataBlock(address uint64, number, n int, exist pageBits) error {
	if address == undefined {
		return nil
	}
	if err := a.visit(address); err != nil {
		return err
	}
	f := a.d.file
	prefix := 6 + f.offset + a.offsetSize
	if _, err := f.span(address, n); err != nil { // every element takes more than a byte
		return err
	}
	inside := n
	if n > a.page {
		inside = 0
	}
	c := f.cursor("extensible array", address, prefix+inside*a.elemSize+4)
	c.signature("EADB", 0)
	c.skip(prefix - 5)
	elements := f.newCursor("extensible array", c.bytes(inside*a.elemSize))
	if c.checksum(); c.err != nil {
		return c.err
	}
	if inside > 0 {
		return a.elements(elements, number, n)
	}
	at := address + uint64(prefix+4)
	for p := range n / a.page {
		if exist.set(p) {
			c := f.cursor("extensible array", at, a.page*a.elemSize+4)
			elements := f.newCursor("extensible array", c.bytes(a.page*a.elemSize))
			if c.checksum(); c.err != nil {
				return c.err
			}
			if err := a.elements(elements, number+p*a.page, a.page); err != nil {
				return err
			}
		}
		at += uint64(a.page*a.elemSize + 4)
	}
	return nil
}

func (a *extensibleArray) elements(c *cursor, number, n int) error {
	for k := range n {
		e := a.element(c, a.elemSize)
		if c.err != nil {
			return c.err
		}
		if e.address == undefined {
			continue
		}
		if err := a.add(a.coordinates(number+k), e); err != nil {
			return err
		}
	}
	return nil
}
