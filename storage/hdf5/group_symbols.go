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
	err = s.tree(tree, -1)
	return s.links, err
}

type symbols struct {
	f       *File
	group   string // its path, which ends in "/"
	names   []byte
	links   []link
	visited map[uint64]bool
}

// visit returns an error for a node that was visited before. The file's size thus limits
// the work.
func (s *symbols) visit(address uint64) error {
	if s.visited[address] {
		return fmt.Errorf("B-tree: node at %d is its own ancestor or has two parents", address)
	}
	s.visited[address] = true
	return nil
}

// tree visits the node at an address and those below it. The level is -1 if it is not
// known yet.
func (s *symbols) tree(address uint64, level int) error {
	if err := s.visit(address); err != nil {
		return err
	}
	node, err := s.f.btree1(address, 0, s.f.length)
	if err != nil {
		return err
	}
	if level >= 0 && node.level != level {
		return fmt.Errorf("B-tree: node at %d is of level %d, want %d", address, node.level, level)
	}
	s.f.cacheAt(node.children, usualNode)
	for _, child := range node.children {
		if node.level == 0 {
			err = s.node(child)
		} else {
			err = s.tree(child, node.level-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *symbols) node(address uint64) error {
	if err := s.visit(address); err != nil {
		return err
	}
	prefix := s.f.cursor("symbol table node", address, 8)
	prefix.signature("SNOD", 1)
	prefix.skip(1)
	count := prefix.u16()
	if prefix.err != nil {
		return prefix.err
	}
	c := s.f.cursor("symbol table node", address+8, count*(2*s.f.offset+24))
	for range count {
		name, err := s.text(c.uint(c.offset))
		if err != nil {
			return err
		}
		l := link{path: s.group + name, base: len(s.group), address: c.address()}
		const cachesTarget = 2
		if c.count(4) == cachesTarget {
			c.skip(4)
			l.soft = &softLink{kind: linkSoft}
			if l.soft.target, err = s.text(uint64(c.u32())); err != nil {
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

// text returns the text at an offset of the local heap.
func (s *symbols) text(at uint64) (string, error) {
	c := s.f.newCursor("local heap", s.names)
	if at > uint64(len(s.names)) {
		return "", fmt.Errorf("local heap: offset %d of a name is beyond its %d bytes", at, len(s.names))
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

// btree1 reads a node with keys of the given size.
func (f *File) btree1(address uint64, kind, keySize int) (btree1Node, error) {
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
