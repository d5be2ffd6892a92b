package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// instructions are what torch.save writes, by their codes. The comments have the names of
// Python's pickletools.
var instructions = [256]func(m *machine, code byte) error{
	'\x80': (*machine).protocol, // PROTO
	'\x95': (*machine).frame,    // FRAME
	'.':    (*machine).stop,     // STOP

	'(': (*machine).mark,    // MARK
	'0': (*machine).discard, // POP
	'1': (*machine).unmark,  // POP_MARK

	'N': constant(nil), '\x88': constant(true), '\x89': constant(false), // NONE, NEWTRUE, NEWFALSE
	'K': (*machine).integer, 'M': (*machine).integer, 'J': (*machine).integer, // BININT1, BININT2, BININT
	'\x8a': (*machine).integer, '\x8b': (*machine).integer, // LONG1, LONG4
	'G': (*machine).float, // BINFLOAT

	'X': (*machine).text, '\x8c': (*machine).text, '\x8d': (*machine).text, // BINUNICODE, SHORT_BINUNICODE, BINUNICODE8
	'T': (*machine).text, 'U': (*machine).text, // BINSTRING, SHORT_BINSTRING
	'B': (*machine).text, 'C': (*machine).text, '\x8e': (*machine).text, '\x96': (*machine).text, // BINBYTES, SHORT_BINBYTES, BINBYTES8, BYTEARRAY8

	')': (*machine).empty, ']': (*machine).empty, '}': (*machine).empty, '\x8f': (*machine).empty, // EMPTY_TUPLE, EMPTY_LIST, EMPTY_DICT, EMPTY_SET
	'\x85': (*machine).collect, '\x86': (*machine).collect, '\x87': (*machine).collect, // TUPLE1, TUPLE2, TUPLE3
	't': (*machine).collect, 'l': (*machine).collect, 'd': (*machine).collect, '\x91': (*machine).collect, // TUPLE, LIST, DICT, FROZENSET
	'a': (*machine).extend, 'e': (*machine).extend, 's': (*machine).extend, 'u': (*machine).extend, '\x90': (*machine).extend, // APPEND, APPENDS, SETITEM, SETITEMS, ADDITEMS

	'q': (*machine).store, 'r': (*machine).store, '\x94': (*machine).memoize, // BINPUT, LONG_BINPUT, MEMOIZE
	'h': (*machine).load, 'j': (*machine).load, // BINGET, LONG_BINGET

	'c': (*machine).global, '\x93': (*machine).global, // GLOBAL, STACK_GLOBAL
	'R': (*machine).call, '\x81': (*machine).call, '\x92': (*machine).call, // REDUCE, NEWOBJ, NEWOBJ_EX
	'b': (*machine).build,      // BUILD
	'Q': (*machine).persistent, // BINPERSID
}

// widths are the sizes of the integers that follow instructions: values, lengths of
// values, or numbers of memo entries.
var widths = [256]uint64{
	'K': 1, 'M': 2, '\x8a': 1, '\x8b': 4, // BININT1, BININT2, LONG1, LONG4
	'X': 4, '\x8c': 1, '\x8d': 8, // BINUNICODE, SHORT_BINUNICODE, BINUNICODE8
	'T': 4, 'U': 1, // BINSTRING, SHORT_BINSTRING
	'B': 4, 'C': 1, '\x8e': 8, '\x96': 8, // BINBYTES, SHORT_BINBYTES, BINBYTES8, BYTEARRAY8
	'q': 1, 'r': 4, 'h': 1, 'j': 4, // BINPUT, LONG_BINPUT, BINGET, LONG_BINGET
}

// constant returns an instruction that pushes value.
func constant(value any) func(m *machine, _ byte) error {
	return func(m *machine, _ byte) error { return m.push(value) }
}

func (m *machine) protocol(_ byte) error {
	version, err := m.uint(1)
	if err == nil && (version < 2 || version > 5) {
		err = fmt.Errorf("protocol %d; known are 2 to 5", version)
	}
	return err
}

// frame reads the length of what follows, which nobody needs.
func (m *machine) frame(_ byte) error {
	_, err := m.read(8)
	return err
}

func (m *machine) stop(_ byte) error {
	value, err := m.pop()
	if err == nil && (len(m.stack) > 0 || len(m.marks) > 0) {
		err = errors.New("values are left on the stack")
	}
	m.result = &value
	return err
}

func (m *machine) mark(_ byte) error {
	m.marks = append(m.marks, len(m.stack))
	return m.take(8)
}

func (m *machine) discard(_ byte) error {
	_, err := m.pop()
	return err
}

func (m *machine) unmark(_ byte) error {
	_, err := m.popMark()
	return err
}

func (m *machine) float(_ byte) error {
	b, err := m.read(8)
	if err != nil {
		return err
	}
	return m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
}

func (m *machine) memoize(_ byte) error { return m.remember(m.stored) }

func (m *machine) store(code byte) error {
	at, err := m.uint(widths[code])
	if err != nil {
		return err
	}
	return m.remember(at)
}

func (m *machine) load(code byte) error {
	at, err := m.uint(widths[code])
	if err != nil {
		return err
	}
	return m.recall(at)
}

func (m *machine) persistent(_ byte) error {
	id, err := m.pop()
	if err != nil {
		return err
	}
	return m.push(&Persistent{id})
}
