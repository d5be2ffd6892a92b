package nn

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/tensor"
)

// A visitor has functions to call for the parameters, buffers and modules of a
// model. Shared parameters and buffers are visited once, and modules before their
// contents.
type visitor struct {
	param  func(name string, s reference[*Parameter]) bool
	buffer func(name string, s reference[*Buffer]) bool
	module func(name string, m Module) bool
	every  bool // whether to visit shared parameters and buffers each time
}

// A reference is a place in a model that holds a parameter or a buffer.
type reference[T any] struct {
	value T
	set   func(T) bool // replaces it; false if the place cannot be assigned to
}

var (
	moduleType   = reflect.TypeFor[Module]()
	paramType    = reflect.TypeFor[*Parameter]()
	bufferType   = reflect.TypeFor[*Buffer]()
	registryType = reflect.TypeFor[Registry]()
	tensorType   = reflect.TypeFor[tensor.Tensor]()
	arrayType    = reflect.TypeFor[storage.Array]()
)

// walk calls v for everything inside model, until v returns false.
func walk(model any, v visitor) {
	w := walker{visitor: v, seen: map[any]bool{}, named: map[string]bool{}}
	w.walk("", reflect.ValueOf(model))
}

type walker struct {
	visitor
	seen  map[any]bool    // pointers already walked
	named map[string]bool // names of parameters and buffers
}

func (w *walker) walk(name string, v reflect.Value) bool {
	if !v.IsValid() {
		return true
	}
	switch v.Type() {
	case paramType:
		return visit(w, name, v.Interface().(*Parameter), settable[*Parameter](v), w.param)
	case bufferType:
		return visit(w, name, v.Interface().(*Buffer), settable[*Buffer](v), w.buffer)
	case registryType:
		return w.registered(name, v.Interface().(Registry))
	case tensorType, arrayType:
		return true
	}
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface) && v.IsNil() {
		return true
	}
	if v.Kind() == reflect.Pointer && w.again(v.Interface()) {
		return true
	}
	return w.announce(name, v) && w.inside(name, v)
}

// announce visits v if it is a module. The element of a pointer was visited with
// the pointer.
func (w *walker) announce(name string, v reflect.Value) bool {
	if w.module == nil || v.Kind() == reflect.Interface || !v.CanInterface() {
		return true
	}
	if v.CanAddr() {
		at := v.Addr().Interface()
		if w.again(at) {
			return true
		}
		if m, ok := at.(Module); ok {
			return w.module(name, m)
		}
	}
	if m, ok := v.Interface().(Module); ok {
		return w.module(name, m)
	}
	return true
}

func (w *walker) inside(name string, v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return w.walk(name, v.Elem())
	case reflect.Struct:
		return w.fields(name, v)
	case reflect.Slice, reflect.Array:
		return !holds(v.Type().Elem()) || w.elements(name, v)
	case reflect.Map:
		return w.entries(name, v)
	}
	return true
}

func (w *walker) fields(name string, v reflect.Value) bool {
	for _, f := range fieldsOf(v.Type()) {
		if f.hidden {
			tensor.Fail("parameters", storage.ErrState, "field %s of %v is not exported and would not be trained; export it, or tag it `nn:\"-\"`", f.name, v.Type())
		}
		inner, further := v.Field(f.index), w.walk
		if f.name == "" && inner.Kind() == reflect.Struct && inner.Type() != registryType {
			further = w.inside // what is embedded is no module of its own
		}
		if !further(join(name, f.name), inner) {
			return false
		}
	}
	return true
}

// A field is a struct field that may contain parameters, buffers or modules.
type field struct {
	index  int
	name   string // "" if its own fields are promoted to its struct
	hidden bool   // unexported, and so not trainable
}

var fieldCache sync.Map // of []field by reflect.Type

// fieldsOf lists the fields of struct t to walk into.
func fieldsOf(t reflect.Type) []field {
	if have, ok := fieldCache.Load(t); ok {
		return have.([]field)
	}
	var list []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, embeds := f.Tag.Get("nn"), f.Anonymous && f.Type.Kind() == reflect.Struct
		switch {
		case name == "-" || !holds(f.Type):
		case !f.IsExported() && !embeds:
			if f.Type == paramType || f.Type == bufferType || f.Type.Implements(moduleType) {
				list = append(list, field{i, f.Name, true})
			}
		case name == "" && !f.Anonymous:
			list = append(list, field{i, snake(f.Name), false})
		default:
			list = append(list, field{i, name, false})
		}
	}
	fieldCache.Store(t, list)
	return list
}

// holds reports whether values of type t may contain a parameter, a buffer or a
// module. References to other types count as such, as they may be recursive.
func holds(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice:
		return t.Implements(moduleType) || !basic(t.Elem())
	case reflect.Map:
		return t.Key().Kind() == reflect.String && !basic(t.Elem())
	case reflect.Array:
		return holds(t.Elem())
	case reflect.Struct:
		return t == registryType || reflect.PointerTo(t).Implements(moduleType) || t != tensorType && t != arrayType && len(fieldsOf(t)) > 0
	}
	return false
}

func basic(t reflect.Type) bool { return t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String }

func (w *walker) elements(name string, v reflect.Value) bool {
	for i := range v.Len() {
		if !w.walk(join(name, strconv.Itoa(i)), v.Index(i)) {
			return false
		}
	}
	return true
}

// entries walks a map in the order of its keys.
func (w *walker) entries(name string, v reflect.Value) bool {
	if !holds(v.Type()) {
		return true
	}
	byName := map[string]reflect.Value{}
	for key, elem := range v.Seq2() {
		byName[key.String()] = elem
	}
	for _, key := range slices.Sorted(maps.Keys(byName)) {
		if !w.walk(join(name, key), byName[key]) {
			return false
		}
	}
	return true
}

func (w *walker) registered(name string, r Registry) bool {
	for _, e := range r.entries {
		if !w.walk(join(name, e.name), reflect.ValueOf(e.held).Elem()) {
			return false
		}
	}
	return true
}

// again reports whether pointer p was walked before, and records it.
func (w *walker) again(p any) bool {
	if w.seen[p] {
		return true
	}
	w.seen[p] = true
	return false
}

// visit visits one parameter or buffer.
func visit[T comparable](w *walker, name string, held T, set func(T) bool, show func(string, reference[T]) bool) bool {
	var none T
	if held == none {
		return true
	}
	if again := w.again(held); again && !w.every {
		return true
	} else if !again && w.named[name] {
		tensor.Fail("parameters", storage.ErrState, "two of them are named %q; give one another name", name)
	}
	w.named[name] = true
	return show == nil || show(name, reference[T]{held, set})
}

func settable[T any](v reflect.Value) func(T) bool {
	return func(to T) bool {
		if v.CanSet() {
			v.Set(reflect.ValueOf(to))
		}
		return v.CanSet()
	}
}

func join(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}

// snake returns a field's name in snake case: RunningMean is running_mean.
func snake(name string) string {
	var b strings.Builder
	letters := []rune(name)
	for i, r := range letters {
		starts := unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(letters[i-1]) || i+1 < len(letters) && unicode.IsLower(letters[i+1]))
		if starts && letters[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
