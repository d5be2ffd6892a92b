// Package column is what the columns of Arrow and of Parquet have in common: they are decoded
// as a whole, may have missing values, and hold numbers, strings or times.
package column

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
	"weak"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Kind is what the elements of a column are.
type Kind struct {
	Type  dtype.Type // of numbers; Invalid for strings
	Descr string     // NumPy's type of times, which are int64: <M8[us] since 1970, or a difference <m8[us]; or ""
}

// Times and differences of them, by the units of Arrow: s, ms, us, ns, or D.
func Time(unit string) Kind     { return Kind{dtype.Int64, "<M8[" + unit + "]"} }
func Duration(unit string) Kind { return Kind{dtype.Int64, "<m8[" + unit + "]"} }

// Values are elements of a column: numbers as bytes, in the byte order of the machine, or
// strings.
type Values struct {
	Numbers []byte
	Texts   []string
	// Missing are the positions of elements that no integer or bool stands for; see
	// AppendMissing.
	Missing []int
}

// Len returns the number of elements.
func (k Kind) Len(v *Values) int {
	if k.Type.Valid() {
		return len(v.Numbers) / k.Type.Size()
	}
	return len(v.Texts)
}

// Append appends element i of from, which has more elements.
func (k Kind) Append(v, from *Values, i int) {
	if k.Type.Valid() {
		size := k.Type.Size()
		v.Numbers = append(v.Numbers, from.Numbers[i*size:(i+1)*size]...)
	} else {
		v.Texts = append(v.Texts, from.Texts[i])
	}
}

// hasMissing reports whether some number or string stands for missing elements.
func (k Kind) hasMissing() bool { return k.Type.IsFloat() || !k.Type.Valid() || k.Descr != "" }

// AppendMissing appends what stands for a missing element: NaN, NumPy's NaT for times, or an
// empty string. For other integers and for bools, which have nothing of the kind, it appends 0
// and notes the position.
func (k Kind) AppendMissing(v *Values) {
	if !k.hasMissing() {
		v.Missing = append(v.Missing, k.Len(v))
		v.Numbers = append(v.Numbers, make([]byte, k.Type.Size())...)
		return
	}
	switch {
	case k.Type.IsFloat():
		v.Numbers = append(v.Numbers, dtype.NaN(k.Type)...)
	case k.Type == dtype.Int64:
		v.Numbers = binary.NativeEndian.AppendUint64(v.Numbers, 1<<63)
	default:
		v.Texts = append(v.Texts, "")
	}
}

// Widened returns v, integers or bools some of which are missing, as float64s with NaN, as
// pandas reads them. Integers that float64 does not have are an error.
func (k Kind) Widened(v *Values) (*Values, error) {
	n := k.Len(v)
	wide := make([]byte, 8*n)
	if err := dtype.Convert(wide, dtype.Float64, v.Numbers, k.Type); err != nil {
		return nil, err
	}
	if k.Type.Size() == 8 {
		const exact = 1 << 53
		for i := range n {
			x := math.Float64frombits(binary.NativeEndian.Uint64(wide[8*i:]))
			if x <= -exact || x >= exact {
				return nil, fmt.Errorf("elements are missing, so that integers become float64, which has not %.0f of row %d; fill the missing ones: %w", x, i, storage.ErrState)
			}
		}
	}
	for _, i := range v.Missing {
		copy(wide[8*i:], dtype.NaN(dtype.Float64))
	}
	return &Values{Numbers: wide}, nil
}

// A Column is decoded as a whole when it is read. The result is kept for the next read
// until the garbage collector needs the memory.
type Column struct {
	Kind
	// Missing is set if elements are missing. Integers and bools are then read as float64s,
	// with NaN.
	Missing bool
	In      serialize.Input
	Rows    int
	Stored  func() int   // bytes
	Check   func() error // fails once the file is closed
	// Decode returns all elements. It is called by one goroutine at a time or several.
	Decode func() (*Values, error)

	widen func(*Values) (*Values, error)
	kept  atomic.Pointer[weak.Pointer[Values]]
}

// Entry returns the column as an array or as strings. The attribute numpy.descr has the
// type of times, as in package npy.
func (c *Column) Entry(name string) serialize.Entry {
	e := serialize.Entry{Name: name}
	decoded := c.Kind
	if c.Missing && !decoded.hasMissing() {
		c.Type = dtype.Float64
	}
	c.widen = func(v *Values) (*Values, error) {
		switch {
		case c.Type != decoded.Type:
			return decoded.Widened(v)
		case len(v.Missing) > 0:
			return nil, fmt.Errorf("values of type %v are missing, for which there is no number; fill them or save floats: %w", c.Type, storage.ErrState)
		}
		return v, nil
	}
	if !c.Type.Valid() {
		e.Elements = &serialize.Elements{View: views.Of(c.Rows), Type: "string", Values: c.strings}
		return e
	}
	e.Array = storage.Array{Data: c, Type: c.Type, View: views.Of(c.Rows)}
	if c.Descr != "" {
		e.Attrs = map[string]any{"numpy.descr": c.Descr}
	}
	return e
}

func (c *Column) Len() int               { return c.Rows * c.Type.Size() }
func (c *Column) Device() storage.Device { return storage.File(c.In.Name) }

// ReadView implements [storage.Source].
func (c *Column) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != c.Type || !v.Within(c.Rows) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v of %d rows of %v: %w", c.In.Name, t, v.Shape, c.Rows, c.Type, views.ErrShape)
	}
	d, err := c.values()
	if err != nil {
		return fmt.Errorf("%s: %w", c.In.Name, err)
	}
	storage.Gather(dst, d.Numbers, t, v)
	return nil
}

// strings returns strings.
func (c *Column) strings(v views.View) ([]any, error) {
	if !v.Within(c.Rows) {
		return nil, fmt.Errorf("%v of %d rows: %w", v.Shape, c.Rows, views.ErrShape)
	}
	d, err := c.values()
	if err != nil {
		return nil, err
	}
	list := make([]any, 0, v.Len())
	for at := range v.Positions() {
		list = append(list, d.Texts[at])
	}
	return list, nil
}

func (c *Column) values() (*Values, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if kept := c.kept.Load(); kept != nil {
		if d := kept.Value(); d != nil {
			return d, nil
		}
	}
	size := c.Rows * 16 // of a string
	if c.Type.Valid() {
		size = c.Rows * c.Type.Size()
	}
	if err := c.In.Budget.Allocate(size, c.Stored()); err != nil {
		return nil, err
	}
	if err := c.In.Budget.Make(c.Rows*max(16, c.Type.Size()), c.Stored()); err != nil {
		return nil, err
	}
	d, err := c.Decode()
	if err == nil {
		d, err = c.widen(d)
	}
	if err != nil {
		return nil, err
	}
	kept := weak.Make(d)
	c.kept.Store(&kept)
	return d, nil
}
