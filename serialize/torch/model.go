package torch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
)

// Metadata about the file itself.
const (
	metaUnwrapped = "torch.unwrapped" // the key whose value is the model
	metaOutside   = "torch.outside"   // the names of tensors beside the model, a JSON list
	metaKeys      = "torch.keys"      // the names of the model's tensors that are one key with slashes, a JSON list
	metaInside    = "torch.inside"    // the keys of the model whose values are not tensors, a JSON list
	metaBeside    = "torch.beside"    // "true" if tensors are beside other values, and none of these is the model
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

// outermost visits the outermost value.
func (w *walker) outermost(value any) error {
	if isArray(value) {
		w.types[""] = typeTensor
		return w.value(w.in.ArrayName(), value, 0)
	}
	d, ok := value.(*pickle.Dict)
	if o, isObject := value.(*pickle.Object); isObject && moduleOf(o) == nil {
		w.meta[metaBeside] = "true"
	}
	if !ok {
		return w.value("", value, 0)
	}
	if own, ok := ownMeta(d); ok {
		w.exact = true
		return w.saved(d, own)
	}
	for i, key := range d.Keys {
		if isOptimizer(d.Values[i]) {
			w.meta[metaOptimizer] = w.keyText(key)
		}
	}
	if name := wrapperOf(d); name != "" {
		return w.wrapped(d, name)
	}
	if err := w.model(d, 0); err != nil {
		return err
	}
	isOther := func(value any) bool { return !isArray(value) }
	hasSlash := func(e foundEntry) bool { return strings.Contains(e.Name, "/") }
	if slices.ContainsFunc(d.Values, isArray) && (slices.ContainsFunc(d.Values, isOther) || slices.ContainsFunc(w.entries, hasSlash)) {
		w.meta[metaBeside] = "true"
	}
	return nil
}

// wrapped visits a dict with a model under a key, whose names are those of the model, and
// other values, whose names begin with their keys.
func (w *walker) wrapped(d *pickle.Dict, name string) error {
	w.meta[metaUnwrapped] = name
	var outside []string
	if err := w.omitDict("", d); err != nil {
		return err
	}
	parts, err := w.partsOf("", d, "")
	if err != nil {
		return err
	}
	for i, path := range parts {
		if isArray(d.Values[i]) {
			outside = append(outside, path)
		}
		if d.Keys[i] == name {
			err = cmp.Or(w.model(d.Values[i], 1), w.noteInside(d.Values[i]))
		} else {
			err = w.value(path, d.Values[i], 1)
		}
		if err != nil {
			return err
		}
	}
	return w.noteNames(metaOutside, outside)
}

// model visits the model, without the prefixes of its names.
func (w *walker) model(value any, depth int) error {
	first := len(w.entries)
	if err := w.value("", value, depth); err != nil {
		return err
	}
	w.cutPrefixes(w.entries[first:])
	return w.noteKeys(value)
}

// saved visits a dict that save has written, with its own attribute.
func (w *walker) saved(d, own *pickle.Dict) error {
	value, _ := own.Get("model")
	model, unwrapped := value.(string)
	meta, _ := own.Get("meta")
	parts, err := w.partsOf("", d, keyType(d, true))
	if err != nil {
		return err
	}
	for i, path := range parts {
		if unwrapped && d.Keys[i] == model {
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
			if slices.ContainsFunc(inner.Values, isArray) && !sameNames(d, inner) {
				return name
			}
		case *pickle.Object:
			if moduleOf(inner) != nil && !slices.ContainsFunc(d.Values, isArray) {
				return name
			}
		}
	}
	return ""
}

// sameNames reports whether what is beside the model, such as the state of a random number
// generator, has the name of something in it.
func sameNames(d, model *pickle.Dict) bool {
	inside := map[string]bool{}
	for _, key := range model.Keys {
		name, _ := key.(string)
		inside[name] = true
		first, _, _ := strings.Cut(name, "/")
		inside[first] = true
	}
	for i, key := range d.Keys {
		name, isText := key.(string)
		if isText && inside[name] || isArray(d.Values[i]) && (!isText || strings.Contains(name, "/")) {
			return true
		}
	}
	return false
}

// cutPrefixes removes the prefixes that all names of the model have.
func (w *walker) cutPrefixes(model []foundEntry) {
	for again := len(model) > 0; again; {
		again = false
		for _, prefix := range prefixes {
			if slices.ContainsFunc(model, func(e foundEntry) bool { return !strings.HasPrefix(e.Name, prefix) || e.Name == prefix }) {
				continue
			}
			for i := range model {
				model[i].Name = model[i].Name[len(prefix):]
			}
			w.meta[metaPrefix] += prefix
			again = true
		}
	}
	w.cutModules(w.meta[metaPrefix])
}

// noteKeys notes which keys of the model have slashes, which else are between keys.
func (w *walker) noteKeys(model any) error {
	d, _ := model.(*pickle.Dict)
	if d == nil {
		return nil
	}
	var keys []string
	for i, key := range d.Keys {
		if name := w.keyText(key); strings.Contains(name, "/") && isArray(d.Values[i]) {
			keys = append(keys, strings.TrimPrefix(name, w.meta[metaPrefix]))
		}
	}
	return w.noteNames(metaKeys, keys)
}

// noteInside notes which keys of the model do not have tensors as values.
func (w *walker) noteInside(model any) error {
	d, _ := model.(*pickle.Dict)
	if d == nil {
		return nil
	}
	var keys []string
	for i, key := range d.Keys {
		if !isArray(d.Values[i]) {
			keys = append(keys, w.keyText(key))
		}
	}
	return w.noteNames(metaInside, keys)
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
