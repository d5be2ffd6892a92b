// Package format has what the reader and the writer of HDF5 files share: limits of the
// format, sizes that are checked for overflow, and the checksum of metadata (HDF5 File
// Format Specification, version 3.0).
package format

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// MaxRank is the largest number of dimensions of a dataspace (H5S_MAX_RANK).
const MaxRank = 32

// Undefined is the address of structures that were never allocated: all bits set.
const Undefined = ^uint64(0)

// Product returns the product of sizes, or an error if an int cannot hold it.
func Product(sizes ...int) (int, error) {
	n := uint64(1)
	for _, size := range sizes {
		if size == 0 {
			return 0, nil
		}
	}
	for _, size := range sizes {
		over, low := bits.Mul64(n, uint64(size))
		if over != 0 || size < 0 || low > math.MaxInt64 {
			return 0, fmt.Errorf("%v: %w", sizes, errTooLarge)
		}
		n = low
	}
	return int(n), nil
}

// CheckShape returns an error if the elements of a shape, or their bytes, could not be
// counted by an int. An axis of length zero counts as one, because strides are products of
// the other axes.
func CheckShape(elemSize int, shape ...int) error {
	lengths := []int{max(1, elemSize)}
	for _, n := range shape {
		if n < 0 {
			return fmt.Errorf("shape %v has a negative length", shape)
		}
		lengths = append(lengths, max(1, n))
	}
	if _, err := Product(lengths...); err != nil {
		return fmt.Errorf("shape %v of elements of %d bytes: %w", shape, elemSize, errTooLarge)
	}
	return nil
}

var errTooLarge = errors.New("more bytes than any memory has")

// BytesFor returns the number of bytes that hold n, at least one.
func BytesFor(n int) int { return max(1, (bits.Len64(uint64(n))+7)/8) }
