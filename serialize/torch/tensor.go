package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// An elementType is a type of elements as PyTorch names it.
type elementType struct {
	name string
	typ  dtype.Type // Invalid if package dtype has no such type
	size int
}

// dtypes are the attributes of module torch that are types of elements.
var dtypes = map[string]*elementType{}

// storageTypes are the classes of storages. That of untyped storages counts bytes.
var storageTypes = map[string]*elementType{"UntypedStorage": {"untyped", dtype.Uint8, 1}, "_UntypedStorage": {"untyped", dtype.Uint8, 1}}

// storageClasses and dtypeNames are how save writes the element types. Some have no class
// of storages.
var storageClasses, dtypeNames = map[dtype.Type]string{}, map[dtype.Type]string{}

func init() {
	for _, t := range []struct {
		names   string // as dtypes
		storage string // class without "Storage", or ""
		elementType
	}{
		{"float64 double", "Double", elementType{typ: dtype.Float64, size: 8}},
		{"float32 float", "Float", elementType{typ: dtype.Float32, size: 4}},
		{"float16 half", "Half", elementType{typ: dtype.Float16, size: 2}},
		{"bfloat16", "BFloat16", elementType{typ: dtype.BFloat16, size: 2}},
		{"int64 long", "Long", elementType{typ: dtype.Int64, size: 8}},
		{"int32 int", "Int", elementType{typ: dtype.Int32, size: 4}},
		{"int16 short", "Short", elementType{typ: dtype.Int16, size: 2}},
		{"int8", "Char", elementType{typ: dtype.Int8, size: 1}},
		{"uint8", "Byte", elementType{typ: dtype.Uint8, size: 1}},
		{"bool", "Bool", elementType{typ: dtype.Bool, size: 1}},
		{"complex128 cdouble", "ComplexDouble", elementType{typ: dtype.Complex128, size: 16}},
		{"complex64 cfloat", "ComplexFloat", elementType{typ: dtype.Complex64, size: 8}},
		{"uint16", "", elementType{typ: dtype.Uint16, size: 2}},
		{"uint32", "", elementType{typ: dtype.Uint32, size: 4}},
		{"uint64", "", elementType{typ: dtype.Uint64, size: 8}},
		{"float8_e4m3fn", "", elementType{typ: dtype.Float8E4M3, size: 1}},
		{"float8_e5m2", "", elementType{typ: dtype.Float8E5M2, size: 1}},
		{"qint8", "QInt8", elementType{size: 1}},
		{"quint8", "QUInt8", elementType{size: 1}},
		{"qint32", "QInt32", elementType{size: 4}},
		{"quint4x2", "QUInt4x2", elementType{size: 1}},
		{"quint2x4", "QUInt2x4", elementType{size: 1}},
	} {
		names := strings.Fields(t.names)
		t.name = names[0]
		for _, name := range names {
			dtypes[name] = &t.elementType
		}
		if t.storage != "" {
			storageTypes[t.storage+"Storage"] = &t.elementType
		}
		if t.typ != dtype.Invalid {
			storageClasses[t.typ], dtypeNames[t.typ] = t.storage, t.name
		}
	}
}

// A storageRef is a reference of a pickle to a storage.
type storageRef struct {
	key     string
	element *elementType
	numel   int
	offset  int // in elements, of a view of another storage in the legacy format
}

// bytes returns the size of s.
func (s storageRef) bytes() int { return s.numel * s.element.size }

// storageOf reads a persistent id:
//
//	('storage', class, key, location, numel)
//	('storage', class, key, location, numel, None or (view key, offset, view size))
func storageOf(value any) (s storageRef, err error) {
	persistent, ok := value.(*pickle.Persistent)
	if !ok {
		return s, fmt.Errorf("%s instead of a storage", pickle.TypeOf(value))
	}
	id, ok := persistent.ID.(pickle.Tuple)
	if !ok || len(id) < 5 || id[0] != "storage" {
		return s, errors.New("a persistent id that does not name a storage")
	}
	class, ok := id[1].(pickle.Global)
	if ok {
		s.element, ok = storageTypes[class.Name]
		ok = ok && (class.Module == "torch" || class.Module == "torch.cuda" || class.Module == "torch.storage")
	}
	if !ok {
		return s, fmt.Errorf("a storage of class %s, which is unknown", pickle.TypeOf(id[1]))
	}
	key, isText := id[2].(string)
	numel, isInt := id[4].(int64)
	if s.key, s.numel = key, int(numel); !isText || !isInt || numel < 0 || numel > math.MaxInt/int64(s.element.size) {
		return s, fmt.Errorf("storage %s of %s elements", pickle.Describe(id[2]), pickle.Describe(id[4]))
	}
	if len(id) < 6 || id[5] == nil {
		return s, nil
	}
	view, ok := id[5].(pickle.Tuple)
	if ok && len(view) == 3 {
		offset, isInt := view[1].(int64)
		size, alsoInt := view[2].(int64)
		if isInt && alsoInt && offset >= 0 && size >= 0 && offset <= numel && size <= numel-offset {
			s.offset = int(offset)
			return s, nil
		}
	}
	return s, fmt.Errorf("storage %s: its view reaches outside of it: %w", s.key, views.ErrShape)
}

