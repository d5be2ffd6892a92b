package torch

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/internal/pickle"
)

// metaTypes has the types of values and containers whose text, or the names below them, do not
// tell: a JSON object of type names by path. The path of the model is "". A path that ends in
// /* stands for all sequences in the one before it.
const metaTypes = "torch.types"

// metaPaths has the dicts and the keys of names whose keys have slashes: a JSON object of pairs by
// name. Without an entry, a slash is between keys.
const metaPaths = "torch.paths"

// Types in metaTypes. Without one, a value is what its text is as JSON, and a container is a
// dict whose keys are integers where they look like some, but strings in the outermost one.
const (
	typeList      = "list"  // of tensors or dicts
	typeTuple     = "tuple" // of these or of scalars
	typeSet       = "set"
	typeOrdered   = "OrderedDict"
	typeCounter   = "Counter"
	typeStrings   = "str keys" // alone or after one of the two above
	typeInts      = "int keys"
	typeTensor    = "tensor" // instead of a dict
	typeText      = "str"    // that looks like JSON
	typeJSON      = "json"   // a key that is not what its dict implies
	typeBytes     = "bytes"
	typeByteArray = "bytearray"
	typeComplex   = "complex"
	typeSize      = "torch.Size"
	typeDevice    = "torch.device"
	typeDType     = "torch.dtype"
	typeLayout    = "torch.layout"
)

// nameOf returns the part of a name that a key of the dict at a path becomes. It notes keys with
// slashes. Names in HDF5 have no slash after another one, as that of a file in a dict.
func (w *walker) nameOf(path, key string, value any) (string, error) {
	if !strings.Contains(key, "/") || path == "" && isArray(value) { // which noteKeys notes
		return key, nil
	}
	part := strings.TrimLeft(key, "/")
	if path == "" || part == "" {
		part = key
	}
	full := part
	if path != "" {
		full = path + "/" + part
	}
	w.paths[full] = [2]string{path, key}
	return part, w.take(path, len(full)+len(path)+len(key))
}

// noteMaps adds the types and paths to the metadata, if there are some.
func (w *walker) noteMaps() error {
	if w.exact {
		return nil
	}
	objects := map[string]any{metaTypes: w.types, metaPaths: w.paths, metaOrder: w.orders, metaModules: w.states}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		b, err := json.Marshal(objects[key])
		if err != nil {
			return err
		}
		if string(b) != "{}" {
			w.meta[key] = string(b)
		}
	}
	return nil
}

// dictType returns the class of a dict and the type of its keys, if they are not those that names
// imply. The outermost one becomes an OrderedDict in any case.
func dictType(d *pickle.Dict, outermost bool) string {
	name := keyType(d, outermost)
	if !outermost && (d.Class == typeOrdered || d.Class == typeCounter) {
		name = strings.TrimSpace(d.Class + " " + name)
	}
	return name
}

// keyType returns the type of the keys of a dict, if it is not the one that names imply.
func keyType(d *pickle.Dict, outermost bool) string {
	ints, texts := 0, false
	for _, key := range d.Keys {
		switch key := key.(type) {
		case int64, *big.Int:
			ints++
		case string:
			_, isText := keyOf(key).(string)
			texts = texts || !isText
		}
	}
	switch {
	case outermost && ints > 0 && ints == len(d.Keys):
		return typeInts
	case !outermost && texts && ints == 0:
		return typeStrings
	}
	return ""
}

// noteType notes the type of a value or a container at a path.
func (w *walker) noteType(path, name string) error {
	w.types[path] = name
	return w.take(path, len(path)+len(name))
}

// noteTypes notes the types of a scalar that is metadata as text, or of the sequences of them
// and what they contain.
func (w *walker) noteTypes(path string, value any, nested bool) error {
	var name string
	var items []any
	switch value := value.(type) {
	case *pickle.List:
		items = value.Items
		if value.Class != "" {
			w.keptAs(value.Class, "list")
		}
	case pickle.Tuple:
		name, items = typeTuple, value
	case *pickle.Set:
		name, items = typeSet, value.Items
		if value.Frozen {
			w.keptAs("frozenset", "set")
		}
	case *big.Int:
		if pickle.IsLong(value) {
			w.keptAs("int of more than 255 bytes", "str")
		}
	case string:
		if text, same := valueOf(value).(string); !nested && (!same || text != value) {
			name = typeText
		}
	case []byte:
		name = typeBytes
	case pickle.ByteArray:
		name = typeByteArray
	case complex128:
		name = typeComplex
	case pickle.Global:
		if isDType(value) {
			name = typeDType
		} else if err := w.omitName(path, value); err != nil {
			return err
		}
	case *pickle.Object:
		name = w.objectType(value)
	}
	if name != "" {
		if err := w.noteType(path, name); err != nil {
			return err
		}
	}
	if onlyTuples(items) {
		if slices.ContainsFunc(items, isSequence) {
			return w.noteType(path+"/*", typeTuple)
		}
		return nil
	}
	for i, item := range items {
		if !isSequence(item) && !hasType(item) {
			continue
		}
		if err := w.noteTypes(path+"/"+strconv.Itoa(i), item, true); err != nil {
			return err
		}
	}
	return nil
}

