package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// instructions run what torch.save writes, by code.
var instructions = [256]func(m *machine, code byte) error{
	opProto: (*machine).protocol,
	opFrame: (*machine).frame,
	opStop:  (*machine).stop,

	opMark:    (*machine).mark,
	opPop:     (*machine).discard,
	opPopMark: (*machine).unmark,

	opNone: constant(nil), opNewTrue: constant(true), opNewFalse: constant(false),
	opBinInt1: (*machine).integer, opBinInt2: (*machine).integer, opBinInt: (*machine).integer,
	opLong1: (*machine).integer, opLong4: (*machine).integer,
	opBinFloat: (*machine).float,

	opBinUnicode: (*machine).text, opShortBinUnicode: (*machine).text, opBinUnicode8: (*machine).text,
	opBinString: (*machine).text, opShortBinString: (*machine).text,
	opBinBytes: (*machine).text, opShortBinBytes: (*machine).text, opBinBytes8: (*machine).text, opByteArray8: (*machine).text,

	opEmptyTuple: (*machine).empty, opEmptyList: (*machine).empty, opEmptyDict: (*machine).empty, opEmptySet: (*machine).empty,
	opTuple1: (*machine).collect, opTuple2: (*machine).collect, opTuple3: (*machine).collect,
	opTuple: (*machine).collect, opList: (*machine).collect, opDict: (*machine).collect, opFrozenSet: (*machine).collect,
	opAppend: (*machine).extend, opAppends: (*machine).extend, opSetItem: (*machine).extend, opSetItems: (*machine).extend, opAddItems: (*machine).extend,

	opBinPut: (*machine).store, opLongBinPut: (*machine).store, opMemoize: (*machine).memoize,
	opBinGet: (*machine).load, opLongBinGet: (*machine).load,

	opGlobal: (*machine).global, opStackGlobal: (*machine).global,
	opReduce: (*machine).call, opNewObj: (*machine).call, opNewObjEx: (*machine).call,
	opBuild:     (*machine).build,
	opBinPersID: (*machine).persistent,
}

// widths are the sizes of the integers that follow instructions: values, lengths of
// values, or numbers of memo entries.
var widths = [256]uint64{
	opBinInt1: 1, opBinInt2: 2, opLong1: 1, opLong4: 4,
	opBinUnicode: 4, opShortBinUnicode: 1, opBinUnicode8: 8,
	opBinString: 4, opShortBinString: 1,
	opBinBytes: 4, opShortBinBytes: 1, opBinBytes8: 8, opByteArray8: 8,
	opBinPut: 1, opLongBinPut: 4, opBinGet: 1, opLongBinGet: 4,
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

func (m *machine) memoize(_ byte) error { return m.remember(uint64(len(m.memo))) }

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
