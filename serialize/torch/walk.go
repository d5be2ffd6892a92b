package torch

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/arrayfmt"
	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
)

// Metadata about the file itself.
const (
	metaUnwrapped = "torch.unwrapped" // the key whose value is the model
	metaOutside   = "torch.outside"   // the names of tensors beside the model, a JSON list
	metaKeys      = "torch.keys"      // the names of the model's tensors that are one key with slashes, a JSON list
	metaBeside    = "torch.beside"    // "true" if tensors are beside dicts, and none of these is the model
	metaPrefix    = "torch.prefix"    // what was cut off all names of the model
	metaOptimizer = "torch.optimizer" // the key of an optimizer's state
	metaOpaque    = "torch.opaque"    // classes of objects that were left alone
)

// ownAttribute is the attribute of the outermost OrderedDict in which save keeps what
// PyTorch has no place for. Unpickling sets it, and load_state_dict does not look at it.
const ownAttribute = "h5dnn"

// wrappers are the keys under which programs save a state_dict beside other things.
var wrappers = []string{"state_dict", "model_state_dict", "model", "net", "ema"}

// prefixes are put before all names by DistributedDataParallel and torch.compile.
var prefixes = []string{"module.", "_orig_mod."}

const (
	maxDepth   = 1000
	maxEntries = 1 << 20
	maxName    = 1 << 16 // bytes
)

// A walker turns the value of a pickle into entries and metadata.
type walker struct {
	*file
	entries []foundEntry
	meta    map[string]string
	opaque  map[string]bool
	visits  int  // of containers that are still allowed
	left    int  // bytes of names and metadata that may still be made
	exact   bool // names and metadata are those of save
}

type foundEntry struct {
	serialize.Entry
	err error
}

