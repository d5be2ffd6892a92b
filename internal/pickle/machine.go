package pickle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"unicode/utf8"
)

// Load reads one pickle of at most size bytes, and returns its value and its length. The
// values may take up to limit bytes of memory.
func Load(r io.Reader, size int64, limit int) (value any, n int64, err error) {
	m := &machine{r: newBlockReader(r, size), left: size, limit: limit, memory: limit, far: map[uint64]any{}, texts: map[string]any{}}
	for m.result == nil && err == nil {
		err = m.step()
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, size - m.left, fmt.Errorf("pickle, byte %d: %w", size-m.left, err)
	}
	return *m.result, size - m.left, nil
}

type machine struct {
	r      blockReader
	left   int64 // bytes
	limit  int   // bytes of memory that all values may take
	memory int   // bytes that may still be taken
	stack  []any
	marks  []int          // lengths of the stack
	memo   []any          // entries that were stored in order
	far    map[uint64]any // other entries
	texts  map[string]any // see textOf
	result *any
}

// take accounts for n bytes of values.
func (m *machine) take(n int) error {
	if m.memory -= n; m.memory < 0 {
		return fmt.Errorf("its values take more memory than allowed: %d bytes", m.limit)
	}
	return nil
}

// read returns the next n bytes, valid until the next call.
func (m *machine) read(n uint64) ([]byte, error) {
	if n > uint64(m.left) {
		return nil, fmt.Errorf("%d bytes are declared and %d are left: %w", n, m.left, io.ErrUnexpectedEOF)
	}
	m.left -= int64(n)
	if n <= 4096 {
		b, err := m.r.peek(int(n))
		if err != nil {
			return nil, err
		}
		m.r.at += int(n)
		return b[:n], nil
	}
	if err := m.take(int(n)); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, m.r.read(b)
}

// uint reads a little-endian integer of n bytes.
func (m *machine) uint(n uint64) (uint64, error) {
	b, err := m.read(n)
	var x uint64
	for i := len(b) - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	return x, err
}

// sized reads bytes whose number precedes them in n bytes.
func (m *machine) sized(n uint64) ([]byte, error) {
	length, err := m.uint(n)
	if err != nil {
		return nil, err
	}
	return m.read(length)
}

// line reads the bytes up to the next newline.
func (m *machine) line() (string, error) {
	b, err := m.r.line()
	if err != nil || len(b) >= maxLine || int64(len(b)) >= m.left {
		return "", errors.New("a name has no end")
	}
	m.left -= int64(len(b)) + 1
	return string(b), nil
}

// valueSize is about how many bytes a value takes in the memory of Go.
const valueSize = 48

func (m *machine) push(value any) error {
	if len(m.stack) == cap(m.stack) { // to twice the size: a state_dict is on the stack as a whole
		m.stack = slices.Grow(m.stack, max(64, len(m.stack)))
	}
	m.stack = append(m.stack, value)
	return m.take(valueSize)
}

var errStack = errors.New("a value is missing on the stack")

func (m *machine) pop() (any, error) {
	last, err := m.popN(1)
	if err != nil {
		return nil, err
	}
	return last[0], nil
}

// top returns the value that is popped next.
func (m *machine) top() (any, error) {
	value, err := m.pop()
	if err == nil {
		m.stack = m.stack[:len(m.stack)+1]
	}
	return value, err
}

// popMark returns the values since the last mark, valid until the next one is pushed.
func (m *machine) popMark() ([]any, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("a mark is missing on the stack")
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, m.take(16 * len(items))
}

// popN returns the last n values, valid until the next one is pushed.
func (m *machine) popN(n int) ([]any, error) {
	at, least := len(m.stack)-n, 0
	if len(m.marks) > 0 {
		least = m.marks[len(m.marks)-1]
	}
	if at < least {
		return nil, errStack
	}
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items, nil
}

// remember stores the last value under a number.
func (m *machine) remember(at uint64) error {
	value, err := m.top()
	switch {
	case err != nil:
		return err
	case at == uint64(len(m.memo)):
		m.memo = append(m.memo, value)
	case at < uint64(len(m.memo)):
		m.memo[at] = value
	default:
		m.far[at] = value
	}
	return m.take(valueSize)
}

func (m *machine) recall(at uint64) error {
	if at < uint64(len(m.memo)) {
		return m.push(m.memo[at])
	}
	if value, ok := m.far[at]; ok {
		return m.push(value)
	}
	return fmt.Errorf("value %d was never stored", at)
}

// step runs one instruction.
func (m *machine) step() error {
	op, err := m.read(1)
	if err != nil {
		return err
	}
	run := instructions[op[0]]
	if run == nil {
		return fmt.Errorf("instruction %q is not one that torch.save writes", op[0])
	}
	return run(m, op[0])
}

func (m *machine) integer(code byte) error {
	switch code {
	case opBinInt1, opBinInt2:
		x, err := m.uint(widths[code])
		if err != nil {
			return err
		}
		return m.push(int64(x))
	case opBinInt:
		x, err := m.uint(4)
		if err != nil {
			return err
		}
		return m.push(int64(int32(x)))
	}
	b, err := m.sized(widths[code])
	if err != nil {
		return err
	}
	if len(b) > 1<<16 {
		return fmt.Errorf("an integer of %d bytes", len(b))
	}
	return m.push(twosComplement(b))
}

// twosComplement returns the little-endian integer of b.
func twosComplement(b []byte) any {
	digits := slices.Clone(b)
	slices.Reverse(digits)
	x := new(big.Int).SetBytes(digits)
	if len(digits) > 0 && digits[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(digits))))
	}
	if x.IsInt64() {
		return x.Int64()
	}
	return x
}

