package hdf5

import (
	"errors"
	"fmt"
	"slices"
)

// A header is the list of messages that describe an object: its type, shape,
// layout, links, attributes. It consists of one or more blocks; a continuation message
// refers to the next.
//
//	version 1                            version 2
//	| 1                        |  1      | OHDR                      |  4
//	| 0                        |  1      | 2                         |  1
//	| messages                 |  2      | flags                     |  1
//	| references               |  4      | (flag 5) four times       | 16
//	| size of first block      |  4      | (flag 4) attribute limits |  4
//	| 0                        |  4      | size of first block       |  1, 2, 4 or 8
//	| messages …               |         | messages …                |
//	                                     | checksum                  |  4
//
//	a message of version 1               of version 2
//	| type                     |  2      | type                      |  1
//	| size                     |  2      | size                      |  2
//	| flags                    |  1      | flags                     |  1
//	| 0                        |  3      | (flag 2) creation order   |  2
//	| body …                   |         | body …                    |
//
// A further block of version 2 is | OCHK | messages … | checksum |.
type header struct {
	address    uint64
	messages   []message
	references int // hard links to the object
}

type message struct {
	kind  uint16
	flags uint8
	body  []byte
}

// Message types (format specification IV.A.2).
const (
	msgNil           = 0x00
	msgDataspace     = 0x01
	msgLinkInfo      = 0x02
	msgDatatype      = 0x03
	msgFillOld       = 0x04
	msgFill          = 0x05
	msgLink          = 0x06
	msgExternal      = 0x07
	msgLayout        = 0x08
	msgPipeline      = 0x0b
	msgAttribute     = 0x0c
	msgComment       = 0x0d
	msgSharedTable   = 0x0f
	msgContinuation  = 0x10
	msgSymbolTable   = 0x11
	msgAttributeInfo = 0x15
	msgReferences    = 0x16
	msgFileSpace     = 0x17
	msgCacheImage    = 0x18
	msgLastKnown     = 0x18
)

// Flags of messages.
const (
	flagShared        = 1 << 1 // the body refers to the message
	flagFailIfUnknown = 1 << 7
)

// find returns the first message of a type.
func (h *header) find(kind uint16) (message, bool) {
	for _, m := range h.messages {
		if m.kind == kind {
			return m, true
		}
	}
	return message{}, false
}

// header reads the object header at an address.
func (f *File) header(address uint64) (*header, error) {
	var h *header
	err := f.again(func() (err error) {
		h, err = f.parseHeader(address)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("object header at %d: %w", address, err)
	}
	return h, nil
}

func (f *File) parseHeader(address uint64) (*header, error) {
	start, err := f.bytes(address, 6)
	if err != nil {
		return nil, err
	}
	b := &headerReader{f: f, h: &header{address: address}}
	if start[0] == 1 {
		err = b.version1(address)
	} else {
		err = b.version2(address, start[5])
	}
	b.h.messages = slices.Clone(b.h.messages) // without room for more: files have many headers
	return b.h, err
}

// A headerReader reads the messages of one object header.
type headerReader struct {
	f      *File
	h      *header
	blocks []byteExtent // in order; they must not overlap
	size   int          // of all blocks
	flags  byte         // of version 2
}

// A byteExtent is a range of bytes in the file.
type byteExtent struct {
	address uint64
	size    int
}

// maxHeader limits the size of an object header, in bytes.
const maxHeader = 64 << 20

// add queues a block. Blocks must not overlap, so the file's size limits the work.
func (r *headerReader) add(b byteExtent) error {
	for _, have := range r.blocks {
		if b.address < have.address+uint64(have.size) && have.address < b.address+uint64(b.size) {
			return fmt.Errorf("its block at %d overlaps the one at %d", b.address, have.address)
		}
	}
	r.blocks = append(r.blocks, b)
	if r.size += b.size; r.size > maxHeader {
		return fmt.Errorf("has more than %d bytes", maxHeader)
	}
	if len(r.blocks) > 4096 {
		return errors.New("has more than 4096 continuations")
	}
	return nil
}

func (r *headerReader) version1(address uint64) error {
	c := r.f.cursor("prefix", address, 16)
	c.skip(2)
	count := c.u16()
	r.h.references = c.u32()
	if err := r.add(byteExtent{address + 16, c.count(4)}); err != nil {
		return err
	}
	for k := 0; k < len(r.blocks) && c.err == nil; k++ {
		c = r.f.cursor("messages", r.blocks[k].address, r.blocks[k].size)
		for c.remaining() >= 8 && c.err == nil && len(r.h.messages) < count {
			kind, size, flags := c.u16(), c.u16(), c.u8()
			c.skip(3)
			if err := r.message(c, kind, flags, c.bytes(size)); err != nil {
				return err
			}
		}
	}
	return c.err
}

func (r *headerReader) version2(address uint64, flags byte) error {
	r.flags = flags
	size := 6 + int(1)<<(flags&3)
	if flags&(1<<5) != 0 {
		size += 16
	}
	if flags&(1<<4) != 0 {
		size += 4
	}
	c := r.f.cursor("prefix", address, size)
	c.signature("OHDR", 2)
	c.skip(size - 5 - 1<<(flags&3))
	first := c.count(1 << (flags & 3))
	if c.err != nil {
		return c.err
	}
	if err := r.add(byteExtent{address, size + first + 4}); err != nil {
		return err
	}
	r.h.references = 1 // if no message says more
	for k := 0; k < len(r.blocks); k++ {
		c = r.f.cursor("messages", r.blocks[k].address, r.blocks[k].size)
		if k == 0 {
			c.skip(size)
		} else if got := c.bytes(4); c.err == nil && string(got) != "OCHK" {
			c.fail("signature %q, want %q", got, "OCHK")
		}
		if err := r.messages2(c); err != nil {
			return err
		}
	}
	return nil
}

// messages2 reads the messages of a version 2 block and the checksum after them.
func (r *headerReader) messages2(c *cursor) error {
	const checksum = 4
	prefix := 4
	if r.flags&(1<<2) != 0 {
		prefix += 2
	}
	for c.err == nil && c.remaining() >= prefix+checksum {
		kind, size, flags := c.u8(), c.u16(), c.u8()
		c.skip(prefix - 4)
		if size > c.remaining()-checksum {
			c.fail("message of %d bytes does not fit its block", size)
		}
		if err := r.message(c, kind, flags, c.bytes(size)); err != nil {
			return err
		}
	}
	c.skip(c.remaining() - checksum) // a gap too small for a message
	c.checksum()
	return c.err
}

func (r *headerReader) message(c *cursor, kind, flags int, body []byte) error {
	switch {
	case c.err != nil:
		return c.err
	case kind == msgContinuation:
		next := r.f.newCursor("continuation", body)
		b := byteExtent{next.address(), next.size()}
		if next.err != nil {
			return next.err
		}
		if _, err := r.f.span(b.address, b.size); err != nil {
			return fmt.Errorf("continuation: %w", err)
		}
		return r.add(b)
	case kind > msgLastKnown && flags&flagFailIfUnknown != 0:
		return fmt.Errorf("message of unknown type %d, which must not be ignored", kind)
	}
	// Continuation and nil messages are kept, because version 1 counts them.
	r.h.messages = append(r.h.messages, message{uint16(kind), uint8(flags), body})
	return nil
}
