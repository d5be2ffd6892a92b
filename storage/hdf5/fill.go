package hdf5

// parseFill returns the fill value of a message, the value of elements that were never written,
// as stored, or nil for zeros:
//
//	old (kind 4)     version 1 and 2            version 3
//	| size   | 4     | version           | 1    | 3                                     | 1
//	| value  |       | allocation time   | 1    | flags: 0-1 allocation, 2-3 fill time, | 1
//	                 | fill time         | 1    |        4 undefined, 5 has a value     |
//	                 | defined           | 1    | (flag 5) size                         | 4
//	                 | size              | 4    | (flag 5) value                        |
//	                 | value             |         version 2 has size and value only if defined
func parseFill(c *cursor, kind uint16, elemSize int) ([]byte, error) {
	given := true
	if kind == msgFill {
		switch version := c.u8(); version {
		case 1, 2:
			c.skip(2)
			given = c.u8() != 0 || version == 1
		case 3:
			given = c.u8()&(1<<5) != 0
		default:
			c.fail("version %d is not known", version)
		}
	}
	if !given || c.err != nil {
		return nil, c.err
	}
	size := c.u32()
	if size == 0 || size == 1<<32-1 { // undefined: zeros
		return nil, c.err
	}
	value := c.bytes(size)
	if c.err == nil && size != elemSize {
		c.fail("fill value of %d bytes for elements of %d", size, elemSize)
	}
	return value, c.err
}

// fill returns the fill value of a dataset with elements of the given size.
func (f *File) fill(h *header, elemSize int) ([]byte, error) {
	for _, kind := range []uint16{msgFill, msgFillOld} {
		m, ok := h.find(kind)
		if !ok {
			continue
		}
		body, err := f.body(m)
		if err != nil {
			return nil, err
		}
		return parseFill(f.newCursor("fill value", body), kind, elemSize)
	}
	return nil, nil
}
