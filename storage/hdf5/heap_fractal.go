package hdf5

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A fractalHeap stores objects of any size, which short ids identify. Managed objects are
// in direct blocks, whose size doubles from row to row of a table; indirect blocks are
// tables within tables. Huge objects have their own space in the file. Tiny objects are
// stored in their ids.
//
//	header                                        direct block
//	| FRHP, 0                             |  5    | FHDB, 0             | 5
//	| size of ids, of filter information  |  4    | header              | O
//	| flags                               |  1    | offset in the heap  | as many bytes as offsets take
//	| largest managed object              |  4    | (flag 1) checksum   | 4
//	| next huge id, B-tree of huge ones   |  L O  | objects …
//	| free space, its manager             |  L O
//	| managed space, allocated, iterator  | 3L    indirect block
//	| managed objects                     |  L    | FHIB, 0             | 5
//	| huge: bytes, objects; tiny: the same| 4L    | header              | O
//	| width of the table                  |  2    | offset in the heap  | …
//	| first block, largest direct block   | 2L    | direct block …      | O (filters: L 4)
//	| bits of offsets, first rows         |  4    | indirect block …    | O
//	| root block, rows of it              |  O 2  | checksum            | 4
//	| (filters) size, mask, filters       |  L 4 …
//	| checksum                            |  4
type fractalHeap struct {
	f          *File
	address    uint64
	idSize     int
	hugeTree   uint64
	checked    bool // direct blocks have checksums
	width      int
	first      int // size of the smallest direct block
	largest    int // size of the largest direct block
	offsetSize int // bytes of an offset in the heap
	lengthSize int // bytes of a managed object's length
	root       uint64
	rows       int // of the root block; 0 if it is a direct block
	rootSize   int // stored size of a filtered direct root block
	rootMask   uint32
	filters    []filter.Filter

	decoded sync.Map // filtered direct blocks by address
	huge    func() (map[uint64]hugeObject, error)
}

type hugeObject struct {
	address uint64
	stored  int
	mask    uint32
	size    int
}

// fractalHeap returns the heap whose header is at an address.
func (f *File) fractalHeap(address uint64) (*fractalHeap, error) {
	fixed := 5 + 4 + 1 + 4 + 12*f.length + 3*f.offset + 2 + 2 + 2 + 2
	c := f.cursor("fractal heap", address, fixed)
	h := &fractalHeap{f: f, address: address}
	c.signature("FRHP", 0)
	h.idSize = c.u16()
	filterSize := c.u16()
	h.checked = c.u8()&2 != 0
	largestManaged := c.u32()
	c.skip(c.length)
	h.hugeTree = c.address()
	c.skip(c.length + c.offset + 8*c.length)
	h.width, h.first, h.largest = c.u16(), c.size(), c.size()
	offsetBits := c.u16()
	c.skip(2)
	h.root, h.rows = c.address(), c.u16()
	if c.err != nil {
		return nil, c.err
	}
	if err := h.check(offsetBits); err != nil {
		return nil, err
	}
	h.offsetSize = (offsetBits + 7) / 8
	h.lengthSize = format.BytesFor(min(h.largest, largestManaged))
	h.huge = sync.OnceValues(h.hugeObjects)
	if filterSize > 0 {
		fixed += f.length + 4 + filterSize
	}
	c = f.cursor("fractal heap", address, fixed+4)
	if filterSize > 0 {
		c.skip(fixed - f.length - 4 - filterSize)
		h.rootSize, h.rootMask = c.size(), uint32(c.u32())
		var err error
		if h.filters, err = parsePipeline(f.newCursor("fractal heap's filters", c.bytes(filterSize))); err != nil {
			return nil, err
		}
	} else {
		c.skip(fixed)
	}
	c.checksum()
	return h, c.err
}

// check returns an error for sizes that would overflow in the calculations below.
func (h *fractalHeap) check(offsetBits int) error {
	powerOfTwo := func(n int) bool { return n > 0 && n&(n-1) == 0 }
	if !powerOfTwo(h.width) || !powerOfTwo(h.first) || !powerOfTwo(h.largest) || h.largest < h.first ||
		h.largest > maxStructure || h.idSize < 2 || h.idSize > 4096 || offsetBits < 1 || offsetBits > 62 || h.rows > 64 {
		return fmt.Errorf("fractal heap at %d: width %d, blocks of %d to %d bytes, ids of %d bytes, offsets of %d bits and %d rows are not possible",
			h.address, h.width, h.first, h.largest, h.idSize, offsetBits, h.rows)
	}
	return nil
}

