package torch

import (
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
)

// Types of tensors in metaTypes. Without one, a tensor does not require gradients.
const (
	kindParameter = "Parameter"
	kindFrozen    = "Parameter without gradient"
	kindGradient  = "tensor with gradient"
)

// allKinds is the path that stands for all arrays, if they are of one kind.
const allKinds = "**"

// kindOf returns the kind of a tensor.
func kindOf(o *pickle.Object) string {
	class, _ := o.Class.(pickle.Global)
	requires := func(i int) bool { return argument(o.Args, i) == true }
	switch class.Name {
	case "_rebuild_parameter", "_rebuild_parameter_with_state", "Parameter":
		if requires(1) {
			return kindParameter
		}
		return kindFrozen
	case "_rebuild_from_type_v2", "_rebuild_from_type":
		args, _ := argument(o.Args, 2).(pickle.Tuple)
		return kindOf(&pickle.Object{Class: argument(o.Args, 0), Args: args})
	case "_rebuild_tensor_v2", "_rebuild_tensor_v3":
		if requires(4) {
			return kindGradient
		}
	case "_rebuild_device_tensor_from_cpu_tensor", "_rebuild_device_tensor_from_numpy":
		if requires(3) {
			return kindGradient
		}
	}
	return ""
}

// noteKinds notes the kinds of all entries.
func (w *walker) noteKinds() error {
	kinds, all := map[string]bool{}, len(w.entries) > 1
	for _, e := range w.entries {
		if e.kind == "" {
			all = false
			continue
		}
		kinds[e.kind] = true
	}
	if all && len(kinds) == 1 {
		return w.noteType(allKinds, slices.Collect(maps.Keys(kinds))[0])
	}
	for _, e := range w.entries {
		if e.kind == "" {
			continue
		}
		if err := w.noteType(e.Name, e.kind); err != nil {
			return err
		}
	}
	return nil
}

// kind returns the kind of the tensor of a name. Only some elements have gradients.
func (t *treeWriter) kind(name string, typ dtype.Type) string {
	kind, ok := t.types[name]
	if !ok {
		kind = t.types[allKinds]
	}
	if !typ.IsFloat() && !typ.IsComplex() {
		switch kind {
		case kindParameter:
			return kindFrozen
		case kindGradient:
			return ""
		}
	}
	return kind
}

// tensor returns the call that makes tensor i of a plan, which has that name.
func (t *treeWriter) tensor(plan *serialize.Plan, i int, name string) any {
	view := plan.Views[i]
	call := tensorCall(plan, view)
	kind := t.kind(name, plan.Storages[view.Storage].Type)
	switch kind {
	case kindGradient:
		call.Args[4] = true
	case kindParameter, kindFrozen:
		args := pickle.Tuple{call, kind == kindParameter, &pickle.Dict{Class: typeOrdered}}
		return &pickle.Object{Class: pickle.Global{Module: "torch._utils", Name: "_rebuild_parameter"}, Args: args}
	}
	return call
}

// metaModules has what load_state_dict of PyTorch finds in the attribute _metadata of a state_dict:
// a JSON object of objects by the path of the dict and the name of a module. Modules of version 1,
// which are most, are left out.
const metaModules = "torch.modules"

const modulesAttribute = "_metadata"

// noteModules notes the attribute of the dict at a path, if it is of the kind that PyTorch writes.
func (w *walker) noteModules(path string, attribute any) (ok bool) {
	of, ok := plain(attribute, 0)
	modules, isObject := of.(map[string]any)
	if !ok || !isObject {
		return false
	}
	maps.DeleteFunc(modules, func(_ string, info any) bool {
		object, _ := info.(map[string]any)
		return len(object) == 1 && object["version"] == int64(1)
	})
	if len(modules) > 0 {
		w.states[path] = modules
	}
	return true
}

// plain returns a value of dicts with text as keys, text, integers and the like, as package json
// writes it.
func plain(value any, depth int) (any, bool) {
	switch value := value.(type) {
	case nil, bool, int64, string:
		return value, true
	case *pickle.Dict:
		object := make(map[string]any, len(value.Keys))
		for i, key := range value.Keys {
			name, isText := key.(string)
			inner, ok := plain(value.Values[i], depth+1)
			if !isText || !ok || depth > 3 {
				return nil, false
			}
			object[name] = inner
		}
		return object, true
	}
	return nil, false
}

// cutModules removes a prefix of the names of the model from those of its modules. A module
// around them, such as a DistributedDataParallel, gives way to the module that gets its name.
func (w *walker) cutModules(prefix string) {
	modules, _ := w.states[""].(map[string]any)
	if prefix == "" || modules == nil {
		return
	}
	cut := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(modules)) {
		inner, isInner := strings.CutPrefix(name+".", prefix)
		if _, taken := modules[strings.TrimSuffix(prefix+name, ".")]; isInner || !taken {
			cut[strings.TrimSuffix(inner, ".")] = modules[name]
		}
	}
	w.states[""] = cut
}

// putModules gives the dicts of a tree their attribute.
func (t *treeWriter) putModules(text string) {
	states, _ := valueOf(text).(*pickle.Dict)
	if states == nil {
		return
	}
	for i, key := range states.Keys {
		path, _ := key.(string)
		modules, _ := states.Values[i].(*pickle.Dict)
		d := t.groups[path]
		if path == "" {
			d = t.model
		}
		if d == nil || modules == nil {
			continue
		}
		modules.Class = typeOrdered
		attributes := &pickle.Dict{}
		attributes.Set(modulesAttribute, modules)
		d.State = append(d.State, attributes)
	}
}
