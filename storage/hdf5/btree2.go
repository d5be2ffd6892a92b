package hdf5

import (
	"fmt"
	"math/bits"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A btree2 is a version 2 B-tree: it holds records, in order, in its leaves and between the
// children of its inner nodes.
//
//	header                          leaf                  inner node
//	| BTHD               |  4       | BTLF     | 4        | BTIN     | 4
//	| 0                  |  1       | 0        | 1        | 0        | 1
//	| type of records    |  1       | type     | 1        | type     | 1
//	| size of nodes      |  4       | record … |          | record … |
//	| size of records    |  2       | checksum | 4        | child …  |
//	| depth              |  2                             | checksum | 4
//	| split, merge       |  2
//	| root               |  O       a child
//	| records in root    |  2       | address                              | O
//	| records            |  L       | records in it                        | as few bytes as hold the maximum
//	| checksum           |  4       | (depth > 1) records in and below it  | as few bytes as hold the maximum
type btree2 struct {
	f          *File
	kind       int
	nodeSize   int
	recordSize int
	record     func(*cursor) error
	maxRecords []int // of a node, by its height
	maxBelow   []int // of a node and all nodes below it, by its height
	visited    map[uint64]bool
}

// btree2 calls record for every record of the tree whose header is at address.
func (f *File) btree2(address uint64, kind int, record func(*cursor) error) error {
	c := f.cursor("B-tree 2", address, 4+1+1+4+2+2+2+f.offset+2+f.length+4)
	c.signature("BTHD", 0)
	if got := c.u8(); c.err == nil && got != kind {
		c.fail("has records of kind %d, want %d", got, kind)
	}
	t := &btree2{f: f, kind: kind, record: record, visited: map[uint64]bool{}}
	t.nodeSize, t.recordSize = c.u32(), c.u16()
	depth := c.u16()
	c.skip(2)
	root, count := c.address(), c.u16()
	c.skip(f.length)
	c.checksum()
	if c.err != nil {
		return c.err
	}
	if root == undefined || count == 0 && depth == 0 {
		return nil
	}
	if err := t.computeLimits(depth); err != nil {
		return err
	}
	return t.node(root, depth, count)
}

const nodeOverhead = 4 + 1 + 1 + 4

// computeLimits works out how many records fit, by height, as the format derives the
// sizes of fields from that.
func (t *btree2) computeLimits(depth int) error {
	if t.recordSize == 0 || t.nodeSize < nodeOverhead+t.recordSize || depth > 64 {
		return fmt.Errorf("B-tree 2: nodes of %d bytes, records of %d bytes and depth %d are not possible", t.nodeSize, t.recordSize, depth)
	}
	t.maxRecords = []int{(t.nodeSize - nodeOverhead) / t.recordSize}
	t.maxBelow = []int{t.maxRecords[0]}
	for height := 1; height <= depth; height++ {
		most := (t.nodeSize - nodeOverhead - t.childSize(height)) / (t.recordSize + t.childSize(height))
		if most < 1 {
			return fmt.Errorf("B-tree 2: inner nodes of %d bytes are too small for a record", t.nodeSize)
		}
		overflow, below := bits.Mul64(uint64(most+1), uint64(t.maxBelow[height-1]))
		if overflow != 0 || below > 1<<62 {
			return fmt.Errorf("B-tree 2: depth %d is too large", depth)
		}
		t.maxRecords, t.maxBelow = append(t.maxRecords, most), append(t.maxBelow, int(below)+most)
	}
	return nil
}

// childSize returns the size of a child's entry in a node of the given height.
func (t *btree2) childSize(height int) int {
	size := t.f.offset + format.BytesFor(t.maxRecords[0])
	if height > 1 {
		size += format.BytesFor(t.maxBelow[height-1])
	}
	return size
}

// node visits the records of a node of the given height and those below it, in order.
func (t *btree2) node(address uint64, height, count int) error {
	if t.visited[address] {
		return fmt.Errorf("B-tree 2: node at %d is its own ancestor or has two parents", address)
	}
	t.visited[address] = true
	if count > t.maxRecords[height] {
		return fmt.Errorf("B-tree 2: node at %d has %d records, at most %d fit", address, count, t.maxRecords[height])
	}
	size := nodeOverhead + count*t.recordSize
	sig := "BTLF"
	if height > 0 {
		size += (count + 1) * t.childSize(height)
		sig = "BTIN"
	}
	c := t.f.cursor("B-tree 2", address, size)
	c.signature(sig, 0)
	if got := c.u8(); c.err == nil && got != t.kind {
		c.fail("node at %d has records of kind %d, want %d", address, got, t.kind)
	}
	records, children := c.bytes(count*t.recordSize), t.f.newCursor("B-tree 2", nil)
	if height > 0 {
		children.buf = c.bytes((count + 1) * t.childSize(height))
		t.f.cacheEntries(children.buf, t.childSize(height), t.nodeSize)
	}
	if c.checksum(); c.err != nil {
		return c.err
	}
	for k := range count + 1 {
		if height > 0 {
			child, n := children.address(), children.count(format.BytesFor(t.maxRecords[0]))
			if height > 1 {
				children.skip(format.BytesFor(t.maxBelow[height-1]))
			}
			if err := t.node(child, height-1, n); err != nil {
				return err
			}
		}
		if k < count {
			r := t.f.newCursor("B-tree 2 record", records[k*t.recordSize:(k+1)*t.recordSize])
			if err := t.record(r); err != nil {
				return err
			}
			if r.err != nil {
				return r.err
			}
		}
	}
	return nil
}