func (m *machine) text(code byte) error {
	b, err := m.sized(widths[code])
	if err != nil {
		return err
	}
	if err := m.take(len(b)); err != nil {
		return err
	}
	switch code {
	case opByteArray8:
		return m.push(ByteArray(bytes.Clone(b)))
	case opShortBinBytes, opBinBytes, opBinBytes8:
		return m.push(bytes.Clone(b))
	case opShortBinString, opBinString: // strings of Python 2, which are bytes
		if !utf8.Valid(b) {
			return m.push(bytes.Clone(b))
		}
	default:
		if !utf8.Valid(b) {
			value, ok := withSurrogates(b)
			if !ok {
				return fmt.Errorf("%q is not UTF-8", b[:min(len(b), 40)])
			}
			return cmp.Or(m.take(len(b)), m.push(value))
		}
	}
	return m.push(m.textOf(b))
}

// textOf returns b as a string. The first short ones, such as "storage" and "cpu" of every tensor, are
// made once.
func (m *machine) textOf(b []byte) any {
	const short, most = 16, 64
	if len(b) > short {
		return string(b)
	}
	text, ok := m.texts[string(b)]
	if !ok {
		text = string(b)
		if len(m.texts) < most {
			m.texts[string(b)] = text
		}
	}
	return text
}

// empty pushes an empty container.
func (m *machine) empty(code byte) error {
	switch code {
	case opEmptyList:
		return m.push(&List{})
	case opEmptyDict:
		return m.push(&Dict{})
	case opEmptySet:
		return m.push(&Set{})
	}
	return m.push(Tuple{})
}

// collect makes a container of values on the stack.
func (m *machine) collect(code byte) error {
	var items []any
	var err error
	if n := int(code - opTuple1 + 1); n >= 1 && n <= 3 {
		items, err = m.popN(n)
	} else {
		items, err = m.popMark()
	}
	if err != nil {
		return err
	}
	items = slices.Clone(items)
	switch code {
	case opList:
		return m.push(&List{Items: items})
	case opFrozenSet:
		return m.push(&Set{items, true})
	case opDict:
		d := &Dict{}
		if err := m.setItems(d, items); err != nil {
			return err
		}
		return m.push(d)
	}
	return m.push(Tuple(items))
}

// extend adds values on the stack to the container below them.
func (m *machine) extend(code byte) error {
	var items []any
	var err error
	switch code {
	case opAppend:
		items, err = m.popN(1)
	case opSetItem:
		items, err = m.popN(2)
	default:
		items, err = m.popMark()
	}
	if err != nil {
		return err
	}
	container, err := m.top()
	if err != nil {
		return err
	}
	pairs := code == opSetItem || code == opSetItems
	switch c := container.(type) {
	case *List:
		if !pairs {
			c.Items = append(c.Items, items...)
			return nil
		}
	case *Set:
		if code == opAddItems {
			c.Items = append(c.Items, items...)
			return nil
		}
	case *Dict:
		if pairs {
			return m.setItems(c, items)
		}
	case *Object:
		if !pairs {
			if c.List == nil {
				c.List = &List{}
			}
			c.List.Items = append(c.List.Items, items...)
			return nil
		}
		if c.Items == nil {
			c.Items = &Dict{}
		}
		return m.setItems(c.Items, items)
	}
	return fmt.Errorf("items are added to %s", TypeOf(container))
}

func (m *machine) setItems(d *Dict, items []any) error {
	if len(items)%2 != 0 {
		return errors.New("a key has no value")
	}
	d.Keys, d.Values = slices.Grow(d.Keys, len(items)/2), slices.Grow(d.Values, len(items)/2)
	for i := 0; i < len(items); i += 2 {
		if err := d.Set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return m.take(valueSize * len(items) / 2)
}

func (m *machine) global(code byte) error {
	var g Global
	if code == opGlobal {
		var err error
		if g.Module, err = m.line(); err == nil {
			g.Name, err = m.line()
		}
		if err != nil {
			return err
		}
	} else {
		names, err := m.popN(2)
		if err != nil {
			return err
		}
		module, isText := names[0].(string)
		name, alsoText := names[1].(string)
		if !isText || !alsoText || len(module)+len(name) > maxLine {
			return errors.New("the name of a global is not a string")
		}
		g = Global{module, name}
	}
	g = g.python3()
	if err := g.check(); err != nil {
		return err
	}
	return m.push(g)
}

// call makes the object that a call would have returned.
func (m *machine) call(code byte) error {
	n := 2
	if code == opNewObjEx {
		n = 3
	}
	operands, err := m.popN(n)
	if err != nil {
		return err
	}
	args, ok := operands[1].(Tuple)
	if !ok {
		return fmt.Errorf("%s is called with %s instead of a tuple", TypeOf(operands[0]), TypeOf(operands[1]))
	}
	if code == opReduce {
		if g, ok := operands[0].(Global); ok && constructors[g] != nil {
			value, known, err := constructors[g](m, g, args)
			if err != nil {
				return fmt.Errorf("%v: %w", g, err)
			}
			if known {
				return m.push(value)
			}
		}
	}
	switch operands[0].(type) {
	case Global, *Object, *Persistent:
	default:
		return fmt.Errorf("%s is called", TypeOf(operands[0]))
	}
	return m.push(&Object{Class: operands[0], Args: args})
}

func (m *machine) build(_ byte) error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	object, err := m.top()
	if err != nil {
		return err
	}
	switch o := object.(type) {
	case *Object:
		o.State = append(o.State, state)
	case *Dict:
		o.State = append(o.State, state)
	default:
		return fmt.Errorf("attributes are set of %s", TypeOf(object))
	}
	return m.take(16)
}