// object returns the object with the given id:
//
//	| version and type (1) | managed: offset, length | huge: key, or address and size | tiny: the object |
func (h *fractalHeap) object(id []byte) ([]byte, error) {
	c := h.f.newCursor("fractal heap", id)
	switch first := c.u8(); {
	case c.err != nil || first>>6 != 0:
		c.fail("id %x is of an unknown version", id)
		return nil, c.err
	case first>>4&3 == 0:
		offset, size := c.count(h.offsetSize), c.count(h.lengthSize)
		if c.err != nil {
			return nil, c.err
		}
		return h.managed(offset, size)
	case first>>4&3 == 1:
		return h.hugeByID(c)
	case first>>4&3 == 2:
		return h.tiny(first, c)
	}
	return nil, fmt.Errorf("fractal heap: id %x is of an unknown kind", id)
}

// offset returns where in the heap the object with the given id is, and 0 for one that is not managed.
func (h *fractalHeap) offset(id []byte) uint64 {
	c := h.f.newCursor("fractal heap", id)
	if c.u8()>>4&3 != 0 {
		return 0
	}
	return c.uint(min(h.offsetSize, c.remaining()))
}

// tiny returns an object that is stored in its id. Long ids have 12-bit lengths.
func (h *fractalHeap) tiny(first int, c *cursor) ([]byte, error) {
	size := first&15 + 1
	if h.idSize > 18 {
		size = (first&15)<<8 + c.u8() + 1
	}
	body := c.bytes(size)
	return body, c.err
}

func log2(n int) int { return bits.Len64(uint64(n)) - 1 }

// rowSize returns the size of the blocks in a row of the table. The first two rows have
// blocks of the same size.
func (h *fractalHeap) rowSize(row int) int { return h.first << max(0, row-1) }

// directRows returns the number of rows of direct blocks in a table.
func (h *fractalHeap) directRows() int { return log2(h.largest) - log2(h.first) + 2 }

// managed returns size bytes at an offset of the heap, from the direct block there.
func (h *fractalHeap) managed(offset, size int) ([]byte, error) {
	if h.rows == 0 {
		return h.direct(h.root, h.rowSize(0), h.rootSize, h.rootMask, offset, size)
	}
	address, rows, at := h.root, h.rows, offset
	for depth := 0; depth < 64; depth++ {
		row, column, within := h.locate(at)
		if row >= rows {
			break
		}
		if row < h.directRows() {
			child, stored, mask, err := h.entry(address, rows, row, column)
			if err != nil {
				return nil, err
			}
			return h.direct(child, h.rowSize(row), stored, mask, within, size)
		}
		child, _, _, err := h.entry(address, rows, row, column)
		if err != nil {
			return nil, err
		}
		address, at = child, within
		rows = log2(h.rowSize(row)) - log2(h.first*h.width) + 1
	}
	return nil, fmt.Errorf("fractal heap: no block holds offset %d", offset)
}

// locate returns the row and column of the block at an offset of a table, and the offset
// within that block.
func (h *fractalHeap) locate(offset int) (row, column, within int) {
	if line := h.first * h.width; offset >= line {
		row = log2(offset) - log2(line) + 1
		offset -= line << (row - 1)
	}
	size := h.rowSize(row)
	return row, offset / size, offset % size
}

// cacheBlocks fetches the direct blocks below the root, if the file is remote.
func (h *fractalHeap) cacheBlocks() {
	if h.f.remote == nil || h.rows == 0 {
		return
	}
	var addresses []uint64
	for row := range min(h.rows, h.directRows()) {
		for column := range h.width {
			child, _, _, err := h.entry(h.root, h.rows, row, column)
			if err != nil {
				return // which the read of an object tells
			}
			addresses = append(addresses, child)
		}
	}
	h.f.cacheAt(addresses, usualNode)
}

