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
	top := child2{root, count}
	t.cacheLevels(top, depth)
	return t.visit(top, depth)
}

// A child2 is a node of a btree2, and how many records it has.
type child2 struct {
	address uint64
	count   int
}

// cacheLevels fetches the nodes below one of the given height, if the file is remote: level by level, each together. Errors are left to visit.
func (t *btree2) cacheLevels(top child2, height int) {
	if t.f.remote == nil {
		return
	}
	seen := map[uint64]bool{}
	for level := []child2{top}; height > 0; height-- {
		var next []child2
		var addresses []uint64
		for _, at := range level {
			if seen[at.address] {
				return
			}
			seen[at.address] = true
			_, children, err := t.node(at, height)
			if err != nil {
				return
			}
			for _, child := range children {
				addresses = append(addresses, child.address)
			}
			next = append(next, children...)
		}
		t.f.cacheAt(addresses, t.nodeSize)
		level = next
	}
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

// node reads the records of a node of the given height, and its children.
func (t *btree2) node(at child2, height int) (records []byte, children []child2, err error) {
	if at.count > t.maxRecords[height] {
		return nil, nil, fmt.Errorf("B-tree 2: node at %d has %d records, at most %d fit", at.address, at.count, t.maxRecords[height])
	}
	size := nodeOverhead + at.count*t.recordSize
	sig := "BTLF"
	if height > 0 {
		size += (at.count + 1) * t.childSize(height)
		sig = "BTIN"
	}
	c := t.f.cursor("B-tree 2", at.address, size)
	c.signature(sig, 0)
	if got := c.u8(); c.err == nil && got != t.kind {
		c.fail("node at %d has records of kind %d, want %d", at.address, got, t.kind)
	}
	records = c.bytes(at.count * t.recordSize)
	if height > 0 {
		for range at.count + 1 {
			children = append(children, child2{c.address(), c.count(format.BytesFor(t.maxRecords[0]))})
			if height > 1 {
				c.skip(format.BytesFor(t.maxBelow[height-1]))
			}
		}
	}
	c.checksum()
	return records, children, c.err
}

// visit calls record for the records of a node of the given height and those below it, in order.
func (t *btree2) visit(at child2, height int) error {
	if t.visited[at.address] {
		return fmt.Errorf("B-tree 2: node at %d is its own ancestor or has two parents", at.address)
	}
	t.visited[at.address] = true
	records, children, err := t.node(at, height)
	if err != nil {
		return err
	}
	for k := range at.count + 1 {
		if height > 0 {
			if err := t.visit(children[k], height-1); err != nil {
				return err
			}
		}
		if k < at.count {
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
