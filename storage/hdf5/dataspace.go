package hdf5

import (
	"math"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A dataspace message holds the shape of a dataset or an attribute.
//
//	version 1                    version 2
//	| 1                | 1       | 2                               | 1
//	| rank             | 1       | rank                            | 1
//	| flags            | 1       | flags                           | 1
//	| 0                | 5       | 0 scalar, 1 simple, 2 null      | 1
//	| size …           | L       | size …                          | L
//	| (flag 0) max …   | L       | (flag 0) max …                  | L
//
// A maximum with all bits set means that the axis is unlimited.
type dataspace struct {
	null     bool
	shape    []int
	maxShape []int // Unlimited for axes without a limit
}

// Unlimited in a MaxShape is an axis without a limit.
const Unlimited = -1

func parseDataspace(c *cursor) (dataspace, error) {
	version, rank, flags := c.u8(), c.u8(), c.u8()
	s := dataspace{shape: []int{}, maxShape: []int{}}
	switch version {
	case 1:
		c.skip(5)
	case 2:
		s.null = c.u8() == 2
	default:
		c.fail("version %d is not known", version)
	}
	if rank > format.MaxRank {
		c.fail("rank %d is more than %d", rank, format.MaxRank)
	}
	if c.err != nil {
		return s, c.err
	}
	for range rank {
		s.shape = append(s.shape, c.count(c.length))
	}
	s.maxShape = append(s.maxShape, s.shape...)
	if flags&1 != 0 {
		for axis := range s.maxShape {
			s.maxShape[axis] = c.maxSize()
		}
	}
	return s, c.err
}

// maxSize reads the maximum size of an axis.
func (c *cursor) maxSize() int {
	x := c.uint(c.length)
	if n := c.length; x > math.MaxInt64 || n < 8 && x == 1<<(8*n)-1 {
		return Unlimited
	}
	return int(x)
}
