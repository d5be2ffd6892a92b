// Package column is what the columns of Arrow and of Parquet have in common: they are decoded
// when they are read, may have missing values, and hold numbers, strings or times.
package column

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"sync"
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

// A Column is decoded page by page where it is read in order, and else as a whole: the result
// is then kept for the next read until the garbage collector needs the memory.
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
	// Start returns a function that appends the elements of one page after the other, and at
	// the end returns io.EOF. It may be nil.
	Start func() func(*Values) error

	mu    sync.Mutex
	next  func(*Values) error // nil if pages are not being decoded
	page  *Values
	first int // row of page

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
	done, err := c.inOrder(v, func(d *Values, from, to int) {
		n := copy(dst, d.Numbers[from*t.Size():to*t.Size()])
		dst = dst[n:]
	})
	var d *Values
	if err == nil && !done {
		d, err = c.values()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.In.Name, err)
	}
	if !done {
		storage.Gather(dst, d.Numbers, t, v)
	}
	return nil
}

// inOrder calls use with the parts of pages that v selects, if these are consecutive rows from
// the page of the last read on, or from the first row. It reports whether they are.
func (c *Column) inOrder(v views.View, use func(d *Values, from, to int)) (bool, error) {
	if c.Start == nil || !v.Contiguous() || v.Len() == 0 || c.decoded() != nil {
		return false, nil
	}
	if err := c.Check(); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, end := v.Offset, v.Offset+v.Len()
	if at == 0 && (c.next == nil || c.first > 0) {
		if err := c.allow(); err != nil {
			return false, err
		}
		c.next, c.page, c.first = c.Start(), &Values{}, 0
	}
	if c.next == nil || at < c.first {
		return false, nil
	}
	for {
		n := c.Kind.Len(c.page)
		if from, to := at-c.first, min(end-c.first, n); from < to {
			use(c.page, from, to)
			at = c.first + to
		}
		if at == c.Rows {
			c.next, c.page = nil, nil
		}
		if at == end {
			return true, nil
		}
		page := &Values{Numbers: c.page.Numbers[:0], Texts: c.page.Texts[:0]}
		err := c.next(page)
		if err == nil {
			page, err = c.widen(page)
		}
		if err != nil {
			c.next = nil
			if err == io.EOF {
				err = fmt.Errorf("%d rows instead of %d: %w", c.first+n, c.Rows, storage.ErrState)
			}
			return false, err
		}
		c.first, c.page = c.first+n, page
	}
}

// strings returns strings.
func (c *Column) strings(v views.View) ([]any, error) {
	if !v.Within(c.Rows) {
		return nil, fmt.Errorf("%v of %d rows: %w", v.Shape, c.Rows, views.ErrShape)
	}
	list := make([]any, 0, v.Len())
	done, err := c.inOrder(v, func(d *Values, from, to int) {
		for _, text := range d.Texts[from:to] {
			list = append(list, text)
		}
	})
	if done || err != nil {
		return list, err
	}
	d, err := c.values()
	if err != nil {
		return nil, err
	}
	for at := range v.Positions() {
		list = append(list, d.Texts[at])
	}
	return list, nil
}

func (c *Column) values() (*Values, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if d := c.decoded(); d != nil {
		return d, nil
	}
	if err := c.allow(); err != nil {
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

// decoded returns the elements if they are kept, or nil.
func (c *Column) decoded() *Values {
	if kept := c.kept.Load(); kept != nil {
		return kept.Value()
	}
	return nil
}

// allow returns an error if the budget does not allow to decode the column.
func (c *Column) allow() error {
	size := c.Rows * 16 // of a string
	if c.Type.Valid() {
		size = c.Rows * c.Type.Size()
	}
	if err := c.In.Budget.Allocate(size, c.Stored()); err != nil {
		return err
	}
	return c.In.Budget.Make(c.Rows*max(16, c.Type.Size()), c.Stored())
}
