package column

import (
	"fmt"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/serialize"
	"github.com/h5dnn/h5dnn/storage"
	"github.com/h5dnn/h5dnn/views"
)

// A Table is what the columns of a file have in common.
type Table struct {
	In      serialize.Input
	Rows    int
	Check   func() error // fails once the file is closed
	Scratch Scratch      // of columns that are read in another order

	mu      sync.Mutex
	started []*Column // that are being decoded, the first started first
}

// maxStarted is how many columns of a table are decoded at a time, each of which has a page in
// memory.
const maxStarted = 8

// start notes that c is being decoded. If there are too many, another column gives up its page.
func (t *Table) start(c *Column) {
	t.end(c)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := 0; i < len(t.started) && len(t.started) >= maxStarted; i++ {
		if other := t.started[i]; other.mu.TryLock() { // those that are being read keep it
			other.next, other.page, other.stopped = nil, nil, true
			other.mu.Unlock()
			t.started = slices.Delete(t.started, i, i+1)
			i--
		}
	}
	t.started = append(t.started, c)
}

// end notes that c is no longer being decoded.
func (t *Table) end(c *Column) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = slices.DeleteFunc(t.started, func(other *Column) bool { return other == c })
}

// A Column is decoded page by page while it is read in order. If it is read in another order,
// or row by row with many others, it is decoded once to the Scratch of its table.
type Column struct {
	*Table
	Kind
	Shape []int // nil for one element in each row
	// Missing is set if elements are missing. Integers and bools are then read as float64s,
	// with NaN; integers that are no float64 are strings.
	Missing bool
	// Unknown is set if it is not known whether elements are missing, and Exact if all are
	// float64s. Entry decodes a column to find out what it has to.
	Unknown, Exact bool
	Stored         func() int // bytes
	// Start returns a function that appends the elements of one page after the other, and at
	// the end returns io.EOF. It may use the memory of the page before again.
	Start func() func(*Values) error

	mu      sync.Mutex
	next    func(*Values) error // nil if pages are not being decoded
	page    *Values
	first   int  // row of page
	texts   int  // bytes of the strings that are decoded
	stopped bool // by other columns, before its end
	allowed bool // by the budget
	count   int  // of elements

	spool  *Spool // nil if the column has been read in order
	source storage.Source
	widen  func(*Values) (*Values, error)
}

// Entry returns the column as an array or as strings. Attributes have what that does not say: see
// DescrAttr. A shape of too many elements is an error.
func (c *Column) Entry(name string) (serialize.Entry, error) {
	e := serialize.Entry{Name: name}
	if c.Shape == nil {
		c.Shape = []int{c.Rows}
	}
	view, err := views.New(c.Shape, math.MaxInt/16)
	if err != nil {
		e, _ := serialize.Unsupported(name, []int{c.Rows}, "list")
		return e, err
	}
	c.count = view.Len()
	decoded := c.Kind
	if !decoded.hasMissing() {
		c.Type = c.readAs()
	}
	c.widen = func(v *Values) (*Values, error) {
		switch {
		case !c.Type.Valid() && decoded.Type.Valid():
			return decoded.texts(v), nil
		case c.Type != decoded.Type:
			return decoded.Widened(v)
		case len(v.Missing) > 0:
			return nil, fmt.Errorf("values of type %v are missing, for which there is no number; fill them or save floats: %w", c.Type, storage.ErrState)
		}
		return v, nil
	}
	e.Attrs = c.attrs(decoded.Type)
	if !c.Type.Valid() {
		e.Elements = &serialize.Elements{View: view, Type: "string", Missing: c.Missing && !decoded.Type.Valid(), Values: c.strings}
		return e, nil
	}
	e.Array = storage.Array{Data: c, Type: c.Type, View: view}
	return e, nil
}

// attrs returns the attributes of a column whose elements have a type in the file.
func (c *Column) attrs(stored dtype.Type) map[string]any {
	switch {
	case c.Zone != "":
		return map[string]any{DescrAttr: c.Descr, ZoneAttr: c.Zone}
	case c.Descr != "":
		return map[string]any{DescrAttr: c.Descr}
	case c.Type != stored:
		return map[string]any{TypeAttr: stored.String()}
	}
	return nil
}

// readAs returns the type of a column of integers or bools: their own, float64 if some are
// missing, or Invalid for strings.
func (c *Column) readAs() dtype.Type {
	missing, exact := c.Missing, c.Exact || c.Type.Size() < 8
	if c.Unknown || missing && !exact {
		if some, all, err := c.examine(); err == nil { // else reading fails
			missing, exact = some, all
		}
	}
	switch {
	case !missing:
		return c.Type
	case exact:
		return dtype.Float64
	}
	return dtype.Invalid
}

// examine decodes the column and reports whether elements are missing, and all are float64s.
func (c *Column) examine() (missing, exact bool, err error) {
	if err := c.allow(); err != nil {
		return false, false, err
	}
	exact = true
	next, page := c.Start(), &Values{}
	for rows := 0; rows < c.count && !(missing && !exact); rows += c.Kind.Len(page) {
		if err := c.In.Err(); err != nil {
			return false, false, err
		}
		page.Numbers, page.Missing = page.Numbers[:0], page.Missing[:0]
		if err := next(page); err != nil {
			return false, false, err
		}
		missing = missing || len(page.Missing) > 0
		exact = exact && c.Kind.exact(page)
	}
	return missing, exact, nil
}

