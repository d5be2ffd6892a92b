package hdf5stream

import (
	"encoding/binary"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// The number of entries of nodes is twice these, which are libhdf5's defaults: a file with
// superblock 2 does not say others.
const (
	leafK     = 4
	internalK = 16
)

// A symbolTable lists the members of a group: a heap of names, leaves of entries, and a
// B-tree over the leaves.
type symbolTable struct {
	members map[string]object
	names   []string
	offsets []uint64 // of the names in the heap
	heap    localHeap
	leaves  []*symbolNode
	top     *treeNode
}

func (t *symbolTable) tree() uint64 { return t.top.at }

// nodes makes the structures of the table.
func (t *symbolTable) nodes() []node {
	t.names = sortedNames(t.members)
	t.heap.data = make([]byte, 8) // the empty name, before all others
	for _, name := range t.names {
		t.offsets = append(t.offsets, uint64(len(t.heap.data)))
		t.heap.data = append(append(t.heap.data, name...), 0)
		t.heap.data = append(t.heap.data, make([]byte, -len(t.heap.data)&7)...)
	}
	var level []child
	for first := 0; first < len(t.names); first += 2 * leafK {
		last := min(first+2*leafK, len(t.names))
		leaf := &symbolNode{table: t, first: first, last: last}
		t.leaves = append(t.leaves, leaf)
		level = append(level, child{leaf, t.offsets[last-1]})
	}
	list := []node{&t.heap}
	for _, leaf := range t.leaves {
		list = append(list, leaf)
	}
	for height := 0; ; height++ {
		var above []child
		var left *treeNode
		for first := 0; first == 0 || first < len(level); first += 2 * internalK {
			n := &treeNode{level: height, children: level[first:min(first+2*internalK, len(level))], left: left}
			if first > 0 {
				n.before = level[first-1].largest
			}
			if left != nil {
				left.right = n
			}
			left = n
			list = append(list, n)
			largest := uint64(0)
			if len(n.children) > 0 {
				largest = n.children[len(n.children)-1].largest
			}
			above = append(above, child{n, largest})
		}
		if len(above) == 1 {
			t.top = left
			return list
		}
		level = above
	}
}

// A localHeap holds the names of a group's members:
//
//	| HEAP | 0 | 0 0 0 | size of data (8) | free list: 1, none (8) | address of data (8) |
type localHeap struct {
	at   uint64
	data []byte
}

func (h *localHeap) place(at uint64) { h.at = at }

func (h *localHeap) encode() []byte {
	b := append([]byte("HEAP"), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(h.data)))
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint64(b, h.at+32)
	return append(b, h.data...)
}

// A symbolNode is a leaf, with up to eight members:
//
//	| SNOD | 1 | 0 | entries (2) | entries … |
//	an entry: | name in the heap (8) | object header (8) | 0 (24) |
type symbolNode struct {
	at          uint64
	table       *symbolTable
	first, last int // of the sorted names
}

func (n *symbolNode) place(at uint64) { n.at = at }
func (n *symbolNode) address() uint64 { return n.at }

func (n *symbolNode) encode() []byte {
	b := make([]byte, 0, 8+2*leafK*40)
	b = append(append(b, "SNOD"...), 1, 0)
	b = binary.LittleEndian.AppendUint16(b, uint16(n.last-n.first))
	for i := n.first; i < n.last; i++ {
		b = binary.LittleEndian.AppendUint64(b, n.table.offsets[i])
		b = binary.LittleEndian.AppendUint64(b, n.table.members[n.table.names[i]].header().at)
		b = append(b, make([]byte, 24)...)
	}
	return b[:cap(b)]
}

// A child of a B-tree node, with the name of its largest member.
type child struct {
	node interface {
		node
		address() uint64
	}
	largest uint64
}

// A treeNode is a node of a B-tree of version 1:
//
//	| TREE | 0 | level | children (2) | left (8) | right (8) | key, child, key, child, …, key |
//
// The names of a child are after the key before it and up to the key behind it.
type treeNode struct {
	at          uint64
	level       int
	children    []child
	before      uint64 // the key before the first child
	left, right *treeNode
}

func (n *treeNode) place(at uint64) { n.at = at }
func (n *treeNode) address() uint64 { return n.at }

func (n *treeNode) encode() []byte {
	b := make([]byte, 0, 24+8*(4*internalK+1))
	b = append(append(b, "TREE"...), 0, byte(n.level))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(n.children)))
	for _, sibling := range []*treeNode{n.left, n.right} {
		at := uint64(format.Undefined)
		if sibling != nil {
			at = sibling.at
		}
		b = binary.LittleEndian.AppendUint64(b, at)
	}
	b = binary.LittleEndian.AppendUint64(b, n.before)
	for _, c := range n.children {
		b = binary.LittleEndian.AppendUint64(b, c.node.address())
		b = binary.LittleEndian.AppendUint64(b, c.largest)
	}
	return b[:cap(b)]
}