// A tensor is a view of a storage as a pickle describes it.
type tensor struct {
	storageRef
	element       *elementType
	offset        int
	shape, stride []int
	conj, neg     bool // the elements are conjugated, negated
}

// errNoTensor is returned for objects that are not tensors.
var errNoTensor = errors.New("no tensor")

// maxNesting bounds wrappers around wrappers of a tensor.
const maxNesting = 16

// tensorOf reads an object as one of the tensors that torch.save writes. The error is
// errNoTensor if it is something else.
func tensorOf(value any, depth int) (tensor, error) {
	o, ok := value.(*pickle.Object)
	if !ok || depth > maxNesting {
		return tensor{}, errNoTensor
	}
	class, ok := o.Class.(pickle.Global)
	if !ok {
		return tensor{}, errNoTensor
	}
	wrapped := func(i int) (tensor, error) {
		if i >= len(o.Args) {
			return tensor{}, fmt.Errorf("%v without a tensor", class)
		}
		t, err := tensorOf(o.Args[i], depth+1)
		if err == errNoTensor {
			err = fmt.Errorf("%v of %s", class, pickle.TypeOf(o.Args[i]))
		}
		return t, err
	}
	switch class {
	case pickle.Global{Module: "torch._utils", Name: "_rebuild_tensor"}, pickle.Global{Module: "torch._utils", Name: "_rebuild_tensor_v2"},
		pickle.Global{Module: "torch._utils", Name: "_rebuild_tensor_v3"}:
		return rebuild(class.Name, o.Args)
	}
	switch class.String() {
	case "torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state",
		"torch._utils._rebuild_device_tensor_from_cpu_tensor",
		"torch.nn.parameter.Parameter", "torch.nn.Parameter", "torch.nn.parameter.Buffer", "torch.nn.Buffer":
		return wrapped(0)
	case "torch._tensor._rebuild_from_type_v2", "torch._tensor._rebuild_from_type", "torch.tensor._rebuild_from_type":
		if len(o.Args) >= 3 {
			args, isTuple := o.Args[2].(pickle.Tuple)
			if isTuple {
				return tensorOf(&pickle.Object{Class: o.Args[0], Args: args}, depth+1)
			}
		}
		return tensor{}, fmt.Errorf("%v without a tensor", class)
	}
	if o.Is("torch.nn.parameter.UninitializedParameter", "torch.nn.parameter.UninitializedBuffer") { // of LazyLinear and the like
		return tensor{}, &unsupportedError{kind: "uninitialized", advice: "run the model once before it is saved"}
	}
	if class.Module == "torch._utils" && strings.HasPrefix(class.Name, "_rebuild_") && class.Name != "_rebuild_device_tensor_from_numpy" {
		return tensor{}, unsupportedTensor(class.Name, o.Args)
	}
	return tensor{}, errNoTensor
}

// attributesOf returns what a program has set on a tensor or parameter as Python attributes, the
// last argument of its constructor: a dict, or a pair of one and another for slots. Nil if there
// are none.
func attributesOf(o *pickle.Object) *pickle.Dict {
	if !o.Is("torch._utils._rebuild_parameter_with_state", "torch._tensor._rebuild_from_type_v2") || len(o.Args) != 4 {
		return nil
	}
	state := o.Args[3]
	if pair, ok := state.(pickle.Tuple); ok && len(pair) == 2 {
		state = pair[0]
	}
	attributes, _ := state.(*pickle.Dict)
	return attributes
}

// An unsupportedError is the error of an array that is listed and not read: its kind, its
// shape, if that is known, and what a user can do.
type unsupportedError struct {
	kind   string
	shape  []int
	advice string
}

func (e *unsupportedError) Error() string {
	text := e.kind + " arrays are not read"
	if e.advice != "" {
		text += "; " + e.advice
	}
	return text
}

func (e *unsupportedError) Is(target error) bool { return target == dtype.ErrType }

// unsupportedTensor reads the shape of quantized, sparse and meta tensors.
func unsupportedTensor(name string, args pickle.Tuple) error {
	e := &unsupportedError{kind: strings.TrimSuffix(strings.TrimPrefix(name, "_rebuild_"), "_tensor"), advice: "save it as a plain tensor"}
	switch e.kind {
	case "qtensor": // (storage, offset, size, ...)
		e.kind, e.advice = "quantized", "save x.dequantize(), or x.int_repr() and its scales"
		e.shape, _ = ints(argument(args, 2))
	case "sparse": // (layout, (indices, values, size, ...) or (indices, indices, values, size))
		e.advice = "save x.to_dense()"
		at := 2
		if layout, ok := argument(args, 0).(*pickle.Object); ok { // _get_layout("torch.sparse_csr")
			if text, _ := argument(layout.Args, 0).(string); strings.HasPrefix(text, "torch.sparse_") && text != "torch.sparse_coo" {
				e.kind, at = strings.TrimPrefix(text, "torch."), 3
			}
		}
		data, _ := argument(args, 1).(pickle.Tuple)
		e.shape, _ = ints(argument(data, at))
	case "meta_tensor_no_storage": // (dtype, size, ...)
		e.kind, e.advice = "meta", "it has no elements"
		e.shape, _ = ints(argument(args, 1))
	case "wrapper_subclass": // (class, dtype, size, ...)
		e.kind = pickle.TypeOf(argument(args, 0))
		e.shape, _ = ints(argument(args, 2))
		if strings.HasSuffix(e.kind, ".DTensor") {
			e.advice = "save x.full_tensor()"
		}
	}
	return e
}