// allow returns an error if the budget does not allow to decode the column.
func (c *Column) allow() error {
	if c.allowed {
		return nil
	}
	err := c.In.Budget.Make(c.count*max(16, c.Type.Size()), c.Stored())
	c.allowed = err == nil
	return err
}

func (c *Column) Len() int               { return c.count * c.Type.Size() }
func (c *Column) Device() storage.Device { return storage.File(c.In.Name) }

// ReadView implements [storage.Source].
func (c *Column) ReadView(dst []byte, t dtype.Type, v views.View) error {
	if t != c.Type || !v.Within(c.count) || len(dst) < v.Len()*t.Size() {
		return fmt.Errorf("%s: %v%v of %d rows of %v: %w", c.In.Name, t, v.Shape, c.count, c.Type, views.ErrShape)
	}
	rest := dst
	spool, err := c.read(v, func(d *Values, from, to int) {
		n := copy(rest, d.Numbers[from*t.Size():to*t.Size()])
		rest = rest[n:]
	})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.In.Name, err)
	case spool != nil:
		return c.source.ReadView(dst, t, v)
	}
	return nil
}

// strings returns strings.
func (c *Column) strings(v views.View) ([]any, error) {
	if !v.Within(c.count) {
		return nil, fmt.Errorf("%v of %d rows: %w", v.Shape, c.count, views.ErrShape)
	}
	list := make([]any, 0, v.Len())
	spool, err := c.read(v, func(d *Values, from, to int) {
		for _, text := range d.Texts[from:to] {
			list = append(list, text)
		}
	})
	if spool != nil {
		return spool.Strings(v)
	}
	return list, err
}

// read calls use with the parts of pages that v selects, if these are consecutive rows and not
// before those of the last read, unless they begin with the first row. Otherwise it returns the
// whole column in a Spool.
func (c *Column) read(v views.View, use func(d *Values, from, to int)) (*Spool, error) {
	if err := c.Check(); err != nil || v.Len() == 0 {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.spool != nil {
		return c.spool, nil
	}
	if err := c.allow(); err != nil {
		return nil, err
	}
	at, end := v.Offset, v.Offset+v.Len()
	inOrder := v.Contiguous() && (c.next != nil && at >= c.first || c.next == nil && !c.stopped || at == 0)
	if !inOrder {
		err := c.decode()
		return c.spool, err
	}
	if c.next == nil || at < c.first {
		c.restart()
	}
	for {
		n := c.Kind.Len(c.page)
		if from, to := at-c.first, min(end-c.first, n); from < to {
			use(c.page, from, to)
			at = c.first + to
		}
		if at == c.count {
			c.stop()
		}
		if at == end {
			return nil, nil
		}
		if err := c.turn(); err != nil {
			return nil, err
		}
	}
}

// restart begins with the page before the first.
func (c *Column) restart() {
	c.Table.start(c)
	c.next, c.page, c.first, c.texts, c.stopped = c.Start(), &Values{}, 0, 0, false
}

func (c *Column) stop() {
	c.Table.end(c)
	c.next, c.page = nil, nil
}

// turn decodes the next page.
func (c *Column) turn() error {
	c.first += c.Kind.Len(c.page)
	page := &Values{Numbers: c.page.Numbers[:0], Texts: c.page.Texts[:0]}
	err := c.next(page)
	if err == nil {
		page, err = c.widen(page)
	}
	if err == nil {
		err = c.addTexts(page.Texts)
	}
	if err == io.EOF {
		err = fmt.Errorf("%d rows instead of %d: %w", c.first, c.count, storage.ErrState)
	}
	if c.page = page; err != nil {
		c.stop()
	}
	return err
}

// addTexts returns an error if the strings so far, each of which may be stored once for any number of
// rows, have more bytes than the budget allows.
func (c *Column) addTexts(texts []string) error {
	for _, text := range texts {
		c.texts += len(text)
	}
	if stored, limit := c.Stored(), c.In.Budget.Limit(); c.texts/storage.ExpansionRatio > stored && c.texts-stored*storage.ExpansionRatio > limit {
		return &storage.BudgetError{Bytes: c.texts, Stored: stored, Limit: limit}
	}
	return nil
}

// decode writes the column to a Spool.
func (c *Column) decode() error {
	c.restart()
	spool := c.Scratch.Spool(c.Kind)
	for c.first+c.Kind.Len(c.page) < c.count {
		if err := c.In.Err(); err != nil {
			c.stop()
			return err
		}
		if err := c.turn(); err != nil {
			return err
		}
		if err := spool.Append(c.page); err != nil {
			c.stop()
			return err
		}
	}
	c.stop()
	if c.Type.Valid() {
		var err error
		if c.source, err = spool.Source(c.In.Name, c.Check); err != nil {
			return err
		}
	}
	c.spool = spool
	return nil
}
