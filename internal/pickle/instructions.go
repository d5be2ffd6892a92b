package pickle

import (
	"encoding/binary"
	"math"
)

// instructions run what torch.save writes, by code.
var instructions = [256]func(m *machine, code byte){
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
func constant(value any) func(m *machine, _ byte) {
	return func(m *machine, _ byte) { m.push(value) }
}

func (m *machine) protocol(_ byte) {
	if version := m.uint(1); version < 2 || version > 5 {
		m.fail("protocol %d; known are 2 to 5", version)
	}
}

// frame reads the length of what follows, which nobody needs.
func (m *machine) frame(_ byte) { m.read(8) }

func (m *machine) stop(_ byte) {
	value := m.pop()
	if len(m.stack) > 0 || len(m.marks) > 0 {
		m.fail("values are left on the stack")
	}
	m.result = &value
}

func (m *machine) mark(_ byte) {
	m.marks = append(m.marks, len(m.stack))
	m.take(8)
}

func (m *machine) discard(_ byte) { m.pop() }

func (m *machine) unmark(_ byte) { m.popMark() }

func (m *machine) float(_ byte) {
	if b := m.read(8); m.err == nil {
		m.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
}

func (m *machine) memoize(_ byte) { m.remember(uint64(len(m.memo))) }

func (m *machine) store(code byte) { m.remember(m.uint(widths[code])) }

func (m *machine) load(code byte) { m.recall(m.uint(widths[code])) }

func (m *machine) persistent(_ byte) { m.push(&Persistent{m.pop()}) }
