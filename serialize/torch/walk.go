package torch

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/loss"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

const (
	maxDepth   = 1000
	maxEntries = 1 << 20
	maxName    = 1 << 16 // bytes
)

// A walker turns the value of a pickle into entries, metadata and a structure. Methods that visit a
// value return what stands for it in the structure.
type walker struct {
	*file
	entries []foundEntry
	meta    map[string]string
	opaque  map[string]bool
	visits  int               // of containers that are still allowed
	left    int               // bytes of names and metadata that may still be made
	exact   bool              // names and metadata are as written by save
	implied bool              // the structure is one that save makes of names
	within  map[any]int       // containers that the value is in, and the number of objects around each
	objects int               // that the value is in
	noArray map[any]bool      // containers without arrays, of those asked for
	modules int               // in the outermost module that the value is in
	kept    map[string]int    // what keptAs counts
	err     error             // the first one, which ends the walk
	renamed map[string]string // names that other keys of a dict would have, too, by those that they have
}

// A foundEntry is an array, or one that cannot be read.
type foundEntry struct {
	serialize.Entry
	err       error
	kind      string             // see kindOf
	reference *pickle.Persistent // in the structure
}

func newWalker(f *file) *walker {
	return &walker{
		file: f, entries: make([]foundEntry, 0, f.count), meta: map[string]string{}, opaque: map[string]bool{}, kept: map[string]int{},
		within: map[any]int{}, noArray: map[any]bool{}, renamed: map[string]string{}, visits: f.visits(), left: f.memory,
	}
}

// walk lists the tensors of the file.
func (f *file) walk() (*serialize.List, error) {
	w := newWalker(f)
	root := f.root
	f.root = nil // names and tensors are in the entries
	structure := w.outermost(root)
	if w.err != nil {
		return nil, w.err
	}
	if !w.exact && len(w.opaque) > 0 {
		w.meta[metaOpaque] = strings.Join(slices.Sorted(maps.Keys(w.opaque)), ", ")
	}
	list := serialize.NewList(len(w.entries), w.meta, f.sections.Close)
	names := make([]string, len(w.entries))
	again := map[string]int{} // by name
	for i, found := range w.entries {
		e := found.Entry
		if _, again := w.meta[e.Name]; again {
			w.omit(e.Name, loss.Value, 1, "another value has this name")
		}
		if name := w.renamed[e.Name]; list.Has(name) {
			e.Renamed = name
		}
		for name := e.Name; list.Has(e.Name); { // keys 1 and "1" are different ones in Python
			again[name]++
			e.Name, e.Renamed = fmt.Sprintf("%s'%d", name, again[name]+1), name
		}
		names[i] = e.Name
		if err := list.Add(e, found.err); err != nil {
			return nil, err
		}
	}
	return list, cmp.Or(w.err, w.noteStructure(structure, names))
}

// check keeps the first error of the walk, which visits nothing more.
func (w *walker) check(err error) {
	if w.err == nil {
		w.err = err
	}
}

// fail ends the walk.
func (w *walker) fail(err error) any {
	w.check(err)
	return absent{}
}

// value visits a value and what it contains.
func (w *walker) value(path string, value any, depth int) any {
	if isContainer(value) {
		if err := w.enter(depth); err != nil {
			w.check(fmt.Errorf("%.40q: %w", path, err))
		}
	}
	if w.err != nil {
		return absent{}
	}
	switch value := value.(type) {
	case *pickle.Persistent:
		return w.persistent(path, value)
	case *pickle.Object:
		return w.object(path, value, depth)
	case *pickle.Dict:
		return w.inside(path, value, func() any { return w.dict(path, value, depth) })
	case pickle.Tuple:
		return w.list(path, value, depth)
	case *pickle.List, *pickle.Set:
		return w.inside(path, value, func() any { return w.list(path, value, depth) })
	}
	return w.noteText(path, value, depth)
}

// inside visits what a value that others can refer to contains. A value that contains itself is an
// error, unless an object of a class is in between: OneCycleLR before PyTorch 2.1 has a method of
// itself in its state.
func (w *walker) inside(path string, container any, visit func() any) any {
	_, isObject := container.(*pickle.Object)
	if objects, again := w.within[container]; again {
		if isObject || w.objects > objects {
			w.omit(path, loss.Link, 1, "it refers to a value that it is in")
			return absent{}
		}
		return w.fail(fmt.Errorf("%.40q: values contain themselves: it is one that it is in: %w", path, storage.ErrState))
	}
	w.within[container] = w.objects
	defer delete(w.within, container)
	if isObject {
		w.objects++
		defer func() { w.objects-- }()
	}
	return visit()
}

// visits bounds the visits of containers. A container is visited once for each reference to
// it: a short pickle of lists that refer to one another can stand for any number of values.
func (f *file) visits() int { return 100_000 + 2*int(f.pickled) }

// enter counts a container.
func (w *walker) enter(depth int) error {
	if w.visits--; w.visits < 0 || depth > maxDepth {
		return fmt.Errorf("values contain themselves, or too many others: %w", storage.ErrState)
	}
	return nil
}