// objectType returns the type of an object that is metadata as text.
func (w *walker) objectType(o *pickle.Object) string {
	switch {
	case o.Is("torch.Size"):
		return typeSize
	case o.Is("torch.device"):
		return typeDevice
	case o.Is(layoutClass):
		return typeLayout
	case o.Is(pathClasses...):
		w.keptAs(pickle.TypeOf(o), "str")
	case isNumPyScalar(o):
		value, err := numpyScalar(o)
		if err != nil {
			return ""
		}
		w.keptAs(numpyClass(o), pickle.TypeOf(value))
		if _, ok := value.(complex128); ok {
			return typeComplex
		}
	}
	return ""
}

// isDType reports whether g is a type of elements of PyTorch, or a quantization scheme.
func isDType(g pickle.Global) bool {
	return g.Module == "torch" && (dtypes[g.Name] != nil || slices.Contains(otherDTypes, g.Name))
}

// otherDTypes are those that dtypes does not have.
var otherDTypes = strings.Fields("bcomplex32 bits16 bits1x8 bits2x4 bits4x2 bits8 complex32 float4_e2m1fn_x2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu " +
	"int1 int2 int3 int4 int5 int6 int7 uint1 uint2 uint3 uint4 uint5 uint6 uint7 " +
	"per_channel_affine per_channel_affine_float_qparams per_channel_symmetric per_tensor_affine per_tensor_symmetric")

// layoutClass makes torch.strided and the like of their names.
const layoutClass = "torch.serialization._get_layout"

// hasType reports whether an item of a sequence has a type that its text does not tell.
func hasType(item any) bool {
	switch item := item.(type) {
	case []byte, pickle.ByteArray, complex128, pickle.Global, *pickle.Object:
		return true
	case *big.Int:
		return pickle.IsLong(item)
	}
	return false
}

func isSequence(value any) bool {
	switch value.(type) {
	case *pickle.List, pickle.Tuple:
		return true
	}
	return false
}

// onlyTuples reports whether items are plain scalars and tuples of such items.
func onlyTuples(items []any) bool {
	return !slices.ContainsFunc(items, func(item any) bool {
		inner, ok := item.(pickle.Tuple)
		return ok && !onlyTuples(inner) || !ok && (isSequence(item) || hasType(item))
	})
}

// objectIn returns the JSON object in a text of the metadata.
func objectIn[T any](text string) map[string]T {
	object := map[string]T{}
	if json.Unmarshal([]byte(text), &object) != nil { // it is not ours
		return map[string]T{}
	}
	return object
}

// typed returns the value at a path that has a text in the metadata.
func (t *treeWriter) typed(path, text string) any {
	if t.types[path] == typeText {
		return text
	}
	return t.retype(path, valueOf(text), t.types[path])
}

// retype returns a value of the type that is noted.
func (t *treeWriter) retype(path string, value any, name string) any {
	switch value := value.(type) {
	case *pickle.List:
		all, isAll := t.types[path+"/*"]
		for i, item := range value.Items {
			below := path + "/" + strconv.Itoa(i)
			inner := t.types[below]
			if isAll && isSequence(item) {
				inner, t.types[below+"/*"] = all, all
			}
			value.Items[i] = t.retype(below, item, inner)
		}
		return sequenceOf(name, value)
	case *pickle.Dict:
		value.Class = classIn(name)
	case string:
		return scalarOf(name, value)
	}
	return value
}

// sequenceOf returns a list as a sequence of a type.
func sequenceOf(name string, list *pickle.List) any {
	switch name {
	case typeTuple:
		return pickle.Tuple(list.Items)
	case typeSet:
		return &pickle.Object{Class: pickle.Global{Module: "__builtin__", Name: "set"}, Args: pickle.Tuple{list}}
	case typeSize:
		return &pickle.Object{Class: pickle.Global{Module: "torch", Name: "Size"}, Args: pickle.Tuple{pickle.Tuple(list.Items)}}
	}
	return list
}

// classIn returns the class of a dict of a type.
func classIn(name string) string {
	class, _, _ := strings.Cut(name, " ")
	if class == typeOrdered || class == typeCounter {
		return class
	}
	return ""
}

