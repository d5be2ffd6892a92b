package hdf5

import (
	"fmt"
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

// A SelectionKind says how a [Selection] is described.
type SelectionKind int

// The kinds of selections.
const (
	SelectNone    SelectionKind = iota
	SelectPoints                // Numbers: the coordinates of every element
	SelectRegular               // start, stride, count and block of every axis; the last two may be Unlimited
	SelectAll                   // every element
	SelectBlocks                // the first and the last coordinates of every block
)

// A Selection selects elements of a dataset, in region references and in the mappings
// of virtual datasets.
type Selection struct {
	Kind    SelectionKind
	Rank    int // 0 for SelectNone and SelectAll, which fit every dataset
	Numbers []int
}

// parseSelection reads a selection:
//
//	| 0, none      (4) | version (4) | 0 (4) | length (4) |
//	| 3, all       (4) | version (4) | 0 (4) | length (4) |
//	| 1, points    (4) | 1 (4) | 0 (4) | length (4) | rank (4) | points (4) | coordinates (4 each) … |
//	| 1, points    (4) | 2 (4) | bytes of numbers, b (1) | rank (4) | points (b) | coordinates (b each) … |
//	| 2, hyperslab (4) | 1 (4) | 0 (4) | length (4) | rank (4) | blocks (4) | first, last (4 each) … of every block |
//	| 2, hyperslab (4) | 2 (4) | 1 (1) | length (4) | rank (4) | start, stride, count, size (8 each) … of every axis |
//	| 2, hyperslab (4) | 3 (4) | flags (1) | bytes of numbers, b (1) | rank (4) | the same in b bytes: flag 0 as 2, else as 1 |
func parseSelection(c *cursor) Selection {
	kind, version := SelectionKind(c.u32()), c.u32()
	width, regular := 4, false
	switch {
	case kind == SelectAll || kind == SelectNone:
		c.skip(8)
		return Selection{Kind: kind}
	case kind > SelectAll:
		c.fail("selection of kind %d is not known", kind)
	case version == 1:
		c.skip(8)
	case version == 2 && kind == SelectPoints:
		width = c.u8()
	case version == 2:
		width, regular = 8, c.u8()&1 != 0
		c.skip(4)
	case version == 3 && kind == SelectRegular:
		regular, width = c.u8()&1 != 0, c.u8()
	default:
		c.fail("selection of version %d is not known", version)
	}
	s := Selection{Kind: kind, Rank: c.u32()}
	if s.Rank < 1 || s.Rank > format.MaxRank || width != 2 && width != 4 && width != 8 {
		c.fail("selection of rank %d in numbers of %d bytes", s.Rank, width)
	}
	switch {
	case c.err != nil:
	case kind == SelectPoints:
		s.Numbers = c.coordinates(s.Rank, width)
	case regular:
		s.Numbers = c.regular(s.Rank, width)
	default:
		s.Kind, s.Numbers = SelectBlocks, c.coordinates(2*s.Rank, width)
	}
	return s
}

// coordinates reads a list of points or blocks, of n coordinates each.
func (c *cursor) coordinates(n, width int) []int {
	count := c.count(width)
	if count > c.remaining()/(n*width) {
		c.fail("selection of %d in %d bytes", count, c.remaining())
		return nil
	}
	all := make([]int, 0, n*count)
	for range n * count {
		all = append(all, c.count(width))
	}
	return all
}

func (c *cursor) regular(rank, width int) []int {
	endless := func(x uint64) int {
		if x > 1<<40 && x != 1<<(8*width)-1 && x != undefined {
			c.fail("selection of %d", x)
		}
		if x == 1<<(8*width)-1 || x == undefined {
			return Unlimited
		}
		return int(x)
	}
	var all []int
	for range rank {
		b := axisSelection{start: endless(c.uint(width)), stride: endless(c.uint(width))}
		b.count, b.block = endless(c.uint(width)), endless(c.uint(width))
		b.check(c)
		all = append(all, b.start, b.stride, b.count, b.block)
	}
	return all
}

func (b axisSelection) check(c *cursor) {
	if c.err == nil && (b.start < 0 || b.stride < 1 || b.count == 0 || b.block == 0 || b.count == Unlimited && b.block == Unlimited ||
		b.count > 1<<31 || b.block > 1<<31 && b.count != 1 || b.block > b.stride && b.count != 1 || b.block == Unlimited && b.count != 1) {
		c.fail("selection of %d blocks of %d, %d apart, from %d on", b.count, b.block, b.stride, b.start)
	}
}

// hyperslab returns a selection that is everything or one regular hyperslab.
func (s Selection) hyperslab() (selection, error) {
	out := selection{all: s.Kind == SelectAll, axes: make([]axisSelection, s.Rank)}
	switch s.Kind {
	case SelectNone, SelectPoints:
		return out, fmt.Errorf("a selection of %d points is not supported", len(s.Numbers)/max(1, s.Rank))
	case SelectRegular:
		for axis := range out.axes {
			n := s.Numbers[4*axis:]
			out.axes[axis] = axisSelection{n[0], n[1], n[2], n[3]}
		}
	case SelectBlocks:
		count, total := len(s.Numbers)/(2*s.Rank), 1
		for axis := range out.axes {
			first, last := make([]int, count), make([]int, count)
			for k := range count {
				first[k], last[k] = s.Numbers[2*k*s.Rank+axis], s.Numbers[(2*k+1)*s.Rank+axis]
			}
			b, ok := regularBlocks(first, last)
			if out.axes[axis], total = b, total*b.count; !ok {
				total = -1
				break
			}
		}
		if total != count {
			return out, fmt.Errorf("an irregular selection of %d blocks is not supported", count)
		}
	}
	return out, nil
}

// Equal reports whether two selections select the same elements, as far as that can be
// told from their descriptions: irregular ones must be described by the same numbers.
func (s Selection) Equal(o Selection) bool {
	a, err1 := s.hyperslab()
	b, err2 := o.hyperslab()
	if err1 != nil || err2 != nil {
		return s.Rank == o.Rank && len(s.Numbers) == len(o.Numbers) && slices.Equal(slices.Sorted(slices.Values(s.Numbers)), slices.Sorted(slices.Values(o.Numbers)))
	}
	return a.all == b.all && slices.EqualFunc(a.axes, b.axes, func(a, b axisSelection) bool { return a.merged() == b.merged() })
}

// merged describes adjacent blocks as one, and one block without a stride.
func (b axisSelection) merged() axisSelection {
	if b.stride == b.block && !b.unlimited() {
		b.block, b.count = b.block*b.count, 1
	}
	if b.count == 1 {
		b.stride = 1
	}
	return b
}

// Bounds returns the smallest shape of a dataset that the selection fits, or the given
// one if the selection fits every dataset. Unlimited axes have one block.
func (s Selection) Bounds(shape []int) []int {
	if s.Rank == 0 {
		return shape
	}
	out := make([]int, s.Rank)
	for k, n := range s.Numbers {
		axis := k % s.Rank
		switch s.Kind {
		case SelectRegular:
			if axis = k / 4; k%4 != 0 {
				continue
			}
			b := axisSelection{n, s.Numbers[k+1], max(1, s.Numbers[k+2]), max(1, s.Numbers[k+3])}
			n += (b.count-1)*b.stride + b.block - 1
		}
		out[axis] = max(out[axis], n+1)
	}
	return out
}

// Count returns the number of elements of a dataset that are selected. Unlimited axes
// count as one block.
func (s Selection) Count(shape []int) int {
	n := 1
	switch s.Kind {
	case SelectNone:
		return 0
	case SelectAll:
		for _, size := range shape {
			n *= size
		}
	case SelectPoints:
		n = len(s.Numbers) / s.Rank
	case SelectRegular:
		for axis := range s.Rank {
			n *= max(1, s.Numbers[4*axis+2]) * max(1, s.Numbers[4*axis+3])
		}
	case SelectBlocks:
		n = 0
		for at := 0; at < len(s.Numbers); at += 2 * s.Rank {
			block := 1
			for axis := range s.Rank {
				block *= s.Numbers[at+s.Rank+axis] - s.Numbers[at+axis] + 1
			}
			n += block
		}
	}
	return n
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
	if size < 1 {
		return b, false
	}
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
