package hdf5

import (
	"fmt"

	"github.com/h5dnn/h5dnn/storage/hdf5/filter"
)

// A pipeline message lists the filters of a dataset's chunks, first to last as
// they were applied.
//
//	version 1                          version 2
//	| 1                      | 1       | 2                         | 1
//	| filters                | 1       | filters                   | 1
//	| 0                      | 6       | filter …
//	| filter …
//
//	a filter of version 1              of version 2
//	| number                 | 2       | number                    | 2
//	| length of the name     | 2       | (number > 255) length     | 2
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
		c.fail("%d filters, more than the 32 there can be", count)
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

// checkRatio refuses to decode a few bytes into very many: no filter worth its
// name gains more than a factor of a few thousand, and deflate at most 1032.
func checkRatio(size, stored int) error {
	const free, most = 64 << 20, 4096
	if size > free && size/most > stored {
		return fmt.Errorf("%d bytes stored for %d are too few to be believed", stored, size)
	}
	return nil
}
