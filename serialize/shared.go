package serialize

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// View returns the view that a file declares over size bytes of elements of type t. It is
// an error if the view reaches outside of them, has negative strides, or has so many more
// elements than are stored, by strides of 0, that the budget does not allow it.
func (in Input) View(t dtype.Type, shape, stride []int, offset, size int) (views.View, error) {
	if !t.Valid() {
		return views.View{}, fmt.Errorf("elements of %v: %w", t, dtype.ErrType)
	}
	v, err := views.New(shape, math.MaxInt/t.Size())
	if err != nil {
		return v, err
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
// strides.
type Plan struct {
	// Storages are the elements to write, each once, in row-major order. Their elements
	// are of one type each.
	Storages []storage.Array
	// Views are the entries in their order: view Views[i].View of the elements of storage
	// Views[i].Storage.
	Views []PlannedView
}

// A PlannedView is an entry as a view of a storage.
type PlannedView struct {
	Storage int
	View    views.View
}

// NewPlan arranges entries that hold arrays. Entries of the same Shared, element type and
// size of storage whose elements overlap become views of one storage. Strides are kept if
// none is negative and the views together have as many elements as there are between
// their bounds, so that no file gets larger by keeping them; else each view is written
// row-major.
func NewPlan(entries []Entry) Plan {
	p := planner{Plan: Plan{Views: make([]PlannedView, len(entries))}, entries: entries}
	type key struct {
		shared string
		typ    dtype.Type
		size   int
	}
	groups := make(map[key]int, len(entries))
	var members [][]int // of entries, by group in the order of their first entries
	for i, e := range entries {
		if e.Shared == "" || e.Array.Len() == 0 {
			members = append(members, []int{i})
			continue
		}
		k := key{e.Shared, e.Array.Type, e.Array.Data.Len()}
		g, ok := groups[k]
		if !ok {
			g = len(members)
			groups[k] = g
			members = append(members, nil)
		}
		members[g] = append(members[g], i)
	}
	for _, group := range members {
		p.addGroup(group)
	}
	return p.Plan
}

type planner struct {
	Plan
	entries []Entry
}

func (p *planner) view(i int) views.View { return p.entries[i].Array.View }

// addGroup splits a group where no view overlaps the next.
func (p *planner) addGroup(group []int) {
	if len(group) == 1 {
		p.add(group)
		return
	}
	low := func(i int) int { lo, _ := p.view(i).Bounds(); return lo }
	slices.SortStableFunc(group, func(i, k int) int { return cmp.Compare(low(i), low(k)) })
	start, end := 0, -1
	for n, i := range group {
		lo, hi := p.view(i).Bounds()
		if n > 0 && lo > end {
			p.add(group[start:n])
			start = n
		}
		end = max(end, hi)
	}
	p.add(group[start:])
}

// add makes storages of entries whose elements are in one range.
func (p *planner) add(group []int) {
	first, last, total, keep := math.MaxInt, 0, 0, true
	var distinct []int
	for _, i := range group {
		v := p.view(i)
		if slices.ContainsFunc(distinct, func(k int) bool { return sameView(v, p.view(k)) }) {
			continue
		}
		distinct = append(distinct, i)
		lo, hi := v.Bounds()
		first, last, total = min(first, lo), max(last, hi), total+v.Len()
		keep = keep && v.Len() > 0 && !slices.ContainsFunc(v.Stride, func(step int) bool { return step < 0 })
	}
	a := p.entries[group[0]].Array
	if keep && last-first < total && (len(distinct) > 1 || !a.Contiguous()) {
		p.Storages = append(p.Storages, a.With(views.View{Shape: []int{last - first + 1}, Stride: []int{1}, Offset: first}))
		for _, i := range group {
			v := p.view(i)
			v.Offset -= first
			p.Views[i] = PlannedView{len(p.Storages) - 1, v}
		}
		return
	}
	for _, i := range distinct { // row-major, and those with the same view once
		p.Storages = append(p.Storages, p.entries[i].Array)
		for _, k := range group {
			if k == i || sameView(p.view(i), p.view(k)) {
				p.Views[k] = PlannedView{len(p.Storages) - 1, views.Of(p.view(k).Shape...)}
			}
		}
	}
}

// sameView reports whether two views are equal.
func sameView(v, w views.View) bool {
	return v.Offset == w.Offset && slices.Equal(v.Shape, w.Shape) && slices.Equal(v.Stride, w.Stride)
}

// SameElements reports whether e and other are the same elements in the same order, by what
// they say they share: one stored array can be both.
func (e Entry) SameElements(other Entry) bool {
	a, b := e.Array, other.Array
	return e.Shared != "" && e.Shared == other.Shared && a.Type == b.Type && a.Data.Len() == b.Data.Len() && sameView(a.View, b.View)
}

// Aliases finds entries that have the same elements as an earlier one. The zero value is
// ready to use.
type Aliases struct {
	first map[string][]Entry // by Entry.Shared
}

// Of returns the name of the first entry that has the elements of e, or "" if that is e.
func (a *Aliases) Of(e Entry) string {
	for _, other := range a.first[e.Shared] {
		if e.SameElements(other) {
			return other.Name
		}
	}
	if e.Shared != "" {
		if a.first == nil {
			a.first = map[string][]Entry{}
		}
		a.first[e.Shared] = append(a.first[e.Shared], e)
	}
	return ""
}

// AliasNote describes how formats with Format.Aliases store another name of the entry first.
func AliasNote(first string) string {
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