// entry reads one entry of the indirect block at address.
func (h *fractalHeap) entry(address uint64, rows, row, column int) (child uint64, stored int, mask uint32, err error) {
	direct, indirect := h.f.offset, h.f.offset
	if len(h.filters) > 0 {
		direct += h.f.length + 4
	}
	prefix := 5 + h.f.offset + h.offsetSize
	directRows := min(rows, h.directRows())
	size := prefix + h.width*(directRows*direct+(rows-directRows)*indirect)
	c := h.f.cursor("fractal heap", address, size+4)
	c.signature("FHIB", 0)
	if row < directRows {
		c.skip(prefix - 5 + (row*h.width+column)*direct)
	} else {
		c.skip(prefix - 5 + h.width*directRows*direct + ((row-directRows)*h.width+column)*indirect)
	}
	child = c.address()
	if len(h.filters) > 0 && row < directRows {
		stored, mask = c.size(), uint32(c.u32())
	}
	return child, stored, mask, c.err
}

// direct returns size bytes at an offset of the direct block at an address.
func (h *fractalHeap) direct(address uint64, blockSize, stored int, mask uint32, at, size int) ([]byte, error) {
	if at+size > blockSize || at < 5+h.f.offset+h.offsetSize {
		return nil, fmt.Errorf("fractal heap: %d bytes at %d of a block of %d bytes", size, at, blockSize)
	}
	if len(h.filters) == 0 {
		buf, err := h.f.bytes(address+uint64(at), size)
		if err != nil {
			return nil, fmt.Errorf("fractal heap: %w", err)
		}
		return buf, nil
	}
	buf, err := h.filtered(address, stored, mask, blockSize)
	if err != nil {
		return nil, err
	}
	return buf[at : at+size], nil
}

// filtered returns the decoded bytes of a filtered block.
func (h *fractalHeap) filtered(address uint64, stored int, mask uint32, size int) ([]byte, error) {
	if buf, ok := h.decoded.Load(address); ok && len(buf.([]byte)) == size {
		return buf.([]byte), nil
	}
	raw, err := h.f.bytes(address, stored)
	if err != nil {
		return nil, fmt.Errorf("fractal heap: %w", err)
	}
	if err := checkRatio(size, stored); err != nil {
		return nil, fmt.Errorf("fractal heap: %w", err)
	}
	buf := make([]byte, size)
	if err := filter.Decode(buf, raw, h.filters, mask, 1); err != nil {
		return nil, fmt.Errorf("fractal heap: %w", err)
	}
	h.decoded.Store(address, buf)
	return buf, nil
}

// hugeByID returns the huge object with an id. Ids that are long enough hold its address;
// others are keys of a B-tree.
func (h *fractalHeap) hugeByID(c *cursor) ([]byte, error) {
	filters := len(h.filters) > 0
	direct := h.f.offset + h.f.length
	if filters {
		direct += 4 + h.f.length
	}
	var o hugeObject
	if h.idSize-1 >= direct {
		o = h.hugeRecord(c)
	} else {
		objects, err := h.huge()
		if err != nil {
			return nil, err
		}
		found := false
		if o, found = objects[c.uint(min(h.idSize-1, h.f.length))]; !found {
			c.fail("no huge object has the id %x", c.buf)
		}
	}
	if c.err != nil {
		return nil, c.err
	}
	if filters {
		return h.filtered(o.address, o.stored, o.mask, o.size)
	}
	return h.f.bytes(o.address, o.stored)
}

func (h *fractalHeap) hugeRecord(c *cursor) hugeObject {
	o := hugeObject{address: c.address(), stored: c.size()}
	if len(h.filters) > 0 {
		o.mask, o.size = uint32(c.u32()), c.size()
	}
	return o
}

// hugeObjects reads the B-tree of huge objects, whose records are
//
//	| address (O) | stored size (L) | (filters) mask (4) | (filters) size (L) | key (L) |
func (h *fractalHeap) hugeObjects() (map[uint64]hugeObject, error) {
	objects := map[uint64]hugeObject{}
	kind := 1
	if len(h.filters) > 0 {
		kind = 2
	}
	err := h.f.btree2(h.hugeTree, kind, func(c *cursor) error {
		o := h.hugeRecord(c)
		objects[c.uint(c.length)] = o
		return nil
	})
	return objects, err
}
