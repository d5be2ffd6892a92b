package arrayfmt

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/internal/blocks"
)

// partOf returns the type of a complex type's parts, and t itself otherwise.
func partOf(t dtype.Type) dtype.Type {
	switch t {
	case dtype.Complex64:
		return dtype.Float32
	case dtype.Complex128:
		return dtype.Float64
	}
	return t
}

// shortest returns the fewest digits that tell x from every other number of
// type t, in the given form of package strconv ('f', 'e' or 'g').
func shortest(t dtype.Type, x float64, form byte) string {
	switch t {
	case dtype.Float64:
		return strconv.FormatFloat(x, form, -1, 64)
	case dtype.Float32:
		return strconv.FormatFloat(x, form, -1, 32)
	}
	for digits := 1; ; digits++ {
		decimal, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'e', digits-1, 64), 64)
		if digits == 9 || narrow(t, decimal) == x {
			return strconv.FormatFloat(decimal, form, -1, 64)
		}
	}
}

// narrow returns the number of the half or quarter type t that is nearest to x.
func narrow(t dtype.Type, x float64) float64 {
	switch t {
	case dtype.Float16:
		return float64(dtype.F16From(float32(x)).Float32())
	case dtype.BFloat16:
		return float64(dtype.BF16From(float32(x)).Float32())
	case dtype.Float8E4M3:
		return float64(dtype.F8E4M3From(float32(x)).Float32())
	case dtype.Float8E5M2:
		return float64(dtype.F8E5M2From(float32(x)).Float32())
	}
	return x
}

// Number returns a float in the form of Python's repr.
func Number(t dtype.Type, x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 0):
		return strings.Trim(strings.ToLower(strconv.FormatFloat(x, 'g', -1, 64)), "+")
	case x != 0 && (math.Abs(x) < 1e-4 || math.Abs(x) >= 1e16):
		return shortest(t, x, 'e')
	}
	s := shortest(t, x, 'f')
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// JSONNumber returns a float as a JSON number, or NaN and infinities as strings.
func JSONNumber(t dtype.Type, x float64) string {
	switch {
	case math.IsNaN(x):
		return `"NaN"`
	case math.IsInf(x, 1):
		return `"Infinity"`
	case math.IsInf(x, -1):
		return `"-Infinity"`
	}
	return Number(t, x)
}

// Texts returns each element in the form of Python's repr, with floats formatted by
// the given function.
func Texts(t dtype.Type, elems []byte, float func(dtype.Type, float64) string) []string {
	size := t.Size()
	out := make([]string, 0, len(elems)/size)
	switch {
	case t == dtype.Bool:
		for _, b := range elems {
			out = append(out, strconv.FormatBool(b != 0))
		}
	case t.IsUnsigned():
		for ; len(elems) > 0; elems = elems[size:] {
			out = append(out, strconv.FormatUint(unsigned(elems[:size]), 10))
		}
	case t.IsSigned():
		shift := 64 - 8*size
		for ; len(elems) > 0; elems = elems[size:] {
			out = append(out, strconv.FormatInt(int64(unsigned(elems[:size])<<shift)>>shift, 10))
		}
	default:
		for _, x := range blocks.Float64s(partOf(t), elems) {
			out = append(out, float(partOf(t), x))
		}
	}
	return out
}

// unsigned returns the integer that 1, 2, 4 or 8 bytes in the machine's order hold.
func unsigned(b []byte) uint64 {
	switch len(b) {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(binary.NativeEndian.Uint16(b))
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	}
	return binary.NativeEndian.Uint64(b)
}

// Cells returns the text of each element; complex numbers have the form (1+2j).
func Cells(t dtype.Type, elems []byte) []string {
	cells := Texts(t, elems, Number)
	if !t.IsComplex() {
		return cells
	}
	joined := make([]string, 0, len(cells)/2)
	for k := 0; k < len(cells); k += 2 {
		imaginary := cells[k+1]
		if imaginary[0] != '-' {
			imaginary = "+" + imaginary
		}
		joined = append(joined, "("+cells[k]+imaginary+"j)")
	}
	return joined
}
