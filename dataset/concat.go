package dataset

import (
	"fmt"
	"slices"
	"sort"

	"github.com/h5dnn/h5dnn/views"
)

// A chain is the samples of several datasets, one dataset after the other.
type chain struct {
	parts []reader
	ends  []int // ends[i] is the number of samples up to the end of part i
}

// Concat returns the samples of ds, one dataset after the other. Their fields must be equal.
func Concat(ds ...Dataset) (Dataset, error) {
	if len(ds) == 0 {
		return nil, fmt.Errorf("dataset: nothing to concatenate: %w", views.ErrShape)
	}
	c := &chain{}
	total := 0
	for i, d := range ds {
		if !slices.EqualFunc(d.Fields(), ds[0].Fields(), Field.Equal) {
			return nil, fmt.Errorf("dataset: part %d has the fields %v, the first %v; they must be equal: %w", i, d.Fields(), ds[0].Fields(), views.ErrShape)
		}
		total += d.Len()
		c.parts, c.ends = append(c.parts, readerOf(d)), append(c.ends, total)
	}
	return c, nil
}

func (c *chain) Len() int        { return c.ends[len(c.ends)-1] }
func (c *chain) Fields() []Field { return c.parts[0].Fields() }

func (c *chain) Read(into Batch, rows []int) error { return readInto(into, c, rows) }

// part returns the part that holds a row, and the row where it starts.
func (c *chain) part(row int) (part, start int) {
	part = sort.SearchInts(c.ends, row+1)
	if part > 0 {
		start = c.ends[part-1]
	}
	return part, start
}

// scatter reads each part once, for all of its rows.
func (c *chain) scatter(to destination, rows []int) error {
	work := scratches.Get().(*scratch)
	defer scratches.Put(work)
	ints := work.ints(3 * len(rows))
	order, below, at := ints[:len(rows)], ints[len(rows):2*len(rows)], ints[2*len(rows):]
	for k := range order {
		order[k] = k
	}
	slices.SortFunc(order, func(a, b int) int { return rows[a] - rows[b] })
	sorted := destination{batch: to.batch, index: at}
	if to.batches != nil {
		sorted.batches = make([]*Batch, len(rows))
	}
	for k := 0; k < len(order); {
		part, start := c.part(rows[order[k]])
		first := k
		for ; k < len(order) && rows[order[k]] < c.ends[part]; k++ {
			below[k], at[k] = rows[order[k]]-start, to.at(order[k])
			if to.batches != nil {
				sorted.batches[k] = to.batches[order[k]]
			}
		}
		if err := c.parts[part].scatter(sorted.from(first), below[first:k]); err != nil {
			return err
		}
	}
	return nil
}

// Blocks implements Blocked.
func (c *chain) Blocks() (ends []int, decoded int) {
	d := c.describe()
	return d.BlockEnds, d.DecodedSamples
}
