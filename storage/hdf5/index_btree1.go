package hdf5

import (
	"fmt"
	"slices"
)

// btree1 reads the version 1 B-tree that indexes the chunks of layouts before version 4 (see
// group_symbols.go for its nodes). The children of its leaves are the chunks; the key
// before a child is
//
//	| stored size (4) | mask (4) | coordinates of the first element (8) … | 0 (8) |
//
// Keys must ascend: libhdf5 does not find chunks whose keys do not.
func (x *indexer) btree1() error {
	keySize := 8 + 8*(len(x.grid)+1)
	return x.d.file.btree1(x.d.layout.address, 1, keySize, x.btree1Leaf)
}

func (x *indexer) btree1Leaf(node btree1Node) error {
	coord, before := make([]int, len(x.grid)), make([]int, len(x.grid))
	c := x.d.file.newCursor("B-tree", node.keys)
	for k := range node.children {
		e := chunkEntry{size: c.u32(), mask: uint32(c.u32())}
		for axis, size := range x.d.Chunks {
			at := c.count(8)
			if at%size != 0 {
				return fmt.Errorf("B-tree: chunk starts at %d of axis %d, which is not a multiple of its size %d", at, axis, size)
			}
			coord[axis] = at / size
		}
		if c.uint(8) != 0 || k > 0 && slices.Compare(before, coord) >= 0 {
			c.fail("keys of the node do not ascend at child %d", k)
		}
		e.address = c.address()
		if c.err != nil {
			return c.err
		}
		if err := x.add(coord, e); err != nil {
			return err
		}
		before, coord = coord, before
	}
	return nil
}
