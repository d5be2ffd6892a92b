package dataset

import (
	"cmp"
	"fmt"
)

// An Origin says which array the samples of a field are rows of.
type Origin struct {
	Name    string   // of the array, such as "data.h5: /obs"; the field's if empty
	Row     int      // of the array: the first of sample 0
	Steps   int      // rows in a sample, along its first axis; 0 if a sample is a row
	Stride  int      // rows from one row of a sample to the next; 0 counts as 1
	Columns []string // names of the elements along the last axis of a row; nil if they have none

	clip *ClippedWindow // beyond whose ends rows stand for its first and last; nil if there are none
}

// An Element is an element of an array that samples come from.
type Element struct {
	Name   string // of the array
	Row    int
	Index  []int  // within the row
	Column string // name of its column; empty if it has none
	Value  float64
}

// String describes the place of e: "data.h5: /obs row 1234, column 5 (temperature)".
func (e Element) String() string {
	text := fmt.Sprintf("%s row %d", e.Name, e.Row)
	switch {
	case len(e.Index) == 1:
		text += fmt.Sprintf(", column %d", e.Index[0])
	case len(e.Index) > 1:
		text += fmt.Sprintf(", element %v", e.Index)
	}
	if e.Column != "" {
		text += " (" + e.Column + ")"
	}
	return text
}

// element returns element i of a sample of f.
func (o Origin) element(f Field, row, i int) Element {
	e := Element{Name: cmp.Or(o.Name, f.Name), Row: o.Row + row, Index: make([]int, len(f.Shape))}
	for axis := len(f.Shape) - 1; axis >= 0; axis-- {
		e.Index[axis], i = i%f.Shape[axis], i/f.Shape[axis]
	}
	if o.Steps > 0 {
		e.Row, e.Index = e.Row+e.Index[0]*max(1, o.Stride), e.Index[1:]
	}
	if o.clip != nil {
		e.Row = min(max(e.Row, o.clip.First), o.clip.Last)
	}
	if n := len(e.Index); n > 0 && e.Index[n-1] < len(o.Columns) {
		e.Column = o.Columns[e.Index[n-1]]
	}
	return e
}

// Locate returns the place of element i, row-major, of a field of a sample of d.
func Locate(d Dataset, field, sample, i int) Element {
	o, row := readerOf(d).origin(field, sample)
	return o.element(d.Fields()[field], row, i)
}

func (t *table) origin(field, sample int) (Origin, int) { return t.columns[field].from, sample }

func (s *subset) origin(field, sample int) (Origin, int) {
	return s.reader.origin(field, s.rows[sample])
}

func (c *chain) origin(field, sample int) (Origin, int) {
	part, start := c.part(sample)
	return c.parts[part].origin(field, sample-start)
}

func (a anyDataset) origin(_, sample int) (Origin, int) { return Origin{}, sample }
