package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// parsePipeline reads a filter pipeline message: the filters of a dataset's chunks in the order
// of their application.
//
//	version 1                          version 2
//	| 1                      | 1       | 2                         | 1
//	| filters                | 1       | filters                   | 1
//	| 0                      | 6       | filter …
//	| filter …
//
//	a filter of version 1              of version 2
//	| id                     | 2       | id                        | 2
//	| length of the name     | 2       | (id > 255) length         | 2
//	| flags                  | 2       | flags                     | 2
//	| params                 | 2       | params                    | 2
//	| name, padded to 8      |         | name                      |
//	| param …, padded to 8   | 4       | param …                   | 4
func parsePipeline(c *cursor) ([]filter.Filter, error) {
	version, count := c.u8(), c.u8()
	switch {
	case version != 1 && version != 2:
		c.fail("version %d is not known", version)
	case count > 32:
		c.fail("%d filters, more than the maximum of 32", count)
	case version == 1:
		c.skip(6)
	}
	pipeline := []filter.Filter{}
	for range count {
		f := filter.Filter{ID: c.u16()}
		nameSize := 0
		if version == 1 || f.ID > 255 {
			nameSize = c.u16()
		}
		f.Flags = c.u16()
		params := c.u16()
		if version == 1 {
			nameSize = (nameSize + 7) &^ 7
		}
		f.Name = trimNUL(c.bytes(nameSize))
		if f.Name == "" {
			f.Name = filter.Name(f.ID)
		}
		values := c.bytes(4 * params)
		if version == 1 && params%2 == 1 {
			c.skip(4)
		}
		for k := 0; k < len(values); k += 4 {
			f.Params = append(f.Params, uint32(values[k])|uint32(values[k+1])<<8|uint32(values[k+2])<<16|uint32(values[k+3])<<24)
		}
		if c.err != nil {
			return nil, c.err
		}
		pipeline = append(pipeline, f)
	}
	return pipeline, c.err
}

// checkRatio returns an error for implausible compression ratios, such as those of
// decompression bombs. deflate reaches at most 1032, other filters a few thousand.
func checkRatio(size, stored int) error {
	const exempt, maxRatio = 64 << 20, 4096
	if size > exempt && size/maxRatio > stored {
		return fmt.Errorf("%d stored bytes for %d are implausibly few", stored, size)
	}
	return nil
}
