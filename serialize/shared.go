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

// A Plan arranges entries as views of storages, for formats that keep shared elements and
// strides. It makes storages and views when they are asked for.
type Plan struct {
	entries *Collection
	owners  []int32              // of each storage, an entry that has its elements
	storage []int32              // of each entry
	spans   map[int32]views.View // of storages that are not the row-major elements of their owner
	views   map[int]views.View   // of entries in such storages
}

// A PlannedView is an entry as a view of a storage.
type PlannedView struct {
	Storage int
	View    views.View
}

// Len returns the number of storages.
func (p *Plan) Len() int { return len(p.owners) }

// Storage returns the elements of storage k, which are to be written once, in row-major order.
func (p *Plan) Storage(k int) storage.Array {
	a := p.entries.At(int(p.owners[k])).Array
	if v, ok := p.spans[int32(k)]; ok {
		return a.With(v)
	}
	return a
}

// Owner returns an entry that has the elements of storage k.
func (p *Plan) Owner(k int) int { return int(p.owners[k]) }

// View returns entry i as a view of a storage.
func (p *Plan) View(i int) PlannedView {
	v, ok := p.views[i]
	if !ok {
		v = views.Of(p.entries.At(i).Shape()...)
	}
	return PlannedView{int(p.storage[i]), v}
}

func newPlan(entries *Collection) *Plan {
	return &Plan{entries: entries, storage: make([]int32, entries.Len()), spans: map[int32]views.View{}, views: map[int]views.View{}}
}

// own makes a storage of the elements of an entry.
func (p *Plan) own(entry int) {
	p.storage[entry] = int32(len(p.owners))
	p.owners = append(p.owners, int32(entry))
}

// NewRowMajorPlan gives each array a storage of its own, but those that are the same elements
// with the same attributes.
func NewRowMajorPlan(entries *Collection) *Plan {
	p := newPlan(entries)
	first := map[string][]int{} // entries by their elements
	for i := range entries.Len() {
		e := entries.At(i)
		elements := e.SharedElements()
		same := slices.IndexFunc(first[elements], func(k int) bool { return SameAttrs(e.Attrs, entries.At(k).Attrs) })
		if same >= 0 {
			p.storage[i] = p.storage[first[elements][same]]
			continue
		}
		if p.own(i); elements != "" {
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
func NewPlan(entries *Collection) *Plan {
	type key struct {
		shared string
		typ    dtype.Type
		size   int
	}
	p, groups := newPlan(entries), map[key]int{}
	var members [][]member                   // of entries that share elements or are not contiguous, by group
	group := make([]int32, 0, entries.Len()) // of each entry, or -1
	for i := range entries.Len() {
		e := entries.At(i)
		alone := e.Shared == "" || e.Array.Len() == 0
		if alone && (e.Array.Contiguous() || e.Array.Len() == 0) {
			group = append(group, -1)
			continue
		}
		g, known := len(members), false
		if k := (key{e.Shared, e.Array.Type, 0}); !alone {
			k.size = e.Array.Data.Len()
			if g, known = groups[k]; !known {
				g, groups[k] = len(members), len(members)
			}
		}
		if !known {
			members = append(members, nil)
		}
		group = append(group, int32(g))
		members[g] = append(members[g], member{i, e.Array.View})
	}
	for i, g := range group { // storages in the order of their first entries
		if g < 0 {
			p.own(i)
		} else if members[g][0].entry == i {
			p.addGroup(slices.Clone(members[g]))
		}
	}
	return p
}

// A member is an entry of a group of those that share elements.
type member struct {
	entry int
	views.View
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
	owner := make(map[string]int, len(group)) // the first entry of each view
	for _, m := range group {
		view := string(appendView(nil, m.View))
		if _, again := owner[view]; again {
			continue
		}
		owner[view] = m.entry
		distinct = append(distinct, m)
		lo, hi := m.Bounds()
		first, last, total = min(first, lo), max(last, hi), total+m.Len()
		keep = keep && m.Len() > 0 && !slices.ContainsFunc(m.Stride, func(step int) bool { return step < 0 })
	}
	if keep && last-first < total && (len(distinct) > 1 || !group[0].Contiguous()) {
		p.own(group[0].entry)
		k := p.storage[group[0].entry]
		p.spans[k] = views.View{Shape: []int{last - first + 1}, Stride: []int{1}, Offset: first}
		for _, m := range group {
			m.Offset -= first
			p.storage[m.entry], p.views[m.entry] = k, m.View
		}
		return
	}
	for _, m := range distinct { // row-major, and those with the same view once
		p.own(m.entry)
	}
	for _, m := range group {
		p.storage[m.entry] = p.storage[owner[string(appendView(nil, m.View))]]
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
