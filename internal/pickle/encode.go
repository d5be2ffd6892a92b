package pickle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"
)

// Encode writes the pickle of a value, in protocol 2 as torch.save writes it. An Object
// becomes a call of its class, and then what sets its state.
func Encode(w io.Writer, value any) error {
	e := encoder{w: w, b: []byte("\x80\x02"), globals: map[Global]uint32{}}
	if err := e.value(value, 0); err != nil {
		return fmt.Errorf("pickle: %w", err)
	}
	_, err := w.Write(append(e.b, opStop))
	return err
}

type encoder struct {
	w       io.Writer
	b       []byte            // that is not yet written
	globals map[Global]uint32 // in the memo
}

const maxNesting = 1000

func (e *encoder) value(value any, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("values are nested more than %d deep", maxNesting)
	}
	const block = 32 << 10
	if len(e.b) > block {
		if _, err := e.w.Write(e.b); err != nil {
			return err
		}
		e.b = e.b[:0]
	}
	switch value := value.(type) {
	case nil:
		e.b = append(e.b, opNone)
	case bool:
		e.b = append(e.b, map[bool]byte{true: opNewTrue, false: opNewFalse}[value])
	case int:
		e.integer(int64(value))
	case int64:
		e.integer(value)
	case *big.Int:
		e.long(value)
	case float64:
		e.b = binary.BigEndian.AppendUint64(append(e.b, opBinFloat), math.Float64bits(value))
	case complex128:
		return e.value(&Object{Class: Global{"__builtin__", "complex"}, Args: Tuple{real(value), imag(value)}}, depth)
	case string:
		return e.text(value)
	case []byte:
		return e.value(&Object{Class: Global{"_codecs", "encode"}, Args: Tuple{latin1(value), "latin1"}}, depth)
	case ByteArray:
		return e.value(&Object{Class: Global{"__builtin__", "bytearray"}, Args: Tuple{latin1(value), "latin-1"}}, depth)
	case Global:
		e.global(value)
	case Tuple:
		return e.tuple(value, depth)
	case *List:
		e.b = append(e.b, opEmptyList, opMark)
		for _, item := range value.Items {
			if err := e.value(item, depth+1); err != nil {
				return err
			}
		}
		e.b = append(e.b, opAppends)
	case *Set:
		return e.value(&Object{Class: Global{"__builtin__", "set"}, Args: Tuple{&List{Items: value.Items}}}, depth)
	case *Dict:
		return e.dict(value, depth)
	case *Persistent:
		if err := e.value(value.ID, depth+1); err != nil {
			return err
		}
		e.b = append(e.b, opBinPersID)
	case *Object:
		return e.object(value, depth)
	default:
		return fmt.Errorf("a value of type %T", value)
	}
	return nil
}

// latin1 returns bytes as text, as which protocol 2 has them.
func latin1(b []byte) string {
	text := make([]rune, len(b))
	for i, x := range b {
		text[i] = rune(x)
	}
	return string(text)
}

func (e *encoder) text(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("%q is not UTF-8", s)
	}
	if len(s) > math.MaxUint32 {
		return fmt.Errorf("text of %d bytes", len(s))
	}
	e.b = append(binary.LittleEndian.AppendUint32(append(e.b, opBinUnicode), uint32(len(s))), s...)
	return nil
}

func (e *encoder) integer(x int64) {
	switch {
	case 0 <= x && x <= math.MaxUint8:
		e.b = append(e.b, opBinInt1, byte(x))
	case 0 <= x && x <= math.MaxUint16:
		e.b = binary.LittleEndian.AppendUint16(append(e.b, opBinInt2), uint16(x))
	case math.MinInt32 <= x && x <= math.MaxInt32:
		e.b = binary.LittleEndian.AppendUint32(append(e.b, opBinInt), uint32(x))
	default:
		e.long(big.NewInt(x))
	}
}

// long writes an integer as two's complement in as many bytes as it takes.
func (e *encoder) long(x *big.Int) {
	n := x.BitLen()/8 + 1
	y := new(big.Int).Set(x)
	if x.Sign() < 0 {
		y.Add(y, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	digits := y.FillBytes(make([]byte, n))
	slices.Reverse(digits)
	if n <= maxLong1 {
		e.b = append(e.b, opLong1, byte(n))
	} else {
		e.b = binary.LittleEndian.AppendUint32(append(e.b, opLong4), uint32(n))
	}
	e.b = append(e.b, digits...)
}

// maxLong1 is the largest number of bytes of an integer that torch.load reads with weights_only=True.
const maxLong1 = 255

// IsLong reports whether an integer takes more bytes than torch.load reads with weights_only=True.
func IsLong(x *big.Int) bool { return x.BitLen()/8+1 > maxLong1 }

func (e *encoder) global(g Global) {
	if at, ok := e.globals[g]; ok {
		e.b = binary.LittleEndian.AppendUint32(append(e.b, opLongBinGet), at)
		return
	}
	at := uint32(len(e.globals))
	e.globals[g] = at
	e.b = append(e.b, opGlobal)
	e.b = append(append(e.b, g.Module...), '\n')
	e.b = append(append(e.b, g.Name...), '\n')
	e.b = binary.LittleEndian.AppendUint32(append(e.b, opLongBinPut), at)
}

func (e *encoder) tuple(t Tuple, depth int) error {
	if len(t) > 3 {
		e.b = append(e.b, opMark)
	}
	for _, item := range t {
		if err := e.value(item, depth+1); err != nil {
			return err
		}
	}
	switch {
	case len(t) > 3:
		e.b = append(e.b, opTuple)
	default:
		e.b = append(e.b, [...]byte{opEmptyTuple, opTuple1, opTuple2, opTuple3}[len(t)])
	}
	return nil
}

func (e *encoder) dict(d *Dict, depth int) error {
	if d.Class != "" {
		e.global(Global{"collections", d.Class})
		e.b = append(e.b, opEmptyTuple, opReduce)
	} else {
		e.b = append(e.b, opEmptyDict)
	}
	if len(d.Keys) > 0 {
		e.b = append(e.b, opMark)
		for i, key := range d.Keys {
			if err := e.value(key, depth+1); err != nil {
				return err
			}
			if err := e.value(d.Values[i], depth+1); err != nil {
				return err
			}
		}
		e.b = append(e.b, opSetItems)
	}
	return e.state(d.State, depth)
}

func (e *encoder) object(o *Object, depth int) error {
	if err := e.value(o.Class, depth+1); err != nil {
		return err
	}
	if err := e.tuple(o.Args, depth+1); err != nil {
		return err
	}
	e.b = append(e.b, opReduce)
	return e.state(o.State, depth)
}

func (e *encoder) state(states []any, depth int) error {
	for _, state := range states {
		if err := e.value(state, depth+1); err != nil {
			return err
		}
		e.b = append(e.b, opBuild)
	}
	return nil
}
