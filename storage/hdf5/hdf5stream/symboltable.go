package hdf5stream

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// The number of entries of nodes is twice these, which are libhdf5's defaults: a file with
// superblock 2 does not say others.
const (
	leafK     = 4
	internalK = 16
)

// Sizes of structures in bytes.
const (
	localHeapHeader = 32
	leafSize        = 8 + 2*leafK*40
	treeNodeSize    = 24 + 8*(4*internalK+1)
)

// A symbolTable lists the members of a group: a heap of names, leaves of entries, and a
// B-tree over the leaves, from its lowest level to the top. Leaves and nodes of the tree have
// one size each, and so their addresses are computed instead of kept.
type symbolTable struct {
	members []member
	order   []int    // of the members, as strcmp orders their names
	largest []uint64 // of each leaf, the place of its last name in the heap
	heap    uint64   // the size of the names
	at      uint64
	levels  []treeLevel
	top     uint64 // the address of the root of the B-tree
}

// A treeLevel is the nodes of the same height.
type treeLevel struct {
	at    uint64
	nodes int
}

// list makes the table one of members, which are those it has already and new ones.
func (t *symbolTable) list(members []member) {
	if t.members = members; t.heap > 0 && len(t.order) == len(members) {
		return
	}
	t.order = slices.Grow(t.order[:0], len(members))
	for i := range members {
		t.order = append(t.order, i)
	}
	slices.SortFunc(t.order, func(i, j int) int { return strings.Compare(members[i].name, members[j].name) })
	t.largest = make([]uint64, 0, ceil(len(members), 2*leafK))
	t.heap = 8 // the empty name, before all others
	for k, i := range t.order {
		if k%(2*leafK) == 2*leafK-1 || k == len(t.order)-1 {
			t.largest = append(t.largest, t.heap)
		}
		t.heap += nameSize(members[i].name)
	}
}

// nameSize returns the bytes of a name in the heap, where it ends with zeros.
func nameSize(name string) uint64 { return alignUp(uint64(len(name)+1), 8) }

func ceil(n, by int) int { return (n + by - 1) / by }

// place computes the addresses of all structures.
func (t *symbolTable) place(at uint64) {
	t.at = at
	at = t.leaves() + uint64(len(t.largest))*leafSize
	t.levels = t.levels[:0]
	for below := len(t.largest); ; {
		level := treeLevel{at, max(ceil(below, 2*internalK), 1)}
		t.levels = append(t.levels, level)
		if level.nodes == 1 {
			t.top = at
			return
		}
		at += uint64(level.nodes) * treeNodeSize
		below = level.nodes
	}
}

// leaves returns the address of the first leaf.
func (t *symbolTable) leaves() uint64 { return t.at + localHeapHeader + t.heap }

func (t *symbolTable) encode(e *encoder) error {
	t.encodeHeap(e)
	t.encodeLeaves(e)
	for height := range t.levels {
		t.encodeLevel(e, height)
	}
	return nil
}

// encodeHeap writes the names:
//
//	| HEAP | 0 | 0 0 0 | size of data (8) | free list: 1, none (8) | address of data (8) | data |
func (t *symbolTable) encodeHeap(e *encoder) {
	b := append(append(e.scratch, "HEAP"...), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, t.heap)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint64(b, t.at+localHeapHeader)
	e.write(append(b, make([]byte, 8)...))
	for _, i := range t.order {
		name := t.members[i].name
		b := append(e.scratch, name...)
		e.write(append(b, make([]byte, nameSize(name)-uint64(len(name)))...))
	}
}

// encodeLeaves writes nodes of up to eight members:
//
//	| SNOD | 1 | 0 | entries (2) | entries … |
//	an entry: | name in the heap (8) | object header (8) | 0 (24) |
func (t *symbolTable) encodeLeaves(e *encoder) {
	name := uint64(8)
	for list := range slices.Chunk(t.order, 2*leafK) {
		b := append(append(e.scratch, "SNOD"...), 1, 0)
		b = binary.LittleEndian.AppendUint16(b, uint16(len(list)))
		for _, i := range list {
			b = binary.LittleEndian.AppendUint64(b, name)
			b = binary.LittleEndian.AppendUint64(b, t.members[i].object.header().at)
			b = append(b, make([]byte, 24)...)
			name += nameSize(t.members[i].name)
		}
		e.write(append(b, make([]byte, leafSize-len(b))...))
	}
}

// encodeLevel writes the nodes of a B-tree of version 1 that have one height:
//
//	| TREE | 0 | level | children (2) | left (8) | right (8) | key, child, key, child, …, key |
//
// The names of a child are after the key before it and up to the key behind it.
func (t *symbolTable) encodeLevel(e *encoder, height int) {
	level := t.levels[height]
	below, childSize, leaves := treeLevel{t.leaves(), len(t.largest)}, uint64(leafSize), 1 // of a child
	for h := range height {
		below, childSize, leaves = t.levels[h], treeNodeSize, 2*internalK*leaves
	}
	key := func(child int) uint64 { // the largest name of a child
		if child < 0 {
			return 0
		}
		return t.largest[min((child+1)*leaves, len(t.largest))-1]
	}
	sibling := func(i int) uint64 {
		if i < 0 || i >= level.nodes {
			return format.Undefined
		}
		return level.at + uint64(i)*treeNodeSize
	}
	for i := range level.nodes {
		first := i * 2 * internalK
		last := min(first+2*internalK, below.nodes)
		b := append(append(e.scratch, "TREE"...), 0, byte(height))
		b = binary.LittleEndian.AppendUint16(b, uint16(last-first))
		b = binary.LittleEndian.AppendUint64(b, sibling(i-1))
		b = binary.LittleEndian.AppendUint64(b, sibling(i+1))
		b = binary.LittleEndian.AppendUint64(b, key(first-1))
		for child := first; child < last; child++ {
			b = binary.LittleEndian.AppendUint64(b, below.at+uint64(child)*childSize)
			b = binary.LittleEndian.AppendUint64(b, key(child))
		}
		e.write(append(b, make([]byte, treeNodeSize-len(b))...))
	}
}
