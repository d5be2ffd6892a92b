package hdf5

import "fmt"

// A sharedIndex is an index of the file's table of shared messages. A message that several objects
// share is stored there, or in the header of a committed datatype; the object's own header then
// contains
//
//	version 1                 version 2                version 3
//	| 1                | 1    | 2               | 1    | 3                        | 1
//	| type             | 1    | type            | 1    | type                     | 1
//	| 0                | 6    | header's address| O    | (1) id in a heap         | 8
//	| 0                | L    |                        | (2, 3) header's address  | O
//	| header's address | O
//
// The superblock extension refers to the table:
//
//	| SMTB | index … | checksum |   an index: | 0 (1) | list or B-tree (1) | types (2) | smallest (4)
//	| list limit (2) | B-tree limit (2) | messages (2) | index (O) | heap (O) |
type sharedIndex struct {
	kinds uint64 // bit k: contains messages of type k
	heap  uint64 // address of their fractal heap
}

// body returns the body of a message, which may be shared.
func (f *File) body(m message) ([]byte, error) {
	if m.flags&flagShared == 0 {
		return m.body, nil
	}
	body, _, err := f.resolve(m.kind, f.newCursor("shared message", m.body))
	return body, err
}

// resolve follows a reference to a shared message of the given type. committed is the
// address of the committed datatype it was found in, or undefined.
func (f *File) resolve(kind uint16, c *cursor) (body []byte, committed uint64, err error) {
	version, where := c.u8(), c.u8()
	switch {
	case version == 3 && where == 1:
		id := c.bytes(8)
		if c.err != nil {
			return nil, undefined, c.err
		}
		body, err := f.sharedInHeap(kind, id)
		return body, undefined, err
	case version == 1:
		c.skip(6 + c.length)
	case version != 2 && version != 3:
		c.fail("version %d is not known", version)
	}
	committed = c.address()
	if c.err != nil {
		return nil, undefined, c.err
	}
	h, err := f.header(committed)
	if err != nil {
		return nil, undefined, fmt.Errorf("shared message: %w", err)
	}
	m, ok := h.find(kind)
	if !ok || m.flags&flagShared != 0 {
		return nil, undefined, fmt.Errorf("shared message: the object header at %d has no message of kind %d", committed, kind)
	}
	return m.body, committed, nil
}

func (f *File) sharedInHeap(kind uint16, id []byte) ([]byte, error) {
	for _, index := range f.shared {
		if index.kinds>>kind&1 != 0 {
			heap, err := f.fractalHeap(index.heap)
			if err != nil {
				return nil, err
			}
			return heap.object(id)
		}
	}
	return nil, fmt.Errorf("shared message: the file has no shared messages of type %d", kind)
}

// readExtension reads the superblock extension.
func (f *File) readExtension() error {
	if f.super.ext == undefined {
		return nil
	}
	h, err := f.header(f.super.ext)
	if err != nil {
		return fmt.Errorf("superblock extension: %w", err)
	}
	if m, ok := h.find(msgCacheImage); ok {
		if err := f.readImage(m); err != nil {
			return err
		}
	}
	if m, ok := h.find(msgFileSpace); ok {
		f.setPages(m)
	}
	m, ok := h.find(msgSharedTable)
	if !ok {
		return nil
	}
	c := f.newCursor("shared message table", m.body)
	c.skip(1)
	address, count := c.address(), c.u8()
	if c.err != nil {
		return c.err
	}
	return f.readSharedTable(address, count)
}

func (f *File) readSharedTable(address uint64, count int) error {
	if count > 8 {
		return fmt.Errorf("shared message table: %d indexes, more than the maximum of 8", count)
	}
	one := 1 + 1 + 2 + 4 + 2 + 2 + 2 + 2*f.offset
	c := f.cursor("shared message table", address, 4+count*one+4)
	if got := c.bytes(4); c.err == nil && string(got) != "SMTB" {
		c.fail("signature %q, want %q", got, "SMTB")
	}
	for range count {
		c.skip(2)
		kinds := c.uint(2)
		c.skip(4 + 2 + 2 + 2)
		c.address()
		f.shared = append(f.shared, sharedIndex{kinds, c.address()})
	}
	c.checksum()
	return c.err
}
