package hdf5

import (
	"slices"

	"github.com/h5dnn/h5dnn/storage/hdf5/internal/format"
)

// A selection selects elements of a dataset: all, or a regular hyperslab.
type selection struct {
	all  bool
	axes []axisSelection
}

// An axisSelection selects count blocks of coordinates along an axis, whose starts are
// stride apart. Either count or block may be Unlimited.
type axisSelection struct{ start, stride, count, block int }

// coordinates are those of an axisSelection that lie within an extent: n in total.
type coordinates struct{ start, stride, block, n int }

// at returns the k-th coordinate.
func (r coordinates) at(k int) int { return r.start + k/r.block*r.stride + k%r.block }

// clip returns the coordinates below an extent.
func (b axisSelection) clip(extent int) coordinates {
	r := coordinates{b.start, b.stride, b.block, 0}
	switch {
	case b.block == Unlimited:
		r.block = max(1, extent-b.start)
		r.n = max(0, extent-b.start)
	case b.count != Unlimited:
		r.n = b.count * b.block
	case extent > b.start:
		full := (extent - b.start) / b.stride
		r.n = full*b.block + min(b.block, extent-b.start-full*b.stride)
	}
	return r
}

func (b axisSelection) unlimited() bool { return b.count == Unlimited || b.block == Unlimited }

// unlimitedAxis returns the unlimited axis of a selection, or -1.
func (s selection) unlimitedAxis() int { return slices.IndexFunc(s.axes, axisSelection.unlimited) }

// parseSelection reads a selection:
//
//	| 3, all       (4) | version (4) | 0 (4) | length (4) |
//	| 2, hyperslab (4) | 1 (4) | 0 (4) | length (4) | rank (4) | blocks (4) | first, last (4 each) … of every block |
//	| 2, hyperslab (4) | 2 (4) | 1 (1) | length (4) | rank (4) | start, stride, count, size (8 each) … of every axis |
//	| 2, hyperslab (4) | 3 (4) | flags (1) | bytes of numbers, b (1) | rank (4) | the same in b bytes: flag 0 as 2, else as 1 |
func parseSelection(c *cursor) selection {
	kind, version := c.u32(), c.u32()
	switch {
	case kind == 3:
		c.skip(8)
		return selection{all: true}
	case kind != 2:
		c.fail("selection of kind %d is not supported", kind)
		return selection{}
	}
	width, regular := 4, false
	switch version {
	case 1:
		c.skip(8)
	case 2:
		width, regular = 8, c.u8()&1 != 0
		c.skip(4)
	case 3:
		regular, width = c.u8()&1 != 0, c.u8()
	default:
		c.fail("selection of version %d is not known", version)
	}
	rank := c.u32()
	if rank < 1 || rank > format.MaxRank || width != 2 && width != 4 && width != 8 {
		c.fail("selection of rank %d in numbers of %d bytes", rank, width)
	}
	if c.err != nil {
		return selection{}
	}
	if regular {
		return c.regular(rank, width)
	}
	return c.listed(rank, width)
}

func (c *cursor) regular(rank, width int) selection {
	s := selection{axes: make([]axisSelection, rank)}
	endless := func(x uint64) int {
		if x > 1<<40 && x != 1<<(8*width)-1 && x != undefined {
			c.fail("selection of %d", x)
		}
		if x == 1<<(8*width)-1 || x == undefined {
			return Unlimited
		}
		return int(x)
	}
	for axis := range s.axes {
		b := axisSelection{start: endless(c.uint(width)), stride: endless(c.uint(width))}
		b.count, b.block = endless(c.uint(width)), endless(c.uint(width))
		s.axes[axis] = b
		s.check(c, b)
	}
	return s
}

func (s selection) check(c *cursor, b axisSelection) {
	if c.err == nil && (b.start < 0 || b.stride < 1 || b.count == 0 || b.block == 0 || b.count == Unlimited && b.block == Unlimited ||
		b.count > 1<<31 || b.block > 1<<31 && b.count != 1 || b.block > b.stride && b.count != 1 || b.block == Unlimited && b.count != 1) {
		c.fail("selection of %d blocks of %d, %d apart, from %d on", b.count, b.block, b.stride, b.start)
	}
}

// listed reads a list of blocks, which must form a regular hyperslab.
func (c *cursor) listed(rank, width int) selection {
	count := c.count(width)
	if count > c.remaining()/(2*rank*width) {
		c.fail("selection of %d blocks in %d bytes", count, c.remaining())
		return selection{}
	}
	first, last := make([][]int, rank), make([][]int, rank)
	for range count {
		for axis := range first {
			first[axis] = append(first[axis], c.count(width))
		}
		for axis := range last {
			last[axis] = append(last[axis], c.count(width))
		}
	}
	s, total := selection{axes: make([]axisSelection, rank)}, 1
	for axis := range s.axes {
		b, ok := regularBlocks(first[axis], last[axis])
		if !ok {
			c.fail("irregular selection of %d blocks is not supported", count)
			return s
		}
		s.axes[axis] = b
		s.check(c, b)
		total *= b.count
	}
	if total != count {
		c.fail("irregular selection of %d blocks is not supported", count)
	}
	return s
}

// regularBlocks returns the regular selection of the given blocks of an axis, if they are
// regular.
func regularBlocks(first, last []int) (axisSelection, bool) {
	starts, size := slices.Compact(slices.Sorted(slices.Values(first))), 0
	for k := range first {
		if k > 0 && last[k]-first[k]+1 != size {
			return axisSelection{}, false
		}
		size = last[k] - first[k] + 1
	}
	if len(starts) == 0 {
		return axisSelection{}, false
	}
	b := axisSelection{start: starts[0], stride: max(1, size), count: len(starts), block: size}
	for k := 1; k < len(starts); k++ {
		if k == 1 {
			b.stride = starts[1] - starts[0]
		}
		if starts[k]-starts[k-1] != b.stride {
			return axisSelection{}, false
		}
	}
	return b, true
}

// selectAll returns the selection of all elements.
func selectAll(shape []int) selection {
	s := selection{axes: make([]axisSelection, len(shape))}
	for axis, n := range shape {
		s.axes[axis] = axisSelection{0, max(1, n), 1, max(1, n)}
		if n == 0 {
			s.axes[axis].count = 0
		}
	}
	return s
}
