package npy

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// Descr is the attribute with NumPy's type of arrays that are read as something else:
// times are int64, and elements of which NumPy knows only the size have the type that
// [serialize.Options] names. Such arrays are written with that type again.
const Descr = "numpy.descr"

// entry returns the array that h describes over data, which starts where the header ends.
func (h header) entry(name string, data storage.Source, in serialize.Input) (serialize.Entry, error) {
	e := serialize.Entry{Name: name}
	if need := h.view.Len() * h.typ.size; need > data.Len() {
		return e, fmt.Errorf("%s%v takes %d bytes, but there are %d: %w", h.typ.name(), h.view.Shape, need, data.Len(), storage.ErrState)
	}
	if h.typ.size == 0 { // nothing is stored of any number of elements
		const cost = 32 // bytes of memory for a value, about
		if err := in.Budget.Make(cost*min(h.view.Len(), math.MaxInt/cost), data.Len()); err != nil {
			return e, err
		}
	}
	number := h.typ.number
	switch h.typ.code {
	case 'S', 'U', 'r':
		e.Elements = &serialize.Elements{View: h.view, Type: h.typ.name(), Fields: h.typ.describe(), Values: h.values(data, in)}
		return e, nil
	case 'V':
		if number = in.Void; !number.Valid() || number.Size() != h.typ.size {
			e.Elements = &serialize.Elements{View: h.view, Type: h.typ.name()}
			return e, fmt.Errorf("NumPy wrote only the size of elements, V%d, as for types of other libraries such as bfloat16; name their type: %w", h.typ.size, dtype.ErrType)
		}
		e.Attrs = map[string]any{Descr: h.typ.descr}
	case 'M', 'm':
		e.Attrs = map[string]any{Descr: h.typ.descr}
	}
	e.Array = storage.Array{Data: serialize.Normalize(data, number, h.typ.order), Type: number, View: h.view}
	return e, nil
}

// maxValues bounds the bytes of the values that a call returns.
const maxValues = 256 << 20

// values returns the function that reads elements which are not numbers.
func (h header) values(data storage.Source, in serialize.Input) func(views.View) ([]any, error) {
	size := h.typ.size
	return func(v views.View) ([]any, error) {
		if !v.Within(h.view.Len()) {
			return nil, fmt.Errorf("%v reaches outside %v: %w", v.Shape, h.view.Shape, views.ErrShape)
		}
		const cost = 32 // of a value, about
		if v.Len() > maxValues/(size+cost) {
			return nil, fmt.Errorf("values take more than %d bytes; select a part: %w", maxValues, storage.ErrState)
		}
		b := make([]byte, v.Len()*size)
		if err := data.ReadView(b, dtype.Uint8, inBytes(v, size)); err != nil {
			return nil, err
		}
		values := make([]any, v.Len())
		for i := range values {
			if i%4096 == 0 && in.Err() != nil {
				return nil, in.Err()
			}
			var err error
			if values[i], err = h.typ.value(b[i*size:][:size:size]); err != nil {
				return nil, err
			}
		}
		return values, nil
	}
}

// inBytes returns the view of the bytes of elements of the given size.
func inBytes(v views.View, size int) views.View {
	w := views.View{Offset: v.Offset * size, Shape: append(slices.Clone(v.Shape), size), Stride: append(slices.Clone(v.Stride), 1)}
	for axis := range v.Stride {
		w.Stride[axis] *= size
	}
	return w
}

// takeDescr removes the attribute Descr from an entry if it fits the array, and returns
// the type to write. Elements of unknown types are written as integers of their size.
func takeDescr(e *serialize.Entry) string {
	descr, ok := e.Attrs[Descr].(string)
	if !ok || descr == "" || e.Array.Data == nil {
		return ""
	}
	t, err := simpleType(descr)
	if err != nil {
		return ""
	}
	switch integers := map[int]dtype.Type{1: dtype.Uint8, 2: dtype.Uint16}; {
	case t.number == dtype.Int64 && t.code != 0 && e.Array.Type == dtype.Int64:
		descr = nativeOrder + strings.TrimLeft(descr, "<>=|")
	case t.code == 'V' && t.size == e.Array.Type.Size() && integers[t.size].Valid():
		e.Array.Type = integers[t.size]
	default:
		return ""
	}
	e.Attrs = maps.Clone(e.Attrs)
	delete(e.Attrs, Descr)
	return descr
}

// takeDescrs calls takeDescr for each entry of c when it is reached. It returns the types, by number.
func takeDescrs(c *serialize.Contents) map[int]string {
	descrs := map[int]string{}
	entries := c.Entries
	c.Entries = func(yield func(serialize.Entry, error) bool) {
		i := 0
		for e, err := range entries {
			if descr := takeDescr(&e); descr != "" {
				descrs[i] = descr
			}
			if i++; !yield(e, err) {
				return
			}
		}
	}
	return descrs
}

// write writes an entry with the type that takeDescr returned.
func write(w io.Writer, e serialize.Entry, descr string) error {
	switch {
	case e.Elements != nil:
		return writeElements(w, e.Elements)
	case descr != "":
		return writeAs(w, descr, e.Array)
	}
	return Write(w, e.Array)
}
