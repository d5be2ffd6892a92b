package torch

import (
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
)

// Kinds of tensors in the structure. One without does not require gradients.
const (
	kindParameter = "Parameter"
	kindFrozen    = "Parameter without gradient"
	kindGradient  = "tensor with gradient"
)

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

// tensorOfKind returns the call that makes tensor i of a plan, of a kind. Only some elements have gradients.
func tensorOfKind(plan *serialize.Plan, i int, kind string) *pickle.Object {
	view := plan.Views[i]
	made := tensorCall(plan, view)
	typ := plan.Storages[view.Storage].Type
	differentiable := typ.IsFloat() || typ.IsComplex()
	switch kind {
	case kindGradient:
		made.Args[4] = differentiable
	case kindParameter, kindFrozen:
		return call("torch._utils", "_rebuild_parameter", made, kind == kindParameter && differentiable, &pickle.Dict{Class: typeOrdered})
	}
	return made
}

// modulesAttribute is what load_state_dict of PyTorch finds beside a state_dict: dicts by the names of modules.
const modulesAttribute = "_metadata"

// setModules gives a dict of the structure the attribute of modules, if it is of the kind that PyTorch
// writes. Modules of version 1, which are most, are left out.
func setModules(d *pickle.Dict, attribute any) (ok bool) {
	found, ok := plain(attribute, 0)
	all, isDict := found.(*pickle.Dict)
	if !ok || !isDict {
		return false
	}
	modules := &pickle.Dict{Class: typeOrdered}
	for i, name := range all.Keys {
		info, _ := all.Values[i].(*pickle.Dict)
		if version, _ := info.Get("version"); info == nil || len(info.Keys) > 1 || version != int64(1) {
			put(modules, name, all.Values[i])
		}
	}
	if len(modules.Keys) > 0 {
		d.State = []any{&pickle.Dict{Keys: []any{modulesAttribute}, Values: []any{modules}}}
	}
	return true
}

// plain returns a copy of a value of dicts with text as keys, text, integers and the like.
func plain(value any, depth int) (any, bool) {
	switch value := value.(type) {
	case nil, bool, int64, string:
		return value, true
	case *pickle.Dict:
		made := &pickle.Dict{}
		for i, key := range value.Keys {
			_, isText := key.(string)
			inner, ok := plain(value.Values[i], depth+1)
			if !isText || !ok || depth > 3 || made.Set(key, inner) != nil {
				return nil, false
			}
		}
		return made, true
	}
	return nil, false
}

// modulesOf returns the attribute of modules of a dict of the structure, or nil.
func modulesOf(d *pickle.Dict) *pickle.Dict {
	if len(d.State) == 0 {
		return nil
	}
	attributes, _ := d.State[0].(*pickle.Dict)
	if attributes == nil || len(attributes.Keys) != 1 || attributes.Keys[0] != modulesAttribute {
		return nil
	}
	modules, _ := attributes.Values[0].(*pickle.Dict)
	return modules
}

// cutModules removes a prefix of a model's names from the names of its modules. A module
// around them, such as a DistributedDataParallel, gives way to the module that gets its name.
func cutModules(model *pickle.Dict, prefix string) {
	modules := modulesOf(model)
	if modules == nil {
		return
	}
	cut := &pickle.Dict{Class: typeOrdered}
	for i, key := range modules.Keys {
		name := key.(string)
		inner, isInner := strings.CutPrefix(name+".", prefix)
		taken := slices.Contains(modules.Keys, any(strings.TrimSuffix(prefix+name, ".")))
		if isInner || !taken {
			put(cut, strings.TrimSuffix(inner, "."), modules.Values[i])
		}
	}
	*modules = *cut
}