// add adds an array of a kind.
func (w *walker) add(e serialize.Entry, kind string, err error) any {
	if len(w.entries) == maxEntries {
		return w.fail(fmt.Errorf("more than %d arrays", maxEntries))
	}
	reference := &pickle.Persistent{}
	w.entries = append(w.entries, foundEntry{e, err, kind, reference})
	return reference
}

// noteText adds a value as metadata.
func (w *walker) noteText(path string, value any, depth int) any {
	if path == "" {
		path = "value"
	}
	value, text, err := w.cleanText(value, depth, w.keptAs)
	if err != nil {
		return w.fail(fmt.Errorf("%.40q: %w", path, err))
	}
	w.omitKept(path)
	if _, again := w.meta[path]; again { // a key with a slash is like two keys
		w.omit(path, loss.Value, 1, "another value has this name")
		return absent{}
	}
	w.meta[path] = text
	w.check(w.take(path, len(path)+len(text)))
	return &pickle.Persistent{ID: pickle.Tuple{textReference, path, value}}
}

// take accounts for n bytes of the name or the metadata at a path. A short file can repeat a
// long key at every depth, and a long text in every list.
func (w *walker) take(path string, n int) error {
	if w.left -= n; w.left < 0 {
		return fmt.Errorf("%.40q: names and metadata take more memory than allowed: %w", path, storage.ErrState)
	}
	return nil
}

// addUnsupported adds an array that is listed and not read.
func (w *walker) addUnsupported(path string, unsupported *unsupportedError) any {
	e, err := serialize.Unsupported(path, unsupported.shape, unsupported.kind)
	if e.Elements != nil {
		err = unsupported
	}
	return w.add(e, "", err)
}

// child visits a value below a path.
func (w *walker) child(path, separator, key string, value any, depth int) any {
	if path != "" {
		n := len(path) + len(separator) + len(key)
		if n > maxName {
			return w.fail(fmt.Errorf("%.40q: a name of more than %d bytes: %w", path, maxName, storage.ErrState))
		}
		w.check(w.take(path, n))
		key = path + separator + key
	}
	return w.value(key, value, depth+1)
}

func (w *walker) dict(path string, d *pickle.Dict, depth int) any {
	made := &pickle.Dict{}
	if d.Class == typeOrdered || d.Class == typeCounter {
		made.Class = d.Class
	}
	if path == "" { // PyTorch's dicts of tensors are OrderedDicts
		made.Class = typeOrdered
	}
	w.omitDict(path, d, made)
	if len(d.Keys) == 0 && path != "" {
		return w.noteText(path, made, depth)
	}
	parts, keys := w.partsOf(path, d)
	for i, part := range parts {
		put(made, keys[i], w.child(path, "/", part, d.Values[i], depth))
	}
	return made
}

// list visits a list, tuple or set. One of scalars alone is metadata as a whole.
func (w *walker) list(path string, value any, depth int) any {
	var items []any
	name := "list"
	switch value := value.(type) {
	case *pickle.List:
		items = value.Items
	case pickle.Tuple:
		items, name = value, "tuple"
	case *pickle.Set:
		items = value.Items
	}
	if !slices.ContainsFunc(items, containsMore) {
		return w.noteText(path, value, depth)
	}
	if class := pickle.TypeOf(value); class != name { // a deque or a set
		w.keptAs(class, name)
		w.omitKept(path)
	}
	visited := make([]any, len(items))
	for i, item := range items {
		visited[i] = w.child(path, "/", strconv.Itoa(i), item, depth)
	}
	return sequence(visited, name == "tuple")
}

// persistent visits a storage without a tensor.
func (w *walker) persistent(path string, p *pickle.Persistent) any {
	if path == "" {
		path = w.in.ArrayName()
	}
	s, err := storageOf(p)
	id, _ := p.ID.(pickle.Tuple)
	if class, ok := argument(id, 1).(pickle.Global); ok && argument(id, 0) == "module" { // as legacy files have them
		return w.noteText(path, class, 0)
	}
	if err != nil {
		w.opaque["persistent id"] = true
		return w.noteText(path, "not read: "+err.Error(), 0)
	}
	w.keptAs("storage", "tensor")
	w.omitKept(path)
	e, err := w.entry(path, tensor{storageRef: s, element: s.element, offset: s.offset, shape: []int{s.numel - s.offset}, stride: []int{1}})
	return w.add(e, "", err)
}

