package torch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
)

// Metadata about the file itself, beside its structure.
const (
	metaUnwrapped = "torch.unwrapped" // the key whose value is the model
	metaOutside   = "torch.outside"   // the names of tensors beside the model, a JSON list
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
func (w *walker) outermost(value any) any {
	d, ok := value.(*pickle.Dict)
	if !ok {
		path := ""
		if isArray(value) {
			path = w.in.ArrayName()
		}
		return ordered(w.value(path, value, 0))
	}
	own, ok := ownMeta(d)
	if ok {
		w.exact = true
		return w.saved(d, own)
	}
	for i, key := range d.Keys {
		if isOptimizer(d.Values[i]) {
			w.meta[metaOptimizer] = w.keyText(key)
		}
	}
	if name := wrapperOf(d); name != "" {
		w.meta[metaUnwrapped] = name
		return w.wrapped(d, name)
	}
	return w.model(d, 0)
}

// wrapped visits a dict with a model under a key, whose names are those of the model, and
// other values, whose names begin with their keys.
func (w *walker) wrapped(d *pickle.Dict, name string) any {
	made := &pickle.Dict{Class: typeOrdered}
	w.omitDict("", d, made)
	parts, keys := w.partsOf("", d)
	var outside []string
	for i, path := range parts {
		if isArray(d.Values[i]) {
			outside = append(outside, path)
		}
		if d.Keys[i] == name {
			put(made, keys[i], w.model(d.Values[i], 1))
		} else {
			put(made, keys[i], w.value(path, d.Values[i], 1))
		}
	}
	if outside != nil {
		list, err := json.Marshal(outside)
		w.check(err)
		w.meta[metaOutside] = string(list)
	}
	return made
}

// model visits the model, without the prefixes of its names.
func (w *walker) model(value any, depth int) any {
	first := len(w.entries)
	made := ordered(w.value("", value, depth))
	if d, ok := made.(*pickle.Dict); ok && !w.exact {
		w.cutPrefixes(w.entries[first:], d)
	}
	return made
}

// ordered returns the dict of a module as PyTorch has state_dicts, and other values as they are.
func ordered(made any) any {
	if module, ok := made.(*members); ok {
		module.Class = typeOrdered
		return &module.Dict
	}
	return made
}

// saved visits a dict that save has written, with its own attribute.
func (w *walker) saved(d, own *pickle.Dict) any {
	value, _ := own.Get("model")
	structured, _ := own.Get("structured")
	w.implied = structured != true
	var made any
	if name, unwrapped := value.(string); unwrapped {
		made = w.wrapped(d, name)
	} else {
		made = w.model(d, 0)
	}
	clear(w.meta) // the values in the tree are copies
	meta, _ := own.Get("meta")
	list, _ := meta.(*pickle.Dict)
	for i := 0; list != nil && i < len(list.Keys); i++ {
		name, isText := list.Keys[i].(string)
		value, alsoText := list.Values[i].(string)
		if !isText || !alsoText {
			return w.fail(fmt.Errorf("metadata %s is not a string", pickle.Describe(list.Keys[i])))
		}
		w.meta[name] = value
	}
	return made
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

// cutPrefixes removes the prefixes that all names of the model have, whose structure is a dict.
func (w *walker) cutPrefixes(model []foundEntry, d *pickle.Dict) {
	for again := len(model) > 0; again; {
		again = false
		for _, prefix := range prefixes {
			if slices.ContainsFunc(model, func(e foundEntry) bool { return !strings.HasPrefix(e.Name, prefix) || e.Name == prefix }) {
				continue
			}
			for i := range model {
				model[i].Name = model[i].Name[len(prefix):]
			}
			for i, key := range d.Keys {
				if name, isText := key.(string); isText {
					d.Keys[i] = strings.TrimPrefix(name, prefix)
				}
			}
			w.meta[metaPrefix] += prefix
			again = true
		}
	}
	if prefix := w.meta[metaPrefix]; prefix != "" {
		cutModules(d, prefix)
	}
}
