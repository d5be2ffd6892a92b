package torch

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/loss"
)

// Omitted implements serialize.Omitter: it names the Python objects of which only the values are
// read, and what a state_dict does not have of modules.
func (f *file) Omitted() loss.List { return f.omitted }

// omit notes what neither the arrays nor the metadata have of the value at a path.
func (w *walker) omit(path string, kind loss.Kind, n int, format string, args ...any) error {
	before := len(w.omitted)
	if w.omitted.AddInherent("/"+path, kind, n, format, args...); len(w.omitted) == before {
		return nil
	}
	const item = 64 // bytes, about
	return w.take(path, item+len(path)+len(w.omitted[before].Reason))
}

// omitClass notes that an object becomes the values that it was made of.
func (w *walker) omitClass(path string, o *pickle.Object) error {
	w.opaque[pickle.TypeOf(o)] = true
	return w.omit(path, loss.Type, 1, "an object of class %s; its values are kept, and its class as text", classOf(o))
}

// omitName notes that a class or a function becomes text. The types of elements are kept.
func (w *walker) omitName(path string, g pickle.Global) error {
	return w.omit(path, loss.Type, 1, "%v is a class or another name that Python imports; it is kept as text", g)
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
func (w *walker) omitAttribute(path, name string, value any) error {
	what := "of type " + pickle.TypeOf(value)
	if isArray(value) {
		what = "an array"
	}
	return w.omit(path, loss.Attribute, 1, "%.40q is %s, and attributes are numbers, texts and lists of them", name, what)
}

// plainTensors are the classes of tensors that become plain ones without a loss.
var plainTensors = []string{"torch.Tensor", "torch._tensor.Tensor", "torch.tensor.Tensor", "torch.nn.parameter.Parameter", "torch.nn.Parameter", "torch.nn.parameter.Buffer", "torch.nn.Buffer"}

// omitSubclass notes the class of a tensor if it is one of a program.
func (w *walker) omitSubclass(path string, o *pickle.Object) error {
	if !o.Is("torch._tensor._rebuild_from_type_v2", "torch._tensor._rebuild_from_type", "torch.tensor._rebuild_from_type") {
		return nil
	}
	class := pickle.TypeOf(argument(o.Args, 1))
	if slices.Contains(plainTensors, class) {
		return nil
	}
	w.opaque[class] = true
	return w.omit(path, loss.Type, 1, "a tensor of class %s is read as a plain one", class)
}

// omitKeys notes the keys of a dict that become text, or integers, when the names are keys again.
func (w *walker) omitKeys(path string, d *pickle.Dict, typed string) error {
	for i, key := range d.Keys {
		name, was := w.keyText(key), ""
		switch key.(type) {
		case string:
			if _, isText := keyOf(name).(string); path != "" && typed != typeStrings && !isText {
				was = "a str, which becomes an int"
			}
		case int64, *big.Int:
			if path == "" && typed != typeInts {
				was = "an int, which becomes text"
			}
		default:
			was = "of type " + pickle.TypeOf(key) + ", which becomes text"
		}
		if was == "" {
			continue
		}
		if part, err := w.nameOf(path, name, d.Values[i]); err != nil {
			return err
		} else if path != "" {
			name = path + "/" + part
		}
		if err := w.omit(name, loss.Type, 1, "its key is %s", was); err != nil {
			return err
		}
	}
	return nil
}

// moduleParts are the attributes of every torch.nn.Module that are not tensors of a program.
var moduleParts = []string{"_parameters", "_buffers", "_modules"}

// omitModule notes a module that is in no other one. It is one of so many modules with those in it.
func (w *walker) omitModule(path string, o *pickle.Object, modules int) error {
	others := ""
	if modules > 1 {
		others = fmt.Sprintf(", the outermost of %d modules", modules)
	}
	return w.omit(path, loss.Type, modules, "a module of class %s%s: the arrays of its state_dict are read, and neither its program nor other attributes", classOf(o), others)
}

// omitAttributes notes the tensors of a module that its state_dict does not have: attributes, and
// buffers that are not persistent.
func (w *walker) omitAttributes(path string, module *pickle.Dict) error {
	for i, key := range module.Keys {
		if name, isText := key.(string); isText && slices.Contains(moduleParts, name) || !w.hasArray(module.Values[i]) {
			continue
		}
		if err := w.omit(memberPath(path, w.keyText(key)), loss.Attribute, 1, "the state_dict of the module does not have it"); err != nil {
			return err
		}
	}
	return nil
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
