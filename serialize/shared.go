package serialize

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// View returns the view that a file declares over size bytes of elements of type t, row-major if
// stride is nil. It is
// an error if the view reaches outside of them, has negative strides, or has more elements than are stored,
// by strides of 0, and more than the budget allows.
func (in Input) View(t dtype.Type, shape, stride []int, offset, size int) (views.View, error) {
	if !t.Valid() {
		return views.View{}, fmt.Errorf("elements of %v: %w", t, dtype.ErrType)
	}
	v, err := views.New(shape, math.MaxInt/t.Size())
	if err != nil {
		return v, err
	}
	if stride == nil {
		stride = slices.Clone(v.Stride)
	}
	if len(stride) != len(shape) {
		return v, fmt.Errorf("%d strides for a shape of %d axes: %w", len(stride), len(shape), views.ErrShape)
	}
	if offset < 0 || slices.ContainsFunc(stride, func(step int) bool { return step < 0 }) {
		return v, fmt.Errorf("offset %d and strides %v; negative ones are not allowed: %w", offset, stride, views.ErrShape)
	}
	if v.Len() == 0 {
		return v, nil
	}
	v.Offset = offset
	copy(v.Stride, stride)
	if have := size / t.Size(); !v.Within(have) {
		return v, fmt.Errorf("shape %v, strides %v and offset %d reach outside of %d elements: %w", shape, stride, offset, have, views.ErrShape)
	}
	if n := v.Len() * t.Size(); n > size {
		return v, in.Budget.Make(n, size)
	}
	return v, nil
}

// A Plan arranges entries as views of storages, for formats that keep shared elements and strides.
type Plan struct {
	Storages []storage.Array // elements that are written once each, in row-major order
	Owners   []int           // of each storage, an entry that has its elements
	Views    []PlannedView   // of each entry
}

// A PlannedView is an entry as a view of a storage.
type PlannedView struct {
	Storage int
	View    views.View
}

// own makes a storage of the elements of an entry.
func (p *Plan) own(entry int, a storage.Array) int {
	p.Storages, p.Owners = append(p.Storages, a), append(p.Owners, entry)
	return len(p.Storages) - 1
}

// NewRowMajorPlan gives each array a storage of its own, but those that are the same elements
// with the same attributes.
func NewRowMajorPlan(entries []Entry) *Plan {
	p := &Plan{Views: make([]PlannedView, len(entries))}
	first := map[string][]int{} // entries by their elements
	for i, e := range entries {
		elements, view := e.SharedElements(), views.Of(e.Shape()...)
		same := slices.IndexFunc(first[elements], func(k int) bool { return SameAttrs(e.Attrs, entries[k].Attrs) })
		if same >= 0 {
			p.Views[i] = PlannedView{p.Views[first[elements][same]].Storage, view}
			continue
		}
		p.Views[i] = PlannedView{p.own(i, e.Array), view}
		if elements != "" {
			first[elements] = append(first[elements], i)
		}
	}
	return p
}

// NewPlan arranges entries that hold arrays. Entries of the same Shared, element type and
// size of storage whose elements overlap become views of one storage. Strides are kept if
// none is negative and the views together have as many elements as there are between
// their bounds, so that no file gets larger by keeping them; else each view is written
// row-major.
func NewPlan(entries []Entry) *Plan {
	type key struct {
		shared string
		typ    dtype.Type
		size   int
	}
	p, groups := &Plan{Views: make([]PlannedView, len(entries))}, map[key][]member{}
	keyOf := func(e Entry) key { return key{e.Shared, e.Array.Type, e.Array.Data.Len()} }
	alone := func(e Entry) bool { return e.Shared == "" || e.Array.Len() == 0 }
	for i, e := range entries {
		if !alone(e) {
			groups[keyOf(e)] = append(groups[keyOf(e)], member{i, e.Array})
		}
	}
	for i, e := range entries { // storages in the order of their first entries
		if alone(e) {
			p.add([]member{{i, e.Array}})
		} else if group := groups[keyOf(e)]; group[0].entry == i {
			p.addGroup(slices.Clone(group))
		}
	}
	return p
}

// A member is an entry of a group of those that share elements.
type member struct {
	entry int
	storage.Array
}

// addGroup splits a group where no view overlaps the next.
func (p *Plan) addGroup(group []member) {
	low := func(m member) int { lo, _ := m.Bounds(); return lo }
	slices.SortStableFunc(group, func(a, b member) int { return cmp.Compare(low(a), low(b)) })
	start, end := 0, -1
	for n, m := range group {
		lo, hi := m.Bounds()
		if n > 0 && lo > end {
			p.add(group[start:n])
			start = n
		}
		end = max(end, hi)
	}
	p.add(group[start:])
}

