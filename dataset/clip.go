package dataset

import (
	"fmt"
	"slices"

	"github.com/h5dnn/h5dnn/views"
)

// A ClippedWindow is a sample of neighbouring rows. Rows before First or after Last, where an episode begins and ends, stand
// for these two.
type ClippedWindow struct{ Start, First, Last int }

// WindowRows is an array of rows, and which of them are the samples of windows.
type WindowRows struct {
	NamedArray
	Offsets []int // of the rows of a window, from Start on
	Axis    bool  // whether they are an axis of the sample; else there is one
}

// ClipWindows returns the samples of a list of windows, whose first rows ascend, of the arrays of rows. Sample i of
// whole is the window that begins with row i; windows within their episode are read from there. It is nil if the
// arrays are shorter than a window.
func ClipWindows(whole Dataset, rows []WindowRows, list []ClippedWindow) (Dataset, error) {
	c := &clipped{list: list}
	var arrays []NamedArray
	for _, r := range rows {
		arrays = append(arrays, r.NamedArray)
		c.offsets = append(c.offsets, r.Offsets)
	}
	d, err := FromArrays(arrays...)
	if err != nil {
		return nil, err
	}
	c.rows = d.(*table)
	for i, r := range rows {
		f := c.rows.fields[i]
		if r.Axis {
			f.Shape = append([]int{len(r.Offsets)}, f.Shape...)
		}
		c.fields = append(c.fields, f)
		c.span = max(c.span, slices.Max(r.Offsets)+1)
	}
	if whole != nil {
		if !slices.EqualFunc(whole.Fields(), c.fields, Field.Equal) {
			return nil, fmt.Errorf("dataset: windows of %v, rows of %v: %w", whole.Fields(), c.fields, views.ErrShape)
		}
		c.whole = readerOf(whole)
	}
	return c, nil
}

// clipped is the samples of windows that may reach beyond their episode.
type clipped struct {
	whole   reader // nil if there are none
	rows    *table
	fields  []Field
	offsets [][]int // by field
	span    int     // rows from the first to the last of a window
	list    []ClippedWindow
}

func (c *clipped) Len() int        { return len(c.list) }
func (c *clipped) Fields() []Field { return c.fields }

func (c *clipped) Read(into Batch, rows []int) error { return readInto(into, c, rows) }

// within reports whether w needs no rows beyond its episode, and is a sample of whole.
func (c *clipped) within(w ClippedWindow) bool {
	return w.Start >= w.First && w.Start+c.span-1 <= w.Last && c.whole != nil && w.Start < c.whole.Len()
}

// scatter reads the windows within episodes at once, and the others row by row.
func (c *clipped) scatter(to destination, rows []int) error {
	var inside []int // starts
	var edges []ClippedWindow
	var insideTo, edgesTo destination
	for k, row := range rows {
		w := c.list[row]
		at := &edgesTo
		if c.within(w) {
			inside, at = append(inside, w.Start), &insideTo
		} else {
			edges = append(edges, w)
		}
		at.add(to, k, to.at(k))
	}
	if len(inside) > 0 {
		if err := c.whole.scatter(insideTo, inside); err != nil {
			return err
		}
	}
	for i, column := range c.rows.columns {
		var single []int
		var singleTo destination
		for k, w := range edges {
			for j, offset := range c.offsets[i] {
				single = append(single, w.row(offset))
				singleTo.add(edgesTo, k, edgesTo.at(k)*len(c.offsets[i])+j)
			}
		}
		if len(single) == 0 || column.size == 0 {
			continue
		}
		if err := column.gather(singleTo, i, single); err != nil {
			return err
		}
	}
	return nil
}

// add adds a sample, which goes to an index of the batch of the k-th sample of from.
func (d *destination) add(from destination, k, index int) {
	d.batch = from.batch
	if from.batches != nil {
		d.batches = append(d.batches, from.batches[k])
	}
	d.index = append(d.index, index)
}

// source returns the samples that know how windows are stored.
func (c *clipped) source() reader {
	if c.whole == nil {
		return c.rows
	}
	return c.whole
}

// first returns the sample of source that is stored where a window begins.
func (c *clipped) first(k int) int {
	w := c.list[k]
	return min(max(w.Start, w.First), c.source().Len()-1)
}

// describe describes samples in the blocks of the windows where they begin.
func (c *clipped) describe() Description {
	d := c.source().describe()
	d.Samples, d.Fields, d.SampleBytes = len(c.list), c.fields, sampleBytes(c)
	d.HeldBytes += 24 * len(c.list)
	rows := &windowRows{c.rows.columns, c.offsets}
	d.windowOf = func(sample int) (*windowRows, ClippedWindow) { return rows, c.list[sample] }
	whole := d.BlockEnds
	d.BlockEnds, d.DecodedSamples = nil, len(c.list)
	start, decoded := 0, 0
	for k := range c.list {
		for len(whole) > 0 && c.first(k) >= whole[0] {
			if n := len(d.BlockEnds); k > 0 && (n == 0 || d.BlockEnds[n-1] < k) {
				d.BlockEnds = append(d.BlockEnds, k)
				decoded += whole[0] - start
			}
			start, whole = whole[0], whole[1:]
		}
	}
	if len(whole) > 0 && len(c.list) > 0 {
		d.BlockEnds = append(d.BlockEnds, len(c.list))
		d.DecodedSamples = max(len(c.list), decoded+whole[0]-start)
	}
	return d
}

func (c *clipped) prefetch(first, end int) {
	if first < end {
		c.source().prefetch(c.first(first), c.first(end-1)+1)
	}
}

func (c *clipped) origin(field, sample int) (Origin, int) {
	w := c.list[sample]
	o := c.rows.columns[field].from
	o.Row += c.offsets[field][0]
	if len(c.fields[field].Shape) > len(c.rows.fields[field].Shape) {
		o.Steps = len(c.offsets[field])
	}
	if o.Steps > 1 {
		o.Stride = c.offsets[field][1] - c.offsets[field][0]
	}
	o.clip = &w
	return o, w.Start
}

func (c *clipped) project(fields []int) reader {
	p := &clipped{
		rows: c.rows.project(fields).(*table), fields: elementsAt(c.fields, fields), offsets: elementsAt(c.offsets, fields),
		span: c.span, list: c.list,
	}
	if c.whole != nil {
		p.whole = c.whole.project(fields)
	}
	return p
}
