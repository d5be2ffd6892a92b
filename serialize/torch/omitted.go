package torch

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/loss"
)

// Omitted implements serialize.Omitter: it names the Python objects of which only the values are
// read, and what a state_dict does not have of modules.
func (f *file) Omitted() loss.List { return f.omitted }

// omit notes what neither the arrays nor the metadata have of the value at a path.
func (w *walker) omit(path string, kind loss.Kind, n int, format string, args ...any) {
	before := len(w.omitted)
	if w.omitted.AddInherent("/"+path, kind, n, format, args...); len(w.omitted) > before {
		const item = 64 // bytes, about
		w.check(w.take(path, item+len(path)+len(w.omitted[before].Reason)))
	}
}

// omitClass notes that an object becomes the values that it was made of.
func (w *walker) omitClass(path string, o *pickle.Object) {
	w.opaque[pickle.TypeOf(o)] = true
	w.omit(path, loss.Type, 1, "an object of class %s; its values are kept, and its class as text", classOf(o))
}

// classOf returns the class of an object. Legacy files store classes of modules with their source
// text outside of the pickle: ('module', class, file, source).
func classOf(o *pickle.Object) string {
	class := o.Class
	if p, ok := class.(*pickle.Persistent); ok {
		if id, ok := p.ID.(pickle.Tuple); ok {
			class = argument(id, 1)
		}
	}
	if g, ok := class.(pickle.Global); ok {
		return g.String()
	}
	return "a class without a name"
}

// omitAttribute notes an attribute of a tensor that has no text.
func (w *walker) omitAttribute(path, name string, value any) {
	what := "of type " + pickle.TypeOf(value)
	if isArray(value) {
		what = "an array"
	}
	w.omit(path, loss.Attribute, 1, "%.40q is %s, and attributes are numbers, texts and lists of them", name, what)
}

// plainTensors are the classes of tensors that become plain ones without a loss.
var plainTensors = []string{"torch.Tensor", "torch._tensor.Tensor", "torch.tensor.Tensor", "torch.nn.parameter.Parameter", "torch.nn.Parameter", "torch.nn.parameter.Buffer", "torch.nn.Buffer"}

// omitSubclass notes the class of a tensor if it is one of a program.
func (w *walker) omitSubclass(path string, o *pickle.Object) {
	if !o.Is("torch._tensor._rebuild_from_type_v2", "torch._tensor._rebuild_from_type", "torch.tensor._rebuild_from_type") {
		return
	}
	class := pickle.TypeOf(argument(o.Args, 1))
	if slices.Contains(plainTensors, class) {
		return
	}
	w.opaque[class] = true
	w.omit(path, loss.Type, 1, "a tensor of class %s is read as a plain one", class)
}

// keptAs counts a value whose class is not kept, until omitKept.
func (w *walker) keptAs(class, as string) { w.kept[class+", which is kept as "+as]++ }

// omitKept notes what keptAs has counted, for the value at a path.
func (w *walker) omitKept(path string) {
	for _, reason := range slices.Sorted(maps.Keys(w.kept)) {
		w.omit(path, loss.Type, w.kept[reason], "%s", reason)
	}
	clear(w.kept)
}

// omitDict notes what is not kept of a dict, and gives what its attributes say of modules to the dict of
// the structure.
func (w *walker) omitDict(path string, d, made *pickle.Dict) {
	if d.Class == "defaultdict" {
		w.keptAs(d.Class, "dict, without its factory")
	}
	if d.Class == typeCounter && path == "" {
		w.keptAs(d.Class, typeOrdered)
	}
	for _, state := range d.State {
		attributes, _ := state.(*pickle.Dict)
		if attributes == nil {
			continue
		}
		for i, key := range attributes.Keys {
			if key == ownAttribute || key == modulesAttribute && setModules(made, attributes.Values[i]) {
				continue
			}
			w.omit(path, loss.Attribute, 1, "attribute %.40s of an OrderedDict", w.keyText(key))
		}
	}
	w.omitKept(path)
}

// moduleParts are the attributes of every torch.nn.Module that are not tensors of a program.
var moduleParts = []string{"_parameters", "_buffers", "_modules"}

// omitModule notes a module that is in no other one. It counts n modules with those in it.
func (w *walker) omitModule(path string, o *pickle.Object, modules int) {
	others := ""
	if modules > 1 {
		others = fmt.Sprintf(", the outermost of %d modules", modules)
	}
	w.omit(path, loss.Type, modules, "a module of class %s%s: the arrays of its state_dict are read, and neither its program nor other attributes", classOf(o), others)
}

// omitAttributes notes the tensors of a module that its state_dict does not have: attributes, and
// buffers that are not persistent.
func (w *walker) omitAttributes(path string, module *pickle.Dict) {
	for i, key := range module.Keys {
		if name, isText := key.(string); isText && slices.Contains(moduleParts, name) || !w.hasArray(module.Values[i]) {
			continue
		}
		w.omit(memberPath(path, w.keyText(key)), loss.Attribute, 1, "the state_dict of the module does not have it")
	}
}

// memberPath returns the path of a member of the module at a path.
func memberPath(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// hasArray reports whether a value is or contains an array, but for values that it is in.
func (w *walker) hasArray(value any) bool {
	if !isContainer(value) {
		return false
	}
	seen, list := map[any]bool{}, []any{value}
	for len(list) > 0 {
		value := list[len(list)-1]
		list = list[:len(list)-1]
		if isArray(value) {
			return true
		}
		if p, ok := referred(value); ok {
			if _, around := w.within[p]; around || seen[p] || w.noArray[p] {
				continue
			}
			seen[p] = true
		}
		if w.visits--; w.visits < 0 {
			return false // and the walk ends with an error
		}
		list = slices.AppendSeq(list, contained(value))
	}
	maps.Copy(w.noArray, seen)
	return false
}
