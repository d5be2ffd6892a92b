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
	f.cacheAt([]uint64{tree, heap}, usualNode)
	text, err := f.localHeap(heap)
	if err != nil {
		return nil, err
	}
	var nodes []uint64
	failed := f.btree1(tree, 0, f.length, func(leaf btree1Node) error {
		nodes = append(nodes, leaf.children...)
		return nil
	})
	f.cacheExtents(append(extentsAt(nodes, usualNode), text))
	s := symbols{f: f, group: group, visited: map[uint64]bool{}}
	if s.names, err = f.heapData(text); err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if err := s.node(node); err != nil {
			return s.links, err
		}
	}
	return s.links, failed
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
		const cachesTable, cachesTarget = 1, 2
		kind := c.count(4)
		c.skip(4)
		cache := s.f.newCursor("cache of a link", c.bytes(16))
		switch kind {
		case cachesTable:
			s.f.remote.noteTable(l.address, cache.address(), cache.address())
		case cachesTarget:
			l.soft = &softLink{kind: linkSoft}
			if l.soft.target, err = s.f.heapText(s.names, uint64(cache.u32())); err != nil {
				return err
			}
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

// localHeap returns where the data of the local heap at an address are.
func (f *File) localHeap(address uint64) (data byteExtent, err error) {
	c := f.cursor("local heap", address, 8+2*f.length+f.offset)
	c.signature("HEAP", 0)
	c.skip(3)
	data.size = c.size()
	c.skip(f.length)
	data.address = c.address()
	return data, c.err
}

// heapData returns the data of a local heap.
func (f *File) heapData(data byteExtent) ([]byte, error) {
	buf, err := f.bytes(data.address, data.size)
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

// btree1 calls leaf with the leaves of the tree whose root is at an address, in order. It reads level by level, so that the
// nodes of a level are fetched at once. A node that is visited twice is an error, so that the size of the file limits the work.
// After an error the leaves before it are visited.
func (f *File) btree1(root uint64, kind, keySize int, leaf func(btree1Node) error) (failed error) {
	visited := map[uint64]bool{}
	level := -1 // of nodes; any for the root
	for nodes := []uint64{root}; ; level-- {
		f.cacheAt(nodes, usualNode)
		var below []uint64
		for _, address := range nodes {
			node, err := f.btree1Node(address, kind, keySize)
			if level < 0 {
				level = node.level
			}
			switch {
			case err != nil:
			case visited[address]:
				err = fmt.Errorf("B-tree: node at %d is its own ancestor or has two parents", address)
			case node.level != level:
				err = fmt.Errorf("B-tree: node at %d is of level %d, want %d", address, node.level, level)
			case level == 0:
				err = leaf(node)
			}
			if err != nil {
				failed = err // it comes before the errors of the levels above
				break
			}
			visited[address] = true
			below = append(below, node.children...)
		}
		if level <= 0 {
			return failed
		}
		nodes = below
	}
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
