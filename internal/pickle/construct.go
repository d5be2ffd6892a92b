package pickle

import "slices"

// constructors make values of the containers and scalars of Python's library from the arguments of
// their classes. Arguments that are not known to them are reported, so that the call stays an Object.
var constructors = map[Global]func(m *machine, g Global, args Tuple) (value any, known bool){
	{"builtins", "dict"}:           (*machine).dict,
	{"collections", "OrderedDict"}: (*machine).dict,
	{"collections", "defaultdict"}: (*machine).defaultDict,
	{"collections", "Counter"}:     (*machine).counter,
	{"builtins", "list"}:           (*machine).sequence,
	{"builtins", "tuple"}:          (*machine).sequence,
	{"builtins", "set"}:            (*machine).sequence,
	{"builtins", "frozenset"}:      (*machine).sequence,
	{"collections", "deque"}:       (*machine).sequence,
	{"builtins", "complex"}:        (*machine).complex,
	{"builtins", "bytes"}:          (*machine).bytes,
	{"builtins", "bytearray"}:      (*machine).bytes,
	{"_codecs", "encode"}:          (*machine).encode,
	{"copyreg", "_reconstructor"}:  (*machine).reconstruct,
}

// dict makes a dict of a list of pairs, if there is one.
func (m *machine) dict(g Global, args Tuple) (value any, known bool) {
	d := &Dict{}
	if g.Name == "OrderedDict" {
		d.Class = g.Name
	}
	if arg(args, 0) == nil {
		return d, true
	}
	pairs, known := arg(args, 0).(*List)
	if !known {
		return nil, false
	}
	for _, pair := range pairs.Items {
		items, _ := itemsOf(pair)
		if len(items) != 2 {
			m.fail("an item is not a pair")
			break
		}
		m.setItems(d, items)
	}
	return d, true
}

// defaultDict makes a dict of a default factory, which is not kept. Its items follow.
func (m *machine) defaultDict(_ Global, args Tuple) (value any, known bool) {
	return &Dict{Class: "defaultdict"}, len(args) <= 1
}

func (m *machine) counter(_ Global, args Tuple) (value any, known bool) {
	d, known := arg(args, 0).(*Dict)
	if len(args) == 0 {
		d, known = &Dict{}, true
	}
	if known {
		d.Class = "Counter"
	}
	return d, known
}

// sequence makes a list, a tuple or a set of a list or a tuple, if there is one.
func (m *machine) sequence(g Global, args Tuple) (value any, known bool) {
	items, known := itemsOf(arg(args, 0))
	if !known && arg(args, 0) != nil {
		return nil, false
	}
	items = slices.Clone(items)
	m.take(16 * len(items))
	switch g.Name {
	case "list":
		return &List{Items: items}, true
	case "deque":
		return &List{items, "deque"}, true
	case "tuple":
		return Tuple(items), true
	}
	return &Set{items, g.Name == "frozenset"}, true
}

// itemsOf returns the items of a list or a tuple.
func itemsOf(value any) (items []any, ok bool) {
	switch value := value.(type) {
	case *List:
		return value.Items, true
	case Tuple:
		return value, true
	}
	return nil, false
}

func (m *machine) complex(_ Global, args Tuple) (value any, known bool) {
	re, isFloat := arg(args, 0).(float64)
	im, alsoFloat := arg(args, 1).(float64)
	return complex(re, im), isFloat && alsoFloat
}

func (m *machine) bytes(g Global, args Tuple) (value any, known bool) {
	b, known := arg(args, 0).([]byte)
	if !known && len(args) > 0 {
		if value, known = m.encode(g, args); !known {
			return nil, false
		}
		b, _ = value.([]byte)
	}
	if g.Name == "bytearray" {
		return ByteArray(b), true
	}
	return b, true
}

// reconstruct makes an object of its class, its base and the state of that.
func (m *machine) reconstruct(_ Global, args Tuple) (value any, known bool) {
	if len(args) != 3 {
		return nil, false
	}
	return &Object{Class: args[0]}, true
}

// encode is str.encode for Latin-1, as which Python writes bytes under protocol 2.
func (m *machine) encode(_ Global, args Tuple) (value any, known bool) {
	text, isText := arg(args, 0).(string)
	if codec, _ := arg(args, 1).(string); !isText || codec != "latin1" && codec != "latin-1" {
		return nil, false
	}
	b := make([]byte, 0, len(text))
	for _, r := range text {
		if r > 0xff {
			m.fail("%q is not Latin-1", r)
		}
		b = append(b, byte(r))
	}
	m.take(len(b))
	return b, true
}

func arg(args Tuple, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}
