package pickle

import (
	"bytes"
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
	for m.result == nil && m.err == nil {
		m.step()
	}
	if m.err != nil {
		if errors.Is(m.err, io.EOF) {
			m.err = io.ErrUnexpectedEOF
		}
		return nil, size - m.left, fmt.Errorf("pickle, byte %d: %w", size-m.left, m.err)
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
	err    error // the first one, after which values are read and popped as nil
}

// fail keeps the first error.
func (m *machine) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fmt.Errorf(format, args...)
	}
}

// take accounts for n bytes of values.
func (m *machine) take(n int) {
	if m.memory -= n; m.memory < 0 {
		m.fail("its values take more memory than allowed: %d bytes", m.limit)
	}
}

// read returns the next n bytes, valid until the next call.
func (m *machine) read(n uint64) (b []byte) {
	if n > uint64(m.left) {
		m.fail("%d bytes are declared and %d are left: %w", n, m.left, io.ErrUnexpectedEOF)
	}
	if m.err != nil {
		return nil
	}
	m.left -= int64(n)
	if n <= 4096 {
		if b, m.err = m.r.peek(int(n)); m.err != nil {
			return nil
		}
		m.r.at += int(n)
		return b[:n]
	}
	if m.take(int(n)); m.err == nil {
		b = make([]byte, n)
		m.err = m.r.read(b)
	}
	return b
}

// uint reads a little-endian integer of n bytes.
func (m *machine) uint(n uint64) (x uint64) {
	b := m.read(n)
	for i := len(b) - 1; i >= 0; i-- {
		x = x<<8 | uint64(b[i])
	}
	return x
}

// sized reads bytes whose number precedes them in n bytes.
func (m *machine) sized(n uint64) []byte { return m.read(m.uint(n)) }

// line reads the bytes up to the next newline.
func (m *machine) line() string {
	b, err := m.r.line()
	if err != nil || len(b) >= maxLine || int64(len(b)) >= m.left {
		m.fail("a name has no end")
	}
	if m.err != nil {
		return ""
	}
	m.left -= int64(len(b)) + 1
	return string(b)
}

// valueSize is about how many bytes a value takes in the memory of Go.
const valueSize = 48

func (m *machine) push(value any) {
	if len(m.stack) == cap(m.stack) { // to twice the size: a state_dict is on the stack as a whole
		m.stack = slices.Grow(m.stack, max(64, len(m.stack)))
	}
	m.stack = append(m.stack, value)
	m.take(valueSize)
}

func (m *machine) pop() any { return m.popN(1)[0] }

// top returns the value that is popped next.
func (m *machine) top() any {
	value := m.pop()
	if m.err == nil {
		m.stack = m.stack[:len(m.stack)+1]
	}
	return value
}

// popMark returns the values since the last mark, valid until the next one is pushed.
func (m *machine) popMark() []any {
	if len(m.marks) == 0 {
		m.fail("a mark is missing on the stack")
		return nil
	}
	at := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	items := m.stack[at:]
	m.stack = m.stack[:at]
	m.take(16 * len(items))
	return items
}

// popN returns the last n values, valid until the next one is pushed.
func (m *machine) popN(n int) []any {
	at, least := len(m.stack)-n, 0
	if len(m.marks) > 0 {
		least = m.marks[len(m.marks)-1]
	}
	if at < least {
		m.fail("a value is missing on the stack")
		return make([]any, n)
	}
	items := m.stack[at:]
	m.stack = m.stack[:at]
	return items
}

// remember stores the last value under a number.
func (m *machine) remember(at uint64) {
	value := m.top()
	switch {
	case at == uint64(len(m.memo)):
		if at == uint64(cap(m.memo)) { // append grows long lists by a quarter, and copies them often
			m.memo = slices.Grow(m.memo, max(64, len(m.memo)))
		}
		m.memo = append(m.memo, value)
	case at < uint64(len(m.memo)):
		m.memo[at] = value
	default:
		m.far[at] = value
	}
	m.take(valueSize)
}

func (m *machine) recall(at uint64) {
	if at < uint64(len(m.memo)) {
		m.push(m.memo[at])
	} else if value, ok := m.far[at]; ok {
		m.push(value)
	} else {
		m.fail("value %d was never stored", at)
	}
}

// step runs one instruction.
func (m *machine) step() {
	op := m.read(1)
	if m.err != nil {
		return
	}
	code := op[0]
	if run := instructions[code]; run != nil {
		run(m, code)
	} else {
		m.fail("instruction %q is not one that torch.save writes", code)
	}
}

