package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/inspect"
)

// A foldedPrinter prints alike members of a group as one: their names differ in one number,
// and what they hold has the same names, types and shapes of rows.
type foldedPrinter struct {
	*treePrinter
	entries []*foldable
	keys    map[string]int // of what entries hold
}

// A foldable is an entry with its members.
type foldable struct {
	inspect.Object
	objectDetails
	name    string // in its group
	members []*foldable
	key     int // of alike entries
}

// A fold describes several alike objects; the first one is shown.
type fold struct {
	names   string          // of the first and the last; "" if only groups above are folded
	count   int             // of names
	rows    string          // the range of the lengths of the first axis
	differs map[string]bool // the attributes, and "" for the scalar, whose values differ
}

// counted returns the number of alike objects; "" for a single one, whose fold is nil or has
// no names.
func (f *fold) counted() string {
	if f == nil || f.names == "" {
		return ""
	}
	return fmt.Sprintf("  %d alike", f.count)
}

// mark says that the value of an attribute, or of the scalar, is the first object's only.
func (f *fold) mark(attribute string) string {
	if f == nil || !f.differs[attribute] {
		return ""
	}
	return " (the first; others differ)"
}

// Entry implements printer. End prints the entries.
func (p *foldedPrinter) Entry(e inspect.Object, m objectDetails) error {
	p.entries = append(p.entries, &foldable{Object: e, objectDetails: m})
	return nil
}

// End implements printer.
func (p *foldedPrinter) End() error {
	p.keys = map[string]int{}
	top := &foldable{members: p.tops()}
	p.sign(top)
	if err := p.members([]*foldable{top}); err != nil {
		return err
	}
	return p.treePrinter.End()
}

// tops puts entries into their groups, and returns those that are in none.
func (p *foldedPrinter) tops() (tops []*foldable) {
	var above []*foldable
	for _, e := range p.entries {
		e.name = e.Path
		for ; len(above) > 0; above = above[:len(above)-1] {
			group := above[len(above)-1]
			if rest, below := strings.CutPrefix(e.Path, strings.TrimSuffix(group.Path, "/")+"/"); below {
				e.name = rest
				group.members = append(group.members, e)
				break
			}
		}
		if len(above) == 0 {
			tops = append(tops, e)
		}
		above = append(above, e)
	}
	return tops
}

// sign sets the keys of e and of all that is in it.
func (p *foldedPrinter) sign(e *foldable) {
	text := e.Kind + e.Type
	if e.Err != nil || e.Target != "" {
		text += e.Path // links and errors are shown one by one
	}
	if d := e.Data; d != nil {
		text += fmt.Sprint(d.DType, d.Detail, d.Element, d.Text, len(d.Shape), d.Shape[min(1, len(d.Shape)):])
	}
	for _, member := range e.members {
		p.sign(member)
		text += fmt.Sprintf("\n%q %d", member.name, member.key)
	}
	if _, known := p.keys[text]; !known {
		p.keys[text] = len(p.keys)
	}
	e.key = p.keys[text]
}

// members prints the members of alike groups.
func (p *foldedPrinter) members(groups []*foldable) error {
	first := groups[0].members
	names := make([]string, len(first))
	for i, e := range first {
		names[i] = e.name
	}
	for _, same := range alike(names, func(i int) string { return fmt.Sprint(first[i].key) }) {
		var all []*foldable
		var spanned []string
		for _, i := range same {
			spanned = append(spanned, names[i])
			for _, group := range groups {
				all = append(all, group.members[i])
			}
		}
		o, m := all[0].Object, all[0].objectDetails
		if len(all) > 1 {
			o.Data, m.fold = mergedData(all), foldOf(all)
		}
		if len(same) > 1 {
			m.fold.names, m.fold.count = span(spanned), len(same)
		}
		if err := p.treePrinter.Entry(o, m); err != nil {
			return err
		}
		if err := p.members(all); err != nil {
			return err
		}
	}
	return nil
}

// foldOf says in what alike entries differ.
func foldOf(all []*foldable) *fold {
	f := &fold{differs: map[string]bool{}}
	values, rows := valuesOf(all[0]), []int{}
	for _, e := range all {
		for name, value := range valuesOf(e) {
			f.differs[name] = f.differs[name] || value != values[name]
		}
		if e.Data != nil && len(e.Data.Shape) > 0 {
			rows = append(rows, e.Data.Shape[0])
		}
	}
	if len(rows) > 0 && slices.Min(rows) < slices.Max(rows) {
		f.rows = fmt.Sprintf("%d…%d", slices.Min(rows), slices.Max(rows))
	}
	return f
}

// valuesOf returns the attributes of an entry as text, and its value if it is a scalar.
func valuesOf(e *foldable) map[string]string {
	values := map[string]string{"": e.scalar}
	for _, a := range e.Attrs {
		value, err := a.Get()
		values[a.Name] = fmt.Sprint(value, err)
	}
	return values
}

// mergedData describes alike datasets as one, with the sums of their sizes.
func mergedData(all []*foldable) *inspect.Dataset {
	if all[0].Data == nil {
		return nil
	}
	d := *all[0].Data
	d.Shares, d.Sources = "", nil
	for _, e := range all[1:] {
		o := e.Data
		d.Size, d.Stored = added(d.Size, o.Size), added(d.Stored, o.Stored)
		if !slices.Equal(d.Chunks, o.Chunks) {
			d.Chunks = nil
		}
		if !slices.EqualFunc(d.Filters, o.Filters, func(a, b inspect.Filter) bool { return a.ID == b.ID }) {
			d.Filters = nil
		}
		if o.Layout != d.Layout {
			d.Layout = "several layouts"
		}
		if !slices.Equal(o.MaxShape, o.Shape) {
			continue
		}
		d.MaxShape = d.Shape
	}
	return &d
}

// added returns the sum of two sizes; -1 if either is unknown.
func added(a, b int) int {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}
