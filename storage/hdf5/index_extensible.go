package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// The chunks of a dataset with one axis that can grow for ever are found
// through an extensible array. The first elements lie in its index block, the
// next in data blocks that the index block points at, all others in data
// blocks that super blocks point at. Data blocks double in size as the array
// grows, super blocks in how many they point at.
//
//	header                               index block             super block
//	| EAHD                      | 4      | EAIB           | 4    | EASB               | 4
//	| 0                         | 1      | 0              | 1    | 0                  | 1
//	| filtered                  | 1      | filtered       | 1    | filtered           | 1
//	| size of elements          | 1      | header         | O    | header             | O
//	| bits of the largest number| 1      | element …             | place              | B
//	| elements in the index     | 1      | data block …   | O    | (pages) which exist, by block
//	| in the smallest data block| 1      | super block …  | O    | data block …       | O
//	| data blocks of a super b. | 1      | checksum       | 4    | checksum           | 4
//	| bits of pages             | 1
//	| statistics                | 6L     data block
//	| index block               | O      | EADB, 0, filtered (1), header (O), place (B) | element … | checksum (4) |
//	| checksum                  | 4      or, in pages: … | checksum (4) | element …, checksum (4) | …
//
// B is as many bytes as hold the largest number.
//
// Elements count row by row through the grid of the largest shape, the axis
// that can grow being the slowest.
type extensibleArray struct {
	*indexer
	elemSize  int
	placeSize int // B
	inIndex   int
	smallest  int // elements in the smallest data block
	pointers  int // data blocks of the smallest super block
	page      int // elements of a page
	supers    int // how many super blocks there can be
	growing   int // axis
	most      []int
	visited   map[uint64]bool
}

func (x *indexer) extensible() error {
	f := x.d.file
	c := f.cursor("extensible array", x.d.layout.address, 12+6*f.length+f.offset+4)
	c.signature("EAHD", 0)
	client := c.u8()
	a := extensibleArray{indexer: x, elemSize: c.u8(), visited: map[uint64]bool{}}
	numberBits := c.u8()
	a.placeSize = (numberBits + 7) / 8
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

// setGrid works out how numbers of elements become places.
func (a *extensibleArray) setGrid() error {
	a.growing = -1
	for axis, most := range a.d.MaxShape {
		if most == Unlimited && a.growing >= 0 {
			return fmt.Errorf("extensible array: axes %d and %d both grow for ever", a.growing, axis)
		}
		if most == Unlimited {
			a.growing = axis
		}
	}
	if a.growing < 0 {
		return fmt.Errorf("extensible array: no axis grows for ever")
	}
	a.most = a.indexer.maxGrid()
	a.most[0], a.most[a.growing] = a.most[a.growing], a.most[0]
	copy(a.most[1:], a.others())
	if _, err := format.Product(a.most[1:]...); err != nil {
		return err
	}
	return nil
}

// others returns the grid of the largest shape without the growing axis.
func (a *extensibleArray) others() []int {
	all := a.indexer.maxGrid()
	return append(all[:a.growing:a.growing], all[a.growing+1:]...)
}

// place turns the number of an element into the place of its chunk.
func (a *extensibleArray) place(number int) []int {
	coord := make([]int, len(a.most))
	unravel(coord, number, a.most)
	grown := coord[0]
	copy(coord, coord[1:a.growing+1])
	coord[a.growing] = grown
	return coord
}

// superBlock tells how many data blocks super block k has, and of how many elements.
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
	direct := 2 * log2(a.pointers) // super blocks whose data blocks the index block points at itself
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
	c := f.cursor("extensible array", address, 6+f.offset+a.placeSize+size+4)
	c.signature("EASB", 0)
	c.skip(1 + f.offset + a.placeSize)
	exist := c.bytes(blocks * bitmap)
	pointers := f.newCursor("extensible array", c.bytes(blocks*f.offset))
	if c.checksum(); c.err != nil {
		return c.err
	}
	for b := range blocks {
		if err := a.dataBlock(pointers.address(), number, n, pageBits{exist, b * (n / a.page)}); err != nil {
			return err
		}
		number += n
	}
	return nil
}

// pageBits are one bit for each page of all data blocks of a super block, highest first.
type pageBits struct {
	all   []byte
	first int // of the data block
}

func (b pageBits) set(k int) bool {
	k += b.first
	return k/8 < len(b.all) && b.all[k/8]>>(7-k%8)&1 != 0
}

// dataBlock reads n elements, from the given number on; exist tells which of its pages do.
func (a *extensibleArray) dataBlock(address uint64, number, n int, exist pageBits) error {
	if address == undefined {
		return nil
	}
	if err := a.visit(address); err != nil {
		return err
	}
	f := a.d.file
	prefix := 6 + f.offset + a.placeSize
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
		if err := a.add(a.place(number+k), e); err != nil {
			return err
		}
	}
	return nil
}
