package torch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/pickle"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// numpyTypes are NumPy's codes of element types.
var numpyTypes = map[string]dtype.Type{
	"b1": dtype.Bool, "f2": dtype.Float16, "f4": dtype.Float32, "f8": dtype.Float64, "c8": dtype.Complex64, "c16": dtype.Complex128,
	"i1": dtype.Int8, "i2": dtype.Int16, "i4": dtype.Int32, "i8": dtype.Int64,
	"u1": dtype.Uint8, "u2": dtype.Uint16, "u4": dtype.Uint32, "u8": dtype.Uint64,
}

// numpyKinds are NumPy's names of its types that are not numbers, by their codes.
var numpyKinds = map[byte]string{'O': "Python objects", 'U': "text", 'S': "bytes", 'V': "structures", 'M': "dates", 'm': "durations"}

// longTypes are NumPy's names of floats of more than 8 bytes, of which f16 would be taken for float16.
var longTypes = map[string]string{"f16": "longdouble", "f12": "longdouble", "c32": "clongdouble", "c24": "clongdouble"}

// numpyDtype reads numpy.dtype(code, align, copy) with the state (3, byte order, ...), of an
// array of that shape.
func numpyDtype(value any, shape []int) (t dtype.Type, order binary.ByteOrder, err error) {
	o, ok := value.(*pickle.Object)
	if !ok || !o.Is("numpy.dtype") {
		return t, nil, fmt.Errorf("%s instead of a dtype", pickle.TypeOf(value))
	}
	code, isText := argument(o.Args, 0).(string)
	if !isText { // numpy.record, a class
		code = "V"
	}
	code = strings.TrimLeft(code, "<>=|")
	t, ok = numpyTypes[code]
	if !ok {
		kind := "NumPy " + code
		if long := longTypes[code]; long != "" {
			kind = "NumPy " + long
		}
		if code != "" && numpyKinds[code[0]] != "" {
			kind = "NumPy " + numpyKinds[code[0]]
		}
		return t, nil, &unsupportedError{kind: kind, shape: shape, advice: "save it as an array of numbers"}
	}
	return t, orderOf(o), nil
}

// orderOf returns the byte order of a dtype.
func orderOf(dtype *pickle.Object) binary.ByteOrder {
	for _, state := range dtype.State {
		if fields, ok := state.(pickle.Tuple); ok && argument(fields, 1) == ">" {
			return binary.BigEndian
		}
	}
	return binary.LittleEndian
}

func isNumPyArray(o *pickle.Object) bool {
	return o.Is("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct", "numpy.core.numeric._frombuffer", "numpy._core.numeric._frombuffer")
}

func isNumPyScalar(o *pickle.Object) bool {
	return o.Is("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar")
}

// numpyArray reads an array, whose elements are in the pickle itself:
//
//	_reconstruct(ndarray, (0,), b'b'), state (1, shape, dtype, Fortran order, bytes)
//	_frombuffer(bytes, dtype, shape, "C" or "F"), with protocol 5
func numpyArray(o *pickle.Object) (storage.Array, error) {
	var a storage.Array
	var shape, element, content any
	var fortran bool
	if g, _ := o.Class.(pickle.Global); g.Name == "_frombuffer" {
		content, element, shape, fortran = argument(o.Args, 0), argument(o.Args, 1), argument(o.Args, 2), argument(o.Args, 3) == "F"
	} else {
		if len(o.State) != 1 {
			return a, errors.New("a NumPy array without state")
		}
		state, _ := o.State[0].(pickle.Tuple)
		if len(state) != 5 {
			return a, errors.New("a NumPy array with unknown state")
		}
		shape, element, fortran, content = state[1], state[2], state[3] == true, state[4]
	}
	sizes, ok := ints(shape)
	if !ok {
		return a, errors.New("a NumPy array without shape")
	}
	typ, order, err := numpyDtype(element, sizes)
	if err != nil {
		return a, err
	}
	b, ok := numpyBytes(content)
	view, err := views.New(sizes, math.MaxInt/typ.Size())
	if err != nil {
		return a, err
	}
	if !ok || len(b) != view.Len()*typ.Size() {
		return a, fmt.Errorf("a NumPy array %v%v of %d bytes: %w", typ, sizes, len(b), views.ErrShape)
	}
	if fortran {
		if view, err = view.Transpose(); err == nil {
			view, err = views.Of(view.Shape...).Transpose()
		}
	}
	data := slices.Clone(b)
	serialize.NormalizeBytes(data, typ, order)
	return storage.Array{Data: storage.Wrap(data), Type: typ, View: view}, err
}

// numpyBytes returns the bytes of elements: bytes, those of Python 2 as text, or with protocol 5 a bytearray.
func numpyBytes(content any) (b []byte, ok bool) {
	switch content := content.(type) {
	case []byte:
		return content, true
	case pickle.ByteArray:
		return content, true
	case string:
		return []byte(content), true
	}
	return nil, false
}

// numpyScalar returns the value of scalar(dtype, bytes) as Python's int, float, complex, bool or str.
func numpyScalar(o *pickle.Object) (any, error) {
	if text, ok := numpyText(o); ok {
		return text, nil
	}
	typ, order, err := numpyDtype(argument(o.Args, 0), nil)
	b, ok := numpyBytes(argument(o.Args, 1))
	if err == nil && (!ok || len(b) != typ.Size()) {
		err = fmt.Errorf("a NumPy scalar %v of %d bytes", typ, len(b))
	}
	if err != nil {
		return nil, err
	}
	data := slices.Clone(b)
	serialize.NormalizeBytes(data, typ, order)
	a := storage.Array{Data: storage.Wrap(data), Type: typ, View: views.Of()}
	switch {
	case typ == dtype.Bool:
		return data[0] != 0, nil
	case typ.IsComplex():
		return first[complex128](a)
	case typ.IsFloat():
		return first[float64](a)
	case typ == dtype.Uint64:
		x, err := first[uint64](a)
		if x > math.MaxInt64 {
			return new(big.Int).SetUint64(x), err
		}
		return int64(x), err
	}
	return first[int64](a)
}

// first returns the element of a scalar.
func first[T dtype.Go](a storage.Array) (x T, err error) {
	list, err := storage.Read[T](a)
	if err == nil {
		x = list[0]
	}
	return x, err
}

// arrayClass returns the class of an array.
func arrayClass(o *pickle.Object) string {
	if class, ok := argument(o.Args, 0).(pickle.Global); ok { // a subclass, such as that of matrices
		return class.String()
	}
	return "numpy.ndarray"
}

// numpyClass returns the class of a scalar.
func numpyClass(o *pickle.Object) string {
	if typ, _, err := numpyDtype(argument(o.Args, 0), nil); err == nil {
		return "numpy." + typ.String()
	}
	return "numpy.str_"
}

// numpyText reads a scalar of text, which is UTF-32 with zeros behind it.
func numpyText(o *pickle.Object) (string, bool) {
	d, _ := argument(o.Args, 0).(*pickle.Object)
	b, _ := argument(o.Args, 1).([]byte)
	if d == nil || !d.Is("numpy.dtype") {
		return "", false
	}
	code, _ := argument(d.Args, 0).(string)
	if code = strings.TrimLeft(code, "<>=|"); !strings.HasPrefix(code, "U") || len(b)%4 != 0 {
		return "", false
	}
	var text strings.Builder
	for order := orderOf(d); len(b) > 0; b = b[4:] {
		text.WriteRune(rune(order.Uint32(b)))
	}
	return strings.TrimRight(text.String(), "\x00"), true
}