// rebuild reads the arguments of
//
//	_rebuild_tensor(storage, offset, size, stride)
//	_rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks[, metadata])
//	_rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype[, metadata])
func rebuild(name string, args pickle.Tuple) (t tensor, err error) {
	if len(args) < 4 {
		return t, fmt.Errorf("%s with %d arguments", name, len(args))
	}
	if t.storageRef, err = storageOf(args[0]); err != nil {
		return t, err
	}
	offset, isInt := args[1].(int64)
	shape, isShape := ints(args[2])
	stride, isStride := ints(args[3])
	if !isInt || !isShape || !isStride || offset < 0 || offset > math.MaxInt-int64(t.storageRef.offset) {
		return t, fmt.Errorf("%s: offset %s, size %s, stride %s: %w", name, pickle.Describe(args[1]), pickle.Describe(args[2]), pickle.Describe(args[3]), views.ErrShape)
	}
	t.element, t.offset, t.shape, t.stride = t.storageRef.element, int(offset)+t.storageRef.offset, shape, stride
	rest := args[4:]
	if name == "_rebuild_tensor_v3" {
		g, _ := argument(rest, 2).(pickle.Global)
		if g.Module != "torch" {
			return t, fmt.Errorf("%s: elements of type %s, which is unknown: %w", name, pickle.TypeOf(argument(rest, 2)), dtype.ErrType)
		}
		var known bool
		if t.element, known = dtypes[g.Name]; !known { // as float8_e8m0fnu and bits16
			t.element = &elementType{name: g.Name, size: 1}
		}
		rest = rest[1:]
	}
	flags, _ := argument(rest, 2).(*pickle.Dict)
	conj, _ := flags.Get("conj")
	neg, _ := flags.Get("neg")
	t.conj, t.neg = conj == true, neg == true
	return t, nil
}

func argument(args []any, i int) any {
	if i < len(args) {
		return args[i]
	}
	return nil
}

// ints reads a tuple of integers, or a torch.Size.
func ints(value any) ([]int, bool) {
	if o, ok := value.(*pickle.Object); ok && o.Is("torch.Size") && len(o.Args) == 1 {
		value = o.Args[0]
	}
	var items []any
	switch value := value.(type) {
	case pickle.Tuple:
		items = value
	case *pickle.List:
		items = value.Items
	default:
		return nil, false
	}
	list := make([]int, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok {
			return nil, false
		}
		list[i] = int(n)
	}
	return list, len(list) <= maxRank
}

const maxRank = 64 // of PyTorch's tensors

// entry returns the named entry for t.
func (f *file) entry(name string, t tensor) (serialize.Entry, error) {
	if t.element.typ == dtype.Invalid {
		return serialize.Unsupported(name, t.shape, t.element.name)
	}
	e := serialize.Entry{Name: name}
	data, err := f.storage(t.storageRef, t.element.typ)
	if err != nil {
		return e, err
	}
	v, err := f.in.View(t.element.typ, t.shape, t.stride, t.offset, t.bytes())
	if err != nil {
		return e, err
	}
	if e.Array = (storage.Array{Data: data, Type: t.element.typ, View: v}); v.Len() > 0 {
		e.Shared = t.key
	}
	if t.conj || t.neg {
		e.Array.Data, e.Shared = &negatedSource{Source: data, key: t.key, all: t.neg, imag: t.conj != t.neg}, ""
	}
	return e, nil
}

// A negatedSource is a Source of elements that are stored with other signs. Numbers have their
// sign in the highest bit of their last byte, if they are floats, and complex ones two.
type negatedSource struct {
	storage.Source
	key       string // of the storage
	all, imag bool   // negate real parts, imaginary parts
}

func (s *negatedSource) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if err := s.Source.ReadView(dst, t, v); err != nil {
		return err
	}
	dst = dst[:v.Len()*t.Size()]
	if !t.IsFloat() && !t.IsComplex() {
		return fmt.Errorf("%v is negated, which only floating point and complex numbers are: %w", t, dtype.ErrType)
	}
	width := t.Align()
	sign := width - 1
	if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		sign = 0
	}
	for i := 0; i+width <= len(dst); i += width {
		negate := s.all
		if t.IsComplex() && i/width%2 == 1 {
			negate = s.imag
		}
		if negate {
			dst[i+sign] ^= 0x80
		}
	}
	return nil
}