// object visits a tensor, an array of NumPy, a module, or an object of an unknown class.
func (w *walker) object(path string, o *pickle.Object, depth int) any {
	t, err := tensorOf(o, 0)
	var unsupported *unsupportedError
	switch {
	case err == nil:
		w.omitSubclass(path, o)
		return w.tensor(path, o, t, depth)
	case errors.As(err, &unsupported):
		return w.addUnsupported(path, unsupported)
	case err != errNoTensor:
		return w.add(serialize.Entry{Name: path}, "", err)
	case o.Is("torch._utils._rebuild_device_tensor_from_numpy") && len(o.Args) > 0:
		return w.value(path, o.Args[0], depth+1)
	case isNumPyArray(o):
		a, err := numpyArray(o)
		if errors.As(err, &unsupported) {
			return w.addUnsupported(path, unsupported)
		}
		w.keptAs(arrayClass(o), "array, as a tensor in .pt")
		w.omitKept(path)
		return w.add(serialize.Entry{Name: path, Array: a}, "", err)
	case o.Is("numpy.ma.core._mareconstruct"): // state (1, shape, dtype, ...)
		var state pickle.Tuple
		if len(o.State) > 0 {
			state, _ = o.State[0].(pickle.Tuple)
		}
		shape, _ := ints(argument(state, 1))
		return w.addUnsupported(path, &unsupportedError{"numpy.ma.MaskedArray", shape, "save x.filled()"})
	case isNumPyScalar(o):
		if _, err := numpyScalar(o); errors.As(err, &unsupported) {
			return w.addUnsupported(path, unsupported)
		}
		return w.noteText(path, o, depth)
	case isEscaped(o):
		w.omit(path, loss.Value, 1, "text with surrogates, which is not Unicode; they are kept as escapes")
		return w.noteText(path, o, depth)
	case isScalar(o):
		return w.noteText(path, o, depth)
	}
	return w.inside(path, o, func() any {
		if module := moduleOf(o); module != nil {
			w.opaque[pickle.TypeOf(o)] = true
			return w.outermostModule(path, o, module, depth)
		}
		w.omitClass(path, o)
		return w.instance(path, o, depth)
	})
}

// tensor adds a tensor with the attributes that a program has set on it.
func (w *walker) tensor(path string, o *pickle.Object, t tensor, depth int) any {
	e, err := w.entry(path, t)
	attributes, kind := attributesOf(o), ""
	if w.modules == 0 { // the tensors of a state_dict are plain
		kind = kindOf(o)
	}
	if attributes != nil {
		e.Attrs = make(map[string]any, len(attributes.Keys))
		for i, key := range attributes.Keys {
			name, value := w.keyText(key), attributes.Values[i]
			if !isText(value) {
				w.omitAttribute(path, name, value)
				continue
			}
			_, text, err := w.cleanText(value, depth, w.keptAs)
			if err != nil {
				return w.fail(fmt.Errorf("%.40q: %w", path, err))
			}
			w.check(w.take(path, len(name)+len(text)))
			e.Attrs[name] = text
		}
	}
	return w.add(e, kind, err)
}

// instance visits the state, the items and the arguments of an object of an unknown class.
func (w *walker) instance(path string, o *pickle.Object, depth int) any {
	made := &pickle.Dict{}
	put(made, "class", w.noteText(strings.TrimPrefix(path+"/class", "/"), pickle.TypeOf(o), depth))
	parts := slices.Clone(o.State) // a dict, or a pair of one and another for slots
	if o.Items != nil {
		parts = append(parts, o.Items)
	}
	if _, isCall := o.Class.(pickle.Global); o.List != nil {
		parts = append(parts, o.List)
	} else if isCall && len(o.Args) > 0 {
		parts = append(parts, &pickle.List{Items: o.Args})
	}
	for _, part := range parts {
		switch value := w.value(path, part, depth+1).(type) { // a text has the path of the object itself, and is beside it
		case *pickle.Dict:
			made.Keys, made.Values = append(made.Keys, value.Keys...), append(made.Values, value.Values...)
		case *pickle.List:
			for i, item := range value.Items {
				put(made, int64(i), item)
			}
		case pickle.Tuple:
			for i, item := range value {
				put(made, int64(i), item)
			}
		}
	}
	return made
}

// outermostModule visits a module, and notes it if it is in no other one.
func (w *walker) outermostModule(path string, o *pickle.Object, module *pickle.Dict, depth int) any {
	outermost := w.modules == 0
	w.modules++
	made := w.module(path, module, depth)
	if outermost {
		w.omitModule(path, o, w.modules)
		w.modules = 0
	}
	return made
}

// module visits the parameters and buffers of a pickled module under the names that its
// state_dict would have.
func (w *walker) module(path string, module *pickle.Dict, depth int) any {
	transient := textsOf(module, "_non_persistent_buffers_set")
	w.omitAttributes(path, module)
	made := &members{}
	for _, kind := range moduleParts {
		value, _ := module.Get(kind)
		parts, _ := value.(*pickle.Dict)
		if parts == nil {
			continue
		}
		for i, key := range parts.Keys {
			if name, _ := key.(string); kind == "_buffers" && transient[name] {
				w.omit(memberPath(path, name), loss.Attribute, 1, "a buffer that is not persistent, so the state_dict of the module does not have it")
				continue
			}
			if parts.Values[i] == nil {
				continue
			}
			name := w.keyText(key)
			put(&made.Dict, name, w.child(path, ".", name, parts.Values[i], depth))
		}
	}
	return made
}

// textsOf returns the strings in a set that is an attribute of a module.
func textsOf(module *pickle.Dict, name string) map[string]bool {
	value, _ := module.Get(name)
	texts := map[string]bool{}
	if set, ok := value.(*pickle.Set); ok {
		for _, item := range set.Items {
			if text, isText := item.(string); isText {
				texts[text] = true
			}
		}
	}
	return texts
}
