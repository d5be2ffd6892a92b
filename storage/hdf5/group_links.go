package hdf5

// A new-style group stores a few links as messages in its header. More links, in the same
// encoding, are in a fractal heap, which a version 2 B-tree indexes by name. Its link info
// message is
//
//	| 0 (1) | flags (1) | (flag 0) largest creation order (8) | heap (O) | B-tree by name (O) | (flag 1) by order (O) |
//
// A link is
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
	name    string
	kind    int
	order   int    // creation order, if the group tracks it
	address uint64 // of a hard link's object
	target  string // of a soft or external link
	file    string // of an external link
}

const (
	linkHard     = 0
	linkSoft     = 1
	linkExternal = 64
)

func parseLink(c *cursor) link {
	if v := c.u8(); v != 1 {
		c.fail("version %d is not known", v)
	}
	flags := c.u8()
	var l link
	if flags&(1<<3) != 0 {
		l.kind = c.u8()
	}
	if flags&(1<<2) != 0 {
		l.order = int(c.u64())
	}
	if flags&(1<<4) != 0 {
		c.skip(1)
	}
	l.name = string(c.bytes(c.count(1 << (flags & 3))))
	switch {
	case l.kind == linkHard:
		l.address = c.address()
	case l.kind == linkSoft:
		l.target = string(c.bytes(c.u16()))
	case l.kind == linkExternal:
		c.what, c.buf = "external link", c.bytes(c.u16())
		c.at = 0
		c.skip(1)
		l.file, l.target = c.text(), c.text()
	case l.kind < linkExternal:
		c.fail("kind %d is not known", l.kind)
	}
	return l
}

// messageLinks returns the links among a header's messages.
func (f *File) messageLinks(h *header) (links []link, err error) {
	for _, m := range h.messages {
		if m.kind == msgLink {
			c := f.newCursor("link", m.body)
			links = append(links, parseLink(c))
			if c.err != nil {
				return links, c.err
			}
		}
	}
	return links, nil
}

// denseLinks returns the links that a link info message refers to.
func (f *File) denseLinks(m message) (links []link, err error) {
	c := f.newCursor("link info", m.body)
	c.skip(1)
	if c.u8()&1 != 0 {
		c.skip(8)
	}
	heapAt, names := c.address(), c.address()
	if c.err != nil || heapAt == undefined || names == undefined {
		return nil, c.err
	}
	heap, err := f.fractalHeap(heapAt)
	if err != nil {
		return nil, err
	}
	const byName, hashSize = 5, 4
	err = f.btree2(names, byName, func(record *cursor) error {
		record.skip(hashSize)
		id := record.rest()
		body, err := heap.object(id)
		if err != nil {
			return err
		}
		c := f.newCursor("link", body)
		links = append(links, parseLink(c))
		return c.err
	})
	return links, err
}