// add makes storages of entries whose elements are in one range.
func (p *Plan) add(group []member) {
	first, last, total, keep := math.MaxInt, 0, 0, true
	var distinct []member
	seen := map[string]int{} // the place in distinct of each view
	for _, m := range group {
		view := string(appendView(nil, m.View))
		if _, again := seen[view]; again {
			continue
		}
		seen[view] = len(distinct)
		distinct = append(distinct, m)
		lo, hi := m.Bounds()
		first, last, total = min(first, lo), max(last, hi), total+m.Len()
		keep = keep && m.Len() > 0 && !slices.ContainsFunc(m.Stride, func(step int) bool { return step < 0 })
	}
	if keep && last-first < total && (len(distinct) > 1 || !group[0].Contiguous()) {
		k := p.own(group[0].entry, group[0].With(views.View{Shape: []int{last - first + 1}, Stride: []int{1}, Offset: first}))
		for _, m := range group {
			m.Offset -= first
			p.Views[m.entry] = PlannedView{k, m.View}
		}
		return
	}
	before := len(p.Storages)
	for _, m := range distinct { // row-major, and those with the same view once
		p.own(m.entry, m.Array)
	}
	for _, m := range group {
		p.Views[m.entry] = PlannedView{before + seen[string(appendView(nil, m.View))], views.Of(m.Shape...)}
	}
}

// appendView appends what distinguishes a view from all others.
func appendView(key []byte, v views.View) []byte {
	key = binary.AppendVarint(binary.AppendVarint(key, int64(v.Rank())), int64(v.Offset))
	for i, size := range v.Shape {
		key = binary.AppendVarint(binary.AppendVarint(key, int64(size)), int64(v.Stride[i]))
	}
	return key
}

// SharedElements identifies the elements of e and their order, by what e says it shares: one stored
// array can be all entries of one text. It is "" if e shares none.
func (e Entry) SharedElements() string {
	if e.Shared == "" {
		return ""
	}
	key := append(make([]byte, 0, 64), byte(e.Array.Type.Number()))
	key = appendView(binary.AppendVarint(key, int64(e.Array.Data.Len())), e.Array.View)
	return string(append(key, e.Shared...))
}

// SameElements reports whether e and other are the same elements in the same order, by what
// they say they share: one stored array can be both.
func (e Entry) SameElements(other Entry) bool {
	elements := e.SharedElements()
	return elements != "" && elements == other.SharedElements()
}

// Aliases finds entries that have the same elements as an earlier one. The zero value is
// ready to use.
type Aliases struct {
	first map[string]string // names by Entry.SharedElements
}

// Of returns the name of the first entry that has the elements of e, or "" if that is e.
func (a *Aliases) Of(e Entry) string {
	elements := e.SharedElements()
	if elements == "" {
		return ""
	}
	if first, ok := a.first[elements]; ok {
		return first
	}
	if a.first == nil {
		a.first = map[string]string{}
	}
	a.first[elements] = e.Name
	return ""
}

// AliasNote describes how the format stores another name of the entry first; "" if it does so as the
// format that was read.
func (f Format) AliasNote(first string) string {
	switch {
	case f.Single || f.Shares && !f.Aliases:
		return ""
	case !f.Shares:
		return fmt.Sprintf("a copy of %s, with which it shares its elements in the input; %s has no shared elements", first, f.Name)
	}
	return fmt.Sprintf("another name of %s in the metadata, as safetensors.torch.save_model writes it; load_file does not know it, load_model does", first)
}

// SameAttrs reports whether two entries have the same attributes.
func SameAttrs(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		if other, ok := b[name]; !ok || !sameAttr(value, other) {
			return false
		}
	}
	return true
}

func sameAttr(a, b any) bool {
	x, isArray := a.(storage.Array)
	y, alsoArray := b.(storage.Array)
	if !isArray || !alsoArray {
		return isArray == alsoArray && reflect.DeepEqual(a, b)
	}
	var xs, ys bytes.Buffer
	_, err1 := x.WriteTo(&xs)
	_, err2 := y.WriteTo(&ys)
	return err1 == nil && err2 == nil && x.Type == y.Type && slices.Equal(x.Shape, y.Shape) && bytes.Equal(xs.Bytes(), ys.Bytes())
}
