// Package pickle reads Python pickles as data: nothing that a pickle names is imported
// or called.
//
// A pickle is a program for a stack machine (docs.python.org/3/library/pickletools.html).
// [Load] runs those of its instructions that make containers, and records what the others
// would have called as an [Object].
package pickle

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Values are nil, bool, int64, *big.Int, float64, complex128, string, []byte, ByteArray, Tuple,
// *List, *Dict, *Set, Global, *Object and *Persistent.

// A ByteArray is a bytearray.
type ByteArray []byte

// A Tuple is a tuple.
type Tuple []any

// A List is a list or a deque.
type List struct {
	Items []any
	Class string // "deque", or "" for a list
}

// A Set is a set or a frozenset.
type Set struct {
	Items  []any
	Frozen bool // a frozenset
}

// A Global is a name that Python would import. It is only a name here.
type Global struct{ Module, Name string }

func (g Global) String() string { return g.Module + "." + g.Name }

// python2 are Python 3's names of what protocol 2 names as Python 2 did.
var python2 = map[string]string{"xrange": "range", "long": "int", "unicode": "str", "unichr": "chr"}

// python3 returns the name in Python 3 of one in protocol 2.
func (g Global) python3() Global {
	switch g.Module {
	case "__builtin__":
		return Global{"builtins", cmp.Or(python2[g.Name], g.Name)}
	case "copy_reg":
		g.Module = "copyreg"
	}
	return g
}

// An Object is what a call that was not made would have returned, or an instance of a
// class that was not constructed.
type Object struct {
	Class any // what would have been called; usually a Global
	Args  Tuple
	State []any // what would have been set afterwards, in order
	Items *Dict // what would have been set by index, or nil
	List  *List // what would have been appended, or nil
}

// Is reports whether o is the result of calling one of the named globals, such as
// "torch.Size".
func (o *Object) Is(names ...string) bool {
	g, ok := o.Class.(Global)
	if !ok {
		return false
	}
	for _, name := range names {
		if len(name) == len(g.Module)+1+len(g.Name) && strings.HasPrefix(name, g.Module) && strings.HasSuffix(name, g.Name) && name[len(g.Module)] == '.' {
			return true
		}
	}
	return false
}

// A Persistent is an object that is stored outside of the pickle.
type Persistent struct{ ID any }

// A Dict is a dict or one of module collections, in order.
type Dict struct {
	Keys, Values []any
	Class        string      // "OrderedDict", "Counter" or "defaultdict", whose factory is not kept; or "" for a dict
	State        []any       // attributes of an OrderedDict
	index        map[any]int // of the keys
}

// Get returns the value of a key.
func (d *Dict) Get(key any) (any, bool) {
	if d == nil {
		return nil, false
	}
	k, err := hashable(key, 0)
	if i, ok := d.indices()[k]; ok && err == nil {
		return d.Values[i], true
	}
	return nil, false
}

// indices returns the indices of the keys. They are made here of keys that were set directly.
func (d *Dict) indices() map[any]int {
	if d.index == nil {
		d.index = make(map[any]int, len(d.Keys))
		for i, key := range d.Keys {
			if k, err := hashable(key, 0); err == nil {
				d.index[k] = i
			}
		}
	}
	return d.index
}

// Set puts value at key. It fails if Python could not hash the key.
func (d *Dict) Set(key, value any) error {
	k, err := hashable(key, 0)
	if err != nil {
		return err
	}
	index := d.indices()
	if i, ok := index[k]; ok {
		d.Values[i] = value
		return nil
	}
	index[k] = len(d.Keys)
	d.Keys, d.Values = append(d.Keys, key), append(d.Values, value)
	return nil
}

// maxKey bounds the text that stands for a tuple as a key.
const maxKey = 1 << 12

var errKey = fmt.Errorf("a tuple of more than %d bytes is a key", maxKey)

// hashable returns a comparable value that is equal for keys that are equal in Python.
func hashable(key any, size int) (any, error) {
	switch key := key.(type) {
	case nil, int64, string, complex128, Global, *Object, *Persistent, *Set: // a set that is a key is frozen
		return key, nil
	case bool:
		if key {
			return int64(1), nil
		}
		return int64(0), nil
	case float64:
		if i := int64(key); float64(i) == key {
			return i, nil
		}
		return key, nil
	case *big.Int:
		return [2]string{"int", key.String()}, nil
	case []byte:
		return [2]string{"bytes", string(key)}, nil
	case Tuple:
		text := "("
		for _, value := range key {
			if long, ok := value.(string); size+len(text) > maxKey || ok && len(long) > maxKey {
				return nil, errKey
			}
			part, err := hashable(value, size+len(text))
			if err != nil {
				return nil, err
			}
			verb := " %T %v"
			switch part.(type) {
			case *Object, *Persistent, *Set:
				verb = " %T %p" // one is equal only to itself
			}
			item := fmt.Sprintf(verb, part, part)
			text += strconv.Itoa(len(item)) + item // with its length, so that no item looks like two
		}
		if size+len(text) > maxKey {
			return nil, errKey
		}
		return [2]string{"tuple", text}, nil
	}
	return nil, fmt.Errorf("%s cannot be a key", TypeOf(key))
}

// TypeOf returns Python's name for the type of a value.
func TypeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "None"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case complex128:
		return "complex"
	case string:
		return "str"
	case []byte:
		return "bytes"
	case ByteArray:
		return "bytearray"
	case Tuple:
		return "tuple"
	case *List:
		return cmp.Or(value.Class, "list")
	case *Set:
		if value.Frozen {
			return "frozenset"
		}
		return "set"
	case *Dict:
		return cmp.Or(value.Class, "dict")
	case Global:
		return value.String()
	case *Object:
		if g, ok := value.Class.(Global); ok {
			return g.String()
		}
		return "an object"
	case *Persistent:
		return "a persistent id"
	}
	return fmt.Sprintf("%T", value)
}

// Describe returns a value as an error message shows it: numbers, beginnings of strings and
// tuples of them, and the types of others.
func Describe(value any) string {
	switch value := value.(type) {
	case bool, int64, float64, complex128:
		return fmt.Sprint(value)
	case *big.Int:
		return shorten(value.String())
	case string:
		return fmt.Sprintf("%.40q", value)
	case Tuple:
		if !slices.ContainsFunc(value, isTuple) {
			items := make([]string, len(value))
			for i, item := range value {
				items[i] = Describe(item)
			}
			return shorten("(" + strings.Join(items, ", ") + ")")
		}
	}
	return "a value of type " + TypeOf(value)
}

func shorten(text string) string {
	if len(text) > 80 {
		return text[:60] + "…"
	}
	return text
}

func isTuple(value any) bool {
	_, ok := value.(Tuple)
	return ok
}
