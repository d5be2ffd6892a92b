package dataset

import "sort"

// blocks divide the rows of a dataset: block i ends before row ends[i].
type blocks struct {
	ends    []int
	even    int // rows in every block but the last, or 0 if they differ
	largest int // rows
}

func newBlocks(ends []int) blocks {
	b := blocks{ends: ends}
	for i := range ends {
		b.largest = max(b.largest, b.size(i))
	}
	if b.even = b.largest; len(ends) > 1 {
		for i := range len(ends) - 1 {
			if b.size(i) != b.even {
				b.even = 0
				break
			}
		}
	}
	return b
}

func (b blocks) count() int { return len(b.ends) }

func (b blocks) start(i int) int {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

func (b blocks) size(i int) int { return b.ends[i] - b.start(i) }

// of returns the block that holds a row.
func (b blocks) of(row int) int {
	if b.even > 0 {
		return row / b.even
	}
	return sort.SearchInts(b.ends, row+1)
}