// scalarOf returns a text as a value of a type, or unchanged if it is not of that type.
func scalarOf(name, text string) any {
	switch name {
	case typeBytes:
		if b, err := bytesOf(text); err == nil {
			return b
		}
	case typeByteArray:
		if b, err := bytesOf(text); err == nil {
			return pickle.ByteArray(b)
		}
	case typeLayout:
		return &pickle.Object{Class: pickle.Global{Module: "torch.serialization", Name: "_get_layout"}, Args: pickle.Tuple{text}}
	case typeComplex:
		if x, err := strconv.ParseComplex(text, 128); err == nil {
			return x
		}
	case typeDevice:
		kind, number, numbered := strings.Cut(text, ":")
		if !numbered {
			return &pickle.Object{Class: pickle.Global{Module: "torch", Name: "device"}, Args: pickle.Tuple{text}}
		}
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			return &pickle.Object{Class: pickle.Global{Module: "torch", Name: "device"}, Args: pickle.Tuple{kind, n}}
		}
	case typeDType:
		module, attribute, _ := strings.Cut(text, ".")
		if g := (pickle.Global{Module: module, Name: attribute}); isDType(g) {
			return g
		}
	}
	return text
}

var errBytes = errors.New("not bytes as Python writes them")

// bytesOf is the inverse of the text of bytes: JSON or b'\x00'.
func bytesOf(text string) ([]byte, error) {
	var plain string
	if json.Unmarshal([]byte(text), &plain) == nil {
		return []byte(plain), nil
	}
	text, ok := strings.CutPrefix(text, "b'")
	text, ok2 := strings.CutSuffix(text, "'")
	if !ok || !ok2 {
		return nil, errBytes
	}
	var b []byte
	for len(text) > 0 {
		switch {
		case text[0] != '\\':
			b, text = append(b, text[0]), text[1:]
		case len(text) >= 4 && text[1] == 'x':
			n, err := strconv.ParseUint(text[2:4], 16, 8)
			if err != nil {
				return nil, errBytes
			}
			b, text = append(b, byte(n)), text[4:]
		case len(text) >= 2:
			b, text = append(b, text[1]), text[2:]
		default:
			return nil, errBytes
		}
	}
	return b, nil
}

// sequences makes lists and tuples of the dicts below d that are noted as such, and returns
// what d itself is.
func (t *treeWriter) sequences(path string, d *pickle.Dict) any {
	for i, value := range d.Values {
		inner, _ := value.(*pickle.Dict)
		if path, ok := t.names[inner]; ok || inner != nil && inner == t.model {
			d.Values[i] = t.sequences(path, inner)
		}
	}
	name := t.types[path]
	if name == typeList || name == typeTuple {
		if items, ok := itemsOf(d); ok {
			return sequenceOf(name, &pickle.List{Items: items})
		}
	}
	if d == t.root || d == t.model {
		return d
	}
	d = t.inOrder(path, d)
	d.Class = classIn(name)
	return d
}

// itemsOf returns the values of a dict whose keys are 0, 1, 2 and so on, in any order.
func itemsOf(d *pickle.Dict) (items []any, ok bool) {
	items, seen := make([]any, len(d.Keys)), make([]bool, len(d.Keys))
	for i, key := range d.Keys {
		n, isInt := key.(int64)
		if !isInt || n < 0 || int(n) >= len(items) || seen[n] {
			return nil, false
		}
		items[n], seen[n] = d.Values[i], true
	}
	return items, true
}

// floatTokens are how floats that JSON does not have are written.
var floatTokens = []struct {
	text  string
	value float64
}{{"+Inf", math.Inf(1)}, {"-Inf", math.Inf(-1)}, {"NaN", math.NaN()}}

// floatKey is the key of an object that stands for such a float while JSON is parsed.
const floatKey = "\x00float"

// withFloats returns a text in which objects of floatKey stand for the floats that JSON does not
// have, outside of strings.
func withFloats(text string) string {
	if !strings.Contains(text, "Inf") && !strings.Contains(text, "NaN") {
		return text
	}
	var b strings.Builder
	for quoted := false; len(text) > 0; {
		n := 1
		switch {
		case text[0] == '"':
			quoted = !quoted
		case quoted && text[0] == '\\':
			n = min(2, len(text))
		case !quoted:
			for _, f := range floatTokens {
				if strings.HasPrefix(text, f.text) {
					b.WriteString(`{"\u0000float":"` + f.text + `"}`)
					text = text[len(f.text):]
					n = 0
					break
				}
			}
		}
		b.WriteString(text[:n])
		text = text[n:]
	}
	return b.String()
}

// floatOf returns the float that an object of withFloats stands for.
func floatOf(object map[string]any) (x float64, ok bool) {
	text, ok := object[floatKey].(string)
	for _, f := range floatTokens {
		if ok && f.text == text {
			return f.value, true
		}
	}
	return 0, false
}