// walk lists the tensors of the file.
func (f *file) walk() (*serialize.List, error) {
	w := &walker{file: f, entries: make([]foundEntry, 0, f.count), meta: map[string]string{}, opaque: map[string]bool{}, visits: f.visits(), left: f.in.Budget.Limit()}
	if err := w.top(f.root); err != nil {
		return nil, err
	}
	if !w.exact && len(w.opaque) > 0 {
		w.meta[metaOpaque] = strings.Join(slices.Sorted(maps.Keys(w.opaque)), ", ")
	}
	list := serialize.NewList(len(w.entries), w.meta, f.sections.Close)
	again := map[string]int{} // by name
	for _, e := range w.entries {
		for name := e.Name; list.Has(e.Name); { // keys 1 and "1" are different ones in Python
			again[name]++
			e.Name, e.Renamed = fmt.Sprintf("%s'%d", name, again[name]+1), name
		}
		if err := list.Add(e.Entry, e.err); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// top visits the outermost value.
func (w *walker) top(root any) error {
	if isTensor(root) {
		return w.value(w.in.ArrayName(), root, 0)
	}
	d, ok := root.(*pickle.Dict)
	if !ok {
		return w.value("", root, 0)
	}
	if own, ok := ownMeta(d); ok {
		w.exact = true
		return w.exactly(d, own)
	}
	for i, key := range d.Keys {
		if isOptimizer(d.Values[i]) {
			w.meta[metaOptimizer] = w.keyText(key)
		}
	}
	name := wrapperOf(d)
	if name == "" {
		if err := w.value("", d, 0); err != nil {
			return err
		}
		w.cutPrefixes(0, len(w.entries))
		if slices.ContainsFunc(d.Values, isTensor) && slices.ContainsFunc(w.entries, func(e foundEntry) bool { return strings.Contains(e.Name, "/") }) {
			w.meta[metaBeside] = "true"
		}
		return w.noteKeys(d)
	}
	w.meta[metaUnwrapped] = name
	var outside []string
	for i, key := range d.Keys {
		path := w.keyText(key)
		if isTensor(d.Values[i]) {
			outside = append(outside, path)
		}
		if path == name {
			first := len(w.entries)
			if err := w.value("", d.Values[i], 1); err != nil {
				return err
			}
			w.cutPrefixes(first, len(w.entries))
			if err := w.noteKeys(d.Values[i]); err != nil {
				return err
			}
		} else if err := w.value(path, d.Values[i], 1); err != nil {
			return err
		}
	}
	return w.noteNames(metaOutside, outside)
}

// noteKeys notes which keys of the model have slashes, which else are between keys.
func (w *walker) noteKeys(model any) error {
	d, _ := model.(*pickle.Dict)
	if d == nil {
		return nil
	}
	var keys []string
	for i, key := range d.Keys {
		if name, ok := key.(string); ok && strings.Contains(name, "/") && isTensor(d.Values[i]) {
			keys = append(keys, strings.TrimPrefix(name, w.meta[metaPrefix]))
		}
	}
	return w.noteNames(metaKeys, keys)
}

// noteNames adds a list of names as metadata, if there are some.
func (w *walker) noteNames(key string, names []string) error {
	if names == nil {
		return nil
	}
	b, err := json.Marshal(names)
	if err != nil {
		return err
	}
	return w.note(key, string(b))
}

// exactly visits a dict of save.
func (w *walker) exactly(d *pickle.Dict, own *pickle.Dict) error {
	value, _ := own.Get("model")
	model, unwrapped := value.(string)
	meta, _ := own.Get("meta")
	for i, key := range d.Keys {
		path := w.keyText(key)
		if name, ok := key.(string); ok && unwrapped && name == model {
			path = ""
		}
		if err := w.value(path, d.Values[i], 1); err != nil {
			return err
		}
	}
	clear(w.meta) // the values in the tree are copies
	list, _ := meta.(*pickle.Dict)
	if list == nil {
		return nil
	}
	for i, key := range list.Keys {
		name, isText := key.(string)
		value, alsoText := list.Values[i].(string)
		if !isText || !alsoText {
			return fmt.Errorf("metadata %s is not a string", pickle.Describe(key))
		}
		w.meta[name] = value
	}
	return nil
}

// ownMeta returns what save keeps in an attribute.
func ownMeta(d *pickle.Dict) (*pickle.Dict, bool) {
	for _, state := range d.State {
		attributes, _ := state.(*pickle.Dict)
		if value, ok := attributes.Get(ownAttribute); ok {
			own, ok := value.(*pickle.Dict)
			return own, ok
		}
	}
	return nil, false
}

// wrapperOf returns the key of the model among other things, or "" if the tensors of the
// model are in d itself.
func wrapperOf(d *pickle.Dict) string {
	for _, name := range wrappers {
		switch inner, _ := d.Get(name); inner := inner.(type) {
		case *pickle.Dict:
			if slices.ContainsFunc(inner.Values, isTensor) && !sameNames(d, inner) {
				return name
			}
		case *pickle.Object:
			if moduleOf(inner) != nil && !slices.ContainsFunc(d.Values, isTensor) {
				return name
			}
		}
	}
	return ""
}

// sameNames reports whether a tensor beside the model, such as the state of a random number
// generator, has the name of one in it.
func sameNames(d, model *pickle.Dict) bool {
	for i, key := range d.Keys {
		if name, isText := key.(string); isTensor(d.Values[i]) {
			if _, both := model.Get(name); both || !isText || strings.Contains(name, "/") {
				return true
			}
		}
	}
	return false
}

func isTensor(value any) bool {
	switch value := value.(type) {
	case *pickle.Persistent:
		_, err := storageOf(value)
		return err == nil
	case *pickle.Object:
		_, err := tensorOf(value, 0)
		return err != errNoTensor
	}
	return false
}

// isOptimizer reports whether value looks like the state_dict of an optimizer.
func isOptimizer(value any) bool {
	d, _ := value.(*pickle.Dict)
	_, state := d.Get("state")
	_, groups := d.Get("param_groups")
	return state && groups
}

// cutPrefixes removes the prefixes that all names of the model have.
func (w *walker) cutPrefixes(first, last int) {
	model := w.entries[first:last]
	var cut strings.Builder
	for again := len(model) > 0; again; {
		again = false
		for _, prefix := range prefixes {
			if !slices.ContainsFunc(model, func(e foundEntry) bool { return !strings.HasPrefix(e.Name, prefix) }) {
				for i := range model {
					model[i].Name = model[i].Name[len(prefix):]
				}
				cut.WriteString(prefix)
				again = true
			}
		}
	}
	if cut.Len() > 0 {
		w.meta[metaPrefix] += cut.String()
	}
}

// value visits a value and what it contains.
func (w *walker) value(path string, value any, depth int) error {
	if isContainer(value) {
		if err := w.enter(depth); err != nil {
			return fmt.Errorf("%.40q: %w", path, err)
		}
	}
	switch value := value.(type) {
	case *pickle.Persistent:
		return w.persistent(path, value)
	case *pickle.Object:
		return w.object(path, value, depth)
	case *pickle.Dict:
		return w.dict(path, value, depth)
	case *pickle.List:
		return w.sequence(path, value.Items, depth)
	case pickle.Tuple:
		return w.sequence(path, value, depth)
	case *pickle.Set:
		return w.sequence(path, value.Items, depth)
	}
	return w.noteText(path, value, depth)
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

func (w *walker) add(e serialize.Entry, err error) error {
	if len(w.entries) == maxEntries {
		return fmt.Errorf("more than %d arrays", maxEntries)
	}
	w.entries = append(w.entries, foundEntry{e, err})
	return nil
}

// noteText adds a value as metadata.
func (w *walker) noteText(path string, value any, depth int) error {
	text, err := w.text(value, false, depth)
	if err != nil {
		return fmt.Errorf("%.40q: %w", path, err)
	}
	return w.note(path, text)
}

// note adds metadata.
func (w *walker) note(path, text string) error {
	if path == "" {
		path = "value"
	}
	w.meta[path] = text
	return w.take(path, len(path)+len(text))
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
func (w *walker) addUnsupported(path string, unsupported *unsupportedError) error {
	e, err := serialize.Unsupported(path, unsupported.shape, unsupported.kind)
	if e.Elements != nil {
		err = unsupported
	}
	return w.add(e, err)
}

// child visits a value below a path.
func (w *walker) child(path, separator, key string, value any, depth int) error {
	if path != "" {
		n := len(path) + len(separator) + len(key)
		if n > maxName {
			return fmt.Errorf("%.40q: a name of more than %d bytes: %w", path, maxName, storage.ErrState)
		}
		if err := w.take(path, n); err != nil {
			return err
		}
		key = path + separator + key
	}
	return w.value(key, value, depth+1)
}

func (w *walker) dict(path string, d *pickle.Dict, depth int) error {
	if len(d.Keys) == 0 && path != "" {
		return w.note(path, "{}")
	}
	for i, key := range d.Keys {
		if err := w.child(path, "/", w.keyText(key), d.Values[i], depth); err != nil {
			return err
		}
	}
	return nil
}

// sequence visits a list. One of scalars alone is metadata as a whole.
func (w *walker) sequence(path string, items []any, depth int) error {
	if !slices.ContainsFunc(items, w.hasMore) {
		return w.noteText(path, pickle.Tuple(items), depth)
	}
	for i, item := range items {
		if err := w.child(path, "/", strconv.Itoa(i), item, depth); err != nil {
			return err
		}
	}
	return nil
}

// hasMore reports whether an item of a list is not just scalars.
func (w *walker) hasMore(item any) bool {
	switch item := item.(type) {
	case *pickle.Dict, *pickle.Object, *pickle.Persistent, *pickle.Set:
		return true
	case *pickle.List:
		return slices.ContainsFunc(item.Items, isContainer)
	case pickle.Tuple:
		return slices.ContainsFunc(item, isContainer)
	}
	return false
}

func isContainer(item any) bool {
	switch item.(type) {
	case *pickle.Dict, *pickle.Object, *pickle.Persistent, *pickle.Set, *pickle.List, pickle.Tuple:
		return true
	}
	return false
}

// persistent visits a storage without a tensor.
func (w *walker) persistent(path string, p *pickle.Persistent) error {
	if path == "" {
		path = w.in.ArrayName()
	}
	s, err := storageOf(p)
	if err != nil {
		w.opaque["persistent id"] = true
		return w.note(path, "not read: "+err.Error())
	}
	return w.add(w.entry(path, tensor{storageRef: s, element: s.element, offset: s.offset, shape: []int{s.numel - s.offset}, stride: []int{1}}))
}

func (w *walker) object(path string, o *pickle.Object, depth int) error {
	t, err := tensorOf(o, 0)
	var unsupported *unsupportedError
	switch {
	case err == nil:
		return w.add(w.entry(path, t))
	case errors.As(err, &unsupported):
		return w.addUnsupported(path, unsupported)
	case err != errNoTensor:
		return w.add(serialize.Entry{Name: path}, err)
	case o.Is("torch._utils._rebuild_device_tensor_from_numpy") && len(o.Args) > 0:
		return w.value(path, o.Args[0], depth+1)
	case isNumPyArray(o):
		a, err := numpyArray(o)
		if errors.As(err, &unsupported) {
			return w.addUnsupported(path, unsupported)
		}
		return w.add(serialize.Entry{Name: path, Array: a}, err)
	case o.Is("numpy.ma.core._mareconstruct"): // state (1, shape, dtype, ...)
		var state pickle.Tuple
		if len(o.State) > 0 {
			state, _ = o.State[0].(pickle.Tuple)
		}
		shape, _ := ints(argument(state, 1))
		return w.addUnsupported(path, &unsupportedError{"numpy.ma.MaskedArray", shape, "save x.filled()"})
	case isNumPyScalar(o), o.Is("torch.Size"), o.Is("torch.device"):
		return w.noteText(path, o, depth)
	}
	w.opaque[pickle.TypeOf(o)] = true
	if module := moduleOf(o); module != nil {
		return w.module(path, module, depth)
	}
	if err := w.note(strings.TrimPrefix(path+"/class", "/"), pickle.TypeOf(o)); err != nil {
		return err
	}
	for _, state := range o.State { // a dict, or a pair of one and another for slots
		if err := w.value(path, state, depth+1); err != nil {
			return err
		}
	}
	if o.Items != nil {
		if err := w.dict(path, o.Items, depth+1); err != nil {
			return err
		}
	}
	if o.List != nil {
		return w.sequence(path, o.List.Items, depth+1)
	}
	if _, isCall := o.Class.(pickle.Global); isCall && len(o.Args) > 0 {
		return w.sequence(path, o.Args, depth+1)
	}
	return nil
}

// moduleOf returns the attributes of a pickled torch.nn.Module, or nil.
func moduleOf(o *pickle.Object) *pickle.Dict {
	for _, state := range o.State {
		d, _ := state.(*pickle.Dict)
		_, parameters := d.Get("_parameters")
		_, modules := d.Get("_modules")
		if parameters && modules {
			return d
		}
	}
	return nil
}

// module visits the parameters and buffers of a pickled module under the names that its
// state_dict would have.
func (w *walker) module(path string, module *pickle.Dict, depth int) error {
	transient, _ := module.Get("_non_persistent_buffers_set")
	for _, kind := range []string{"_parameters", "_buffers", "_modules"} {
		value, _ := module.Get(kind)
		members, _ := value.(*pickle.Dict)
		if members == nil {
			continue
		}
		for i, key := range members.Keys {
			if set, ok := transient.(*pickle.Set); ok && kind == "_buffers" && slices.Contains(set.Items, key) {
				continue
			}
			if members.Values[i] == nil {
				continue
			}
			if err := w.child(path, ".", w.keyText(key), members.Values[i], depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyText returns a key of a dict as part of a name.
func (w *walker) keyText(key any) string {
	if text, ok := key.(string); ok {
		return text
	}
	text, err := w.text(key, false, 0)
	if err != nil {
		return pickle.TypeOf(key)
	}
	return text
}

// text returns a scalar, or a list of them, as text: JSON, but for strings that are not in
// a list.
func (w *walker) text(value any, quoted bool, depth int) (string, error) {
	if isContainer(value) {
		if err := w.enter(depth); err != nil {
			return "", err
		}
	}
	switch value := value.(type) {
	case nil:
		return "null", nil
	case string:
		if quoted {
			return quote(value), nil
		}
		return value, nil
	case []byte:
		if !utf8.Valid(value) {
			return quoteIf(quoted, bytesLiteral(value)), nil
		}
		return quote(string(value)), nil
	case bool:
		return strconv.FormatBool(value), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case *big.Int:
		return value.String(), nil
	case float64:
		return formatFloat(value), nil
	case complex128:
		return strconv.FormatComplex(value, 'g', -1, 128), nil
	case pickle.Global:
		return quoteIf(quoted, value.String()), nil
	case *pickle.List:
		return w.list(value.Items, depth)
	case pickle.Tuple:
		return w.list(value, depth)
	case *pickle.Object:
		return w.objectText(value, quoted, depth)
	}
	return quoteIf(quoted, pickle.TypeOf(value)), nil
}

func (w *walker) objectText(o *pickle.Object, quoted bool, depth int) (string, error) {
	switch {
	case isNumPyScalar(o):
		a, err := numpyScalar(o)
		if err != nil {
			w.opaque[pickle.TypeOf(o)] = true
			return quoteIf(quoted, "not read: "+err.Error()), nil
		}
		b, _ := a.Bytes()
		return arrayfmt.Cells(a.Type, b)[0], nil
	case o.Is("torch.Size") && len(o.Args) == 1:
		return w.text(o.Args[0], quoted, depth+1)
	case o.Is("torch.device"):
		name, _ := argument(o.Args, 0).(string)
		return quoteIf(quoted, name), nil
	}
	return quoteIf(quoted, pickle.TypeOf(o)), nil
}

func (w *walker) list(items []any, depth int) (string, error) {
	var b strings.Builder
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := w.text(item, true, depth+1)
		if err != nil {
			return "", err
		}
		if b.WriteString(text); b.Len() > maxText {
			return "", fmt.Errorf("a list of more than %d bytes as text", maxText)
		}
	}
	b.WriteByte(']')
	return b.String(), w.take("", b.Len())
}

// maxText bounds the text of a list of scalars.
const maxText = 64 << 20

func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// bytesLiteral returns bytes as Python writes them: b'\x00'.
func bytesLiteral(value []byte) string {
	var b strings.Builder
	b.WriteString("b'")
	for _, c := range value {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

func quoteIf(quoted bool, text string) string {
	if quoted {
		return quote(text)
	}
	return text
}

// formatFloat returns x so that it is read as a float again.
func formatFloat(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !math.IsInf(x, 0) && !math.IsNaN(x) && !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// visit calls do with each value that a value contains, tuples as often as they are
// referred to, and at most limit values.
func visit(root any, limit int, do func(value any) error) error {
	seen := map[any]bool{}
	list := []any{root}
	for len(list) > 0 {
		value := list[len(list)-1]
		list = list[:len(list)-1]
		if limit--; limit < 0 {
			return fmt.Errorf("values contain too many others: %w", storage.ErrState)
		}
		switch value.(type) {
		case *pickle.Dict, *pickle.List, *pickle.Set, *pickle.Object, *pickle.Persistent:
			if seen[value] {
				continue
			}
			seen[value] = true
		}
		if err := do(value); err != nil {
			return err
		}
		switch value := value.(type) {
		case *pickle.Dict:
			list = append(append(append(list, value.Keys...), value.Values...), value.State...)
		case *pickle.List:
			list = append(list, value.Items...)
		case *pickle.Set:
			list = append(list, value.Items...)
		case pickle.Tuple:
			list = append(list, value...)
		case *pickle.Persistent:
			// its id has no storages
		case *pickle.Object:
			list = append(append(append(list, value.Class), value.Args...), value.State...)
			if value.Items != nil {
				list = append(list, value.Items)
			}
			if value.List != nil {
				list = append(list, value.List)
			}
		}
	}
	return nil
}