func (m *machine) integer(code byte) {
	switch code {
	case opBinInt1, opBinInt2:
		m.push(int64(m.uint(widths[code])))
	case opBinInt:
		m.push(int64(int32(m.uint(4))))
	default:
		b := m.sized(widths[code])
		if len(b) > 1<<16 {
			m.fail("an integer of %d bytes", len(b))
			return
		}
		m.push(twosComplement(b))
	}
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

func (m *machine) text(code byte) {
	b := m.sized(widths[code])
	if m.take(len(b)); m.err != nil {
		return
	}
	isPython2 := code == opShortBinString || code == opBinString // whose strings are bytes
	switch {
	case code == opByteArray8:
		m.push(ByteArray(bytes.Clone(b)))
	case code == opShortBinBytes, code == opBinBytes, code == opBinBytes8, isPython2 && !utf8.Valid(b):
		m.push(bytes.Clone(b))
	case utf8.Valid(b):
		m.push(m.textOf(b))
	default:
		value, ok := withSurrogates(b)
		if !ok {
			m.fail("%q is not UTF-8", b[:min(len(b), 40)])
		}
		m.take(len(b))
		m.push(value)
	}
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
func (m *machine) empty(code byte) {
	switch code {
	case opEmptyList:
		m.push(&List{})
	case opEmptyDict:
		m.push(&Dict{})
	case opEmptySet:
		m.push(&Set{})
	default:
		m.push(Tuple{})
	}
}

// collect makes a container of values on the stack.
func (m *machine) collect(code byte) {
	var items []any
	if n := int(code - opTuple1 + 1); n >= 1 && n <= 3 {
		items = m.popN(n)
	} else {
		items = m.popMark()
	}
	items = slices.Clone(items)
	switch code {
	case opList:
		m.push(&List{Items: items})
	case opFrozenSet:
		m.push(&Set{items, true})
	case opDict:
		d := &Dict{}
		m.setItems(d, items)
		m.push(d)
	default:
		m.push(Tuple(items))
	}
}

// extend adds values on the stack to the container below them.
func (m *machine) extend(code byte) {
	var items []any
	switch code {
	case opAppend:
		items = m.popN(1)
	case opSetItem:
		items = m.popN(2)
	default:
		items = m.popMark()
	}
	container := m.top()
	pairs := code == opSetItem || code == opSetItems
	switch c := container.(type) {
	case *List:
		if !pairs {
			c.Items = append(c.Items, items...)
			return
		}
	case *Set:
		if code == opAddItems {
			c.Items = append(c.Items, items...)
			return
		}
	case *Dict:
		if pairs {
			m.setItems(c, items)
			return
		}
	case *Object:
		if !pairs {
			if c.List == nil {
				c.List = &List{}
			}
			c.List.Items = append(c.List.Items, items...)
			return
		}
		if c.Items == nil {
			c.Items = &Dict{}
		}
		m.setItems(c.Items, items)
		return
	}
	m.fail("items are added to %s", TypeOf(container))
}

func (m *machine) setItems(d *Dict, items []any) {
	if len(items)%2 != 0 {
		m.fail("a key has no value")
		return
	}
	d.Keys, d.Values = slices.Grow(d.Keys, len(items)/2), slices.Grow(d.Values, len(items)/2)
	for i := 0; i < len(items) && m.err == nil; i += 2 {
		m.err = d.Set(items[i], items[i+1])
	}
	m.take(valueSize * len(items) / 2)
}

func (m *machine) global(code byte) {
	var g Global
	if code == opGlobal {
		g.Module = m.line()
		g.Name = m.line()
	} else {
		names := m.popN(2)
		module, isText := names[0].(string)
		name, alsoText := names[1].(string)
		if !isText || !alsoText || len(module)+len(name) > maxLine {
			m.fail("the name of a global is not a string")
		}
		g = Global{module, name}
	}
	if g = g.python3(); m.err == nil {
		m.err = g.check()
	}
	m.push(g)
}

// call makes the object that a call would have returned.
func (m *machine) call(code byte) {
	n := 2
	if code == opNewObjEx {
		n = 3
	}
	operands := m.popN(n)
	args, ok := operands[1].(Tuple)
	if !ok {
		m.fail("%s is called with %s instead of a tuple", TypeOf(operands[0]), TypeOf(operands[1]))
	}
	if g, isGlobal := operands[0].(Global); isGlobal && code == opReduce && constructors[g] != nil && m.err == nil {
		value, known := constructors[g](m, g, args)
		if m.err != nil {
			m.err = fmt.Errorf("%v: %w", g, m.err)
		}
		if known {
			m.push(value)
			return
		}
	}
	switch operands[0].(type) {
	case Global, *Object, *Persistent:
	default:
		m.fail("%s is called", TypeOf(operands[0]))
	}
	m.push(&Object{Class: operands[0], Args: args})
}

func (m *machine) build(_ byte) {
	state := m.pop()
	object := m.top()
	switch o := object.(type) {
	case *Object:
		o.State = append(o.State, state)
	case *Dict:
		o.State = append(o.State, state)
	default:
		m.fail("attributes are set of %s", TypeOf(object))
	}
	m.take(16)
}
