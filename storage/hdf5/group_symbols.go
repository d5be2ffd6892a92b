package hdf5

import "fmt"

// symbolLinks returns the links of an old-style group, which stores them in symbol table nodes
// under a version 1 B-tree, and their names in a local heap. Its message is
//
//	| B-tree (O) | heap (O) |
//
//	a B-tree node of a group           a symbol table node        a link in it
//	| TREE                  | 4        | SNOD            | 4      | offset of the name| O
//	| 0                     | 1        | 1               | 1      | object's header   | O
//	| level                 | 1        | 0               | 1      | cache type        | 4
//	| children              | 2        | links           | 2      | 0                 | 4
//	| left, right           | 2O       | link …          |        | cache             | 16
//	| key, child, …, key    | L, O
//
//	a local heap: | HEAP | 0 (1) | 0 (3) | size (L) | free list (L) | data (O) |
func (f *File) symbolLinks(group string, m message) ([]link, error) {
	c := f.newCursor("symbol table", m.body)
	tree, heap := c.address(), c.address()
	if c.err != nil {
		return nil, c.err
	}
	names, err := f.localHeap(heap)
	if err != nil {
		return nil, err
	}
	s := symbols{f: f, group: group, names: names, visited: map[uint64]bool{}}
	err = f.btree1(tree, 0, f.length, func(leaf btree1Node) error {
		f.cacheAt(leaf.children, usualNode)
		for _, child := range leaf.children {
			if err := s.node(child); err != nil {
				return err
			}
		}
		return nil
	})
	return s.links, err
}

type symbols struct {
	f       *File
	group   string // its path, which ends in "/"
	names   []byte
	links   []link
	visited map[uint64]bool
}

func (s *symbols) node(address uint64) error {
	if s.visited[address] {
		return fmt.Errorf("B-tree: symbol table node at %d has two parents", address)
	}
	s.visited[address] = true
	prefix := s.f.cursor("symbol table node", address, 8)
	prefix.signature("SNOD", 1)
	prefix.skip(1)
	count := prefix.u16()
	if prefix.err != nil {
		return prefix.err
	}
	c := s.f.cursor("symbol table node", address+8, count*(2*s.f.offset+24))
	for range count {
		name, err := s.f.heapText(s.names, c.uint(c.offset))
		if err != nil {
			return err
		}
		l := link{path: s.group + name, base: len(s.group), address: c.address()}
		const cachesTarget = 2
		if c.count(4) == cachesTarget {
			c.skip(4)
			l.soft = &softLink{kind: linkSoft}
			if l.soft.target, err = s.f.heapText(s.names, uint64(c.u32())); err != nil {
				return err
			}
			c.skip(12)
		} else {
			c.skip(20)
		}
		if c.err != nil {
			return c.err
		}
		s.links = append(s.links, l)
	}
	return c.err
}

// heapText returns the text at an offset of the data of a local heap.
func (f *File) heapText(data []byte, at uint64) (string, error) {
	c := f.newCursor("local heap", data)
	if at > uint64(len(data)) {
		return "", fmt.Errorf("local heap: offset %d of a name is beyond its %d bytes", at, len(data))
	}
	c.skip(int(at))
	text := c.text()
	return text, c.err
}

// localHeap returns the data of the local heap at an address.
func (f *File) localHeap(address uint64) ([]byte, error) {
	c := f.cursor("local heap", address, 8+2*f.length+f.offset)
	c.signature("HEAP", 0)
	c.skip(3)
	size := c.size()
	c.skip(f.length)
	data := c.address()
	if c.err != nil {
		return nil, c.err
	}
	buf, err := f.bytes(data, size)
	if err != nil {
		return nil, fmt.Errorf("local heap: %w", err)
	}
	return buf, nil
}

// A btree1Node is a node of a version 1 B-tree: of a group (see above) or of chunks (see
// index_btree1.go).
type btree1Node struct {
	level    int
	children []uint64
	keys     []byte // keys and children, as stored
}

// btree1 calls leaf with the leaves of the tree whose root is at an address, in order. A node that is
// visited twice is an error, so that the size of the file limits the work.
func (f *File) btree1(root uint64, kind, keySize int, leaf func(btree1Node) error) error {
	visited := map[uint64]bool{}
	var visit func(address uint64, level int) error // -1 for any
	visit = func(address uint64, level int) error {
		if visited[address] {
			return fmt.Errorf("B-tree: node at %d is its own ancestor or has two parents", address)
		}
		visited[address] = true
		node, err := f.btree1Node(address, kind, keySize)
		switch {
		case err != nil:
			return err
		case level >= 0 && node.level != level:
			return fmt.Errorf("B-tree: node at %d is of level %d, want %d", address, node.level, level)
		case node.level == 0:
			return leaf(node)
		}
		f.cacheAt(node.children, usualNode)
		for _, child := range node.children {
			if err := visit(child, node.level-1); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(root, -1)
}

// btree1Node reads a node with keys of the given size.
func (f *File) btree1Node(address uint64, kind, keySize int) (btree1Node, error) {
	prefixSize := 8 + 2*f.offset
	c := f.cursor("B-tree", address, prefixSize)
	if got := c.bytes(4); c.err == nil && string(got) != "TREE" {
		c.fail("signature %q, want %q", got, "TREE")
	}
	if got := c.u8(); c.err == nil && got != kind {
		c.fail("node at %d is of kind %d, want %d", address, got, kind)
	}
	n := btree1Node{level: c.u8()}
	count := c.u16()
	if c.err != nil {
		return n, c.err
	}
	c = f.cursor("B-tree", address+uint64(prefixSize), count*(keySize+f.offset)+keySize)
	n.keys, n.children = c.buf, make([]uint64, 0, count)
	for range count {
		c.skip(keySize)
		n.children = append(n.children, c.address())
	}
	if c.err != nil {
		return n, c.err
	}
	return n, nil
}
