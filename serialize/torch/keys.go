package torch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/loss"
)

// keySuffix is after the path of a value where metaTypes has the type of its key, if that is not the
// one that the type of the dict implies.
const keySuffix = "/*key"

// metaOrder has the order of the keys of OrderedDicts in other dicts: a JSON object of lists by
// path, of the places that the keys have when their names are sorted.
const metaOrder = "torch.order"

// partsOf returns the parts of names that the keys of the dict at a path become, and notes what the
// names do not tell of them. Equal texts of different keys become different names. Those of keys that
// become text are keys themselves when the dict is written, so the others have their names first.
func (w *walker) partsOf(path string, d *pickle.Dict, dictType string) ([]string, error) {
	parts := make([]string, len(d.Keys))
	var taken map[string]bool // if keys that are not text are among them
	if slices.ContainsFunc(d.Keys, func(key any) bool { _, isText := key.(string); return !isText }) {
		taken = make(map[string]bool, len(d.Keys))
	}
	name := func(i int) (err error) {
		key := d.Keys[i]
		text := w.keyText(key)
		part, err := w.nameOf(path, text, d.Values[i])
		if parts[i] = part; err != nil {
			return err
		}
		for n := 2; taken[parts[i]]; n++ {
			parts[i] = fmt.Sprintf("%s'%d", part, n)
		}
		if parts[i] != part && isPlainKey(key) {
			w.paths[join(path, parts[i])] = [2]string{path, text}
		}
		if taken != nil {
			taken[parts[i]] = true
		}
		if implied(text, dictType, path == "") == key {
			return nil
		}
		return w.noteKey(join(path, parts[i]), text, key)
	}
	var last []int
	for i, key := range d.Keys {
		if !isPlainKey(key) {
			last = append(last, i)
		} else if err := name(i); err != nil {
			return nil, err
		}
	}
	for _, i := range last {
		if err := name(i); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// implied returns the key that a text stands for in a dict of a type.
func implied(text, dictType string, outermost bool) any {
	ints := strings.HasSuffix(dictType, typeInts) || !outermost && !strings.HasSuffix(dictType, typeStrings)
	if ints {
		return keyOf(text)
	}
	return text
}

// join returns the name of a part in the dict at a path.
func join(path, part string) string {
	if path == "" {
		return part
	}
	return path + "/" + part
}

// noteKey notes the type of the key at a path, or that it becomes text.
func (w *walker) noteKey(path, text string, key any) error {
	if !isPlainKey(key) {
		return w.omit(path, loss.Type, 1, "its key is of type %s, which becomes text", pickle.TypeOf(key))
	}
	return cmp.Or(w.noteType(path+keySuffix, typeJSON), w.noteTypes(path+keySuffix, key, false), w.omitKept(path))
}

// isPlainKey reports whether the text and the type of a key tell all of it.
func isPlainKey(key any) bool {
	switch key := key.(type) {
	case *pickle.Object, *pickle.Persistent, *pickle.Set:
		return false
	case pickle.Global:
		return isDType(key)
	case pickle.Tuple:
		return !slices.ContainsFunc(key, func(item any) bool { return !isPlainKey(item) })
	}
	return true
}

// keyAt returns the key of the value at a path, which is a part of the dict above.
func (t *treeWriter) keyAt(path, above, part string) any {
	if noted, ok := t.paths[path]; ok {
		part = noted[1]
	}
	switch name := t.types[path+keySuffix]; name {
	case "":
		if above == "" && t.intKeys() {
			return keyOf(part)
		}
		return implied(part, t.types[above], above == "")
	case typeText:
		return part
	default:
		return t.retype(path+keySuffix, valueOf(part), name)
	}
}

// noteOrder notes the order of the parts of the OrderedDict at a path.
func (w *walker) noteOrder(path string, parts []string) error {
	const digits = 6
	w.orders[path] = ranks(parts)
	return w.take(path, len(path)+digits*len(parts))
}

// ranks returns the place of each text in the sorted list of all.
func ranks(texts []string) []int {
	list := make([]int, len(texts))
	for place, i := range sortedBy(texts) {
		list[i] = place
	}
	return list
}

// sortedBy returns the indices of texts in sorted order.
func sortedBy(texts []string) []int {
	indices := make([]int, len(texts))
	for i := range indices {
		indices[i] = i
	}
	slices.SortStableFunc(indices, func(i, j int) int { return cmp.Compare(texts[i], texts[j]) })
	return indices
}

// inOrder returns the dict at a path with its keys in the order that is noted, if all of them are
// there.
func (t *treeWriter) inOrder(path string, d *pickle.Dict) *pickle.Dict {
	places, paths := t.orders[path], t.members[d]
	if places == nil || len(places) != len(d.Keys) || len(paths) != len(d.Keys) {
		return d
	}
	sorted, ordered := sortedBy(paths), &pickle.Dict{State: d.State}
	for _, place := range places {
		if place < 0 || place >= len(sorted) {
			return d
		}
		i := sorted[place]
		if ordered.Set(d.Keys[i], d.Values[i]) != nil {
			return d
		}
	}
	if len(ordered.Keys) != len(d.Keys) {
		return d
	}
	return ordered
}
