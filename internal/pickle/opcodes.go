package pickle

// Instructions of pickles that torch.save writes, by the names of Python's pickletools.
const (
	opProto byte = '\x80'
	opFrame byte = '\x95'
	opStop  byte = '.'

	opMark    byte = '('
	opPop     byte = '0'
	opPopMark byte = '1'

	opNone     byte = 'N'
	opNewTrue  byte = '\x88'
	opNewFalse byte = '\x89'

	opBinInt1  byte = 'K'
	opBinInt2  byte = 'M'
	opBinInt   byte = 'J'
	opLong1    byte = '\x8a'
	opLong4    byte = '\x8b'
	opBinFloat byte = 'G'

	opBinUnicode      byte = 'X'
	opShortBinUnicode byte = '\x8c'
	opBinUnicode8     byte = '\x8d'
	opBinString       byte = 'T'
	opShortBinString  byte = 'U'
	opBinBytes        byte = 'B'
	opShortBinBytes   byte = 'C'
	opBinBytes8       byte = '\x8e'

	opByteArray8 byte = '\x96'
	opEmptyTuple byte = ')'
	opEmptyList  byte = ']'
	opEmptyDict  byte = '}'

	opEmptySet byte = '\x8f'
	opTuple1   byte = '\x85'
	opTuple2   byte = '\x86'
	opTuple3   byte = '\x87'
	opTuple    byte = 't'
	opList     byte = 'l'
	opDict     byte = 'd'

	opFrozenSet byte = '\x91'
	opAppend    byte = 'a'
	opAppends   byte = 'e'
	opSetItem   byte = 's'
	opSetItems  byte = 'u'

	opAddItems   byte = '\x90'
	opBinPut     byte = 'q'
	opLongBinPut byte = 'r'
	opMemoize    byte = '\x94'
	opBinGet     byte = 'h'

	opLongBinGet byte = 'j'
	opGlobal     byte = 'c'

	opStackGlobal byte = '\x93'
	opReduce      byte = 'R'
	opNewObj      byte = '\x81'
	opNewObjEx    byte = '\x92'
	opBuild       byte = 'b'
	opBinPersID   byte = 'Q'
)
