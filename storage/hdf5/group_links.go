package hdf5

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// A link is a named member of a group. A new-style group stores a few links as messages in its
// header. More links, in the same encoding, are in a fractal heap, which a version 2 B-tree
// indexes by name. The link info message is
//
//	| 0 (1) | flags (1) | (flag 0) largest creation order (8) | heap (O) | B-tree by name (O) | (flag 1) by order (O) |
//
// and the encoding of a link
//
//	| 1                     |  1
//	| flags                 |  1
//	| (flag 3) type         |  1   0 hard, 1 soft, 64 external, 65-255 user-defined
//	| (flag 2) order        |  8
//	| (flag 4) character set|  1
//	| length of the name    |  1, 2, 4 or 8, by flags 0 and 1
//	| name                  |
//	| hard: header          |  O
//	| soft: length, path    |  2, …
//	| external: length, 0, file, 0, path, 0 | 2, 1, …
type link struct {
	path    string // of the group and the name, which begins at base
	base    int
	order   int    // creation order, if the group tracks it
	address uint64 // of a hard link's object
	soft    *softLink
}

func (l link) name() string { return l.path[l.base:] }

// pathIn returns the path of the link's object in the group at a path: the one that is kept, unless the
// group has several.
func (l link) pathIn(group string) string {
	group = strings.TrimSuffix(group, "/")
	if kept := l.path[:l.base]; len(kept) == len(group)+1 && kept[:len(group)] == group {
		return l.path
	}
	return group + "/" + l.name()
}

// A softLink is what a link that is not a hard one says of the object.
type softLink struct {
	kind   int
	target string // of a soft or external link
	file   string // of an external link
}

const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
)

// parseLink reads a link of a group, whose path ends in "/".
func parseLink(c *cursor, group string) link {
	if v := c.u8(); v != 1 {
		c.fail("version %d is not known", v)
	}
	flags := c.u8()
	l, kind := link{base: len(group)}, linkHard
	if flags&(1<<3) != 0 {
		kind = c.u8()
	}
	if flags&(1<<2) != 0 {
		l.order = int(c.u64())
	}
	if flags&(1<<4) != 0 {
		c.skip(1)
	}
	l.path = group + string(c.bytes(c.count(1<<(flags&3))))
	if kind == linkHard {
		l.address = c.address()
		return l
	}
	l.soft = &softLink{kind: kind}
	switch {
	case kind == linkSoft:
		l.soft.target = string(c.bytes(c.u16()))
	case kind == linkExternal:
		c.what, c.buf = "external link", c.bytes(c.u16())
		c.at = 0
		c.skip(1)
		l.soft.file, l.soft.target = c.text(), c.text()
	case kind < linkExternal:
		c.fail("kind %d is not known", kind)
	}
	return l
}

// messageLinks returns the links among the messages of a group's header.
func (f *File) messageLinks(group string, h *header) (links []link, err error) {
	for _, m := range h.messages {
		if m.kind == msgLink {
			c := f.newCursor("link", m.body)
			links = append(links, parseLink(c, group))
			if c.err != nil {
				return links, c.err
			}
		}
	}
	return links, nil
}

// denseStorage returns the heap of links or attributes that a message refers to, and the address of the
// B-tree of their names; nil without such a heap. The largest creation order has orderSize bytes.
func (f *File) denseStorage(what string, m message, orderSize int) (heap *fractalHeap, names uint64, err error) {
	c := f.newCursor(what, m.body)
	c.skip(1)
	if c.u8()&1 != 0 {
		c.skip(orderSize)
	}
	heapAt, names := c.address(), c.address()
	if c.err != nil || heapAt == undefined || names == undefined {
		return nil, names, c.err
	}
	f.cacheAt([]uint64{heapAt, names}, usualHeader)
	heap, err = f.fractalHeap(heapAt)
	return heap, names, err
}

// denseLinks returns the links that the link info message of a group refers to.
func (f *File) denseLinks(group string, m message) (links []link, err error) {
	const orderSize = 8
	heap, names, err := f.denseStorage("link info", m, orderSize)
	if err != nil || heap == nil {
		return nil, err
	}
	const byName, hashSize = 5, 4
	ids, size := []byte{}, 0
	var fetched sync.WaitGroup
	fetched.Go(heap.cacheBlocks) // while the tree is read
	err = f.btree2(names, byName, func(record *cursor) error {
		record.skip(hashSize)
		id := record.rest()
		ids, size = append(ids, id...), len(id)
		return nil
	})
	fetched.Wait()
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	// The tree is in the order of hashes of the names. In the order of the heap each block is read once.
	sorted := slices.SortedFunc(slices.Chunk(ids, size), func(a, b []byte) int { return cmp.Compare(heap.offset(a), heap.offset(b)) })
	links = make([]link, 0, len(sorted))
	for _, id := range sorted {
		body, err := heap.object(id)
		if err != nil {
			return links, err
		}
		c := f.newCursor("link", body)
		links = append(links, parseLink(c, group))
		if c.err != nil {
			return links, c.err
		}
	}
	return links, err
}
