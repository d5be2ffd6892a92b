// Package column is what the columns of Arrow, Parquet and CSV have in common: they are decoded
// when they are read, may have missing values, and hold numbers, strings or times. Columns that
// are not read in the order in which they are stored are decoded to a [Scratch].
package column

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/h5dnn/h5dnn/dtype"
	"github.com/h5dnn/h5dnn/storage"
)

// A Kind is what the elements of a column are.
type Kind struct {
	Type  dtype.Type // of numbers; Invalid for strings
	Descr string     // NumPy's type of times, which are int64: <M8[us] since 1970, or a difference <m8[us]; or ""
	Zone  string     // the time zone of times, if they have one
}

// Time returns the kind of times in a unit of Arrow: s, ms, us, ns, or D.
func Time(unit string) Kind { return Kind{Type: dtype.Int64, Descr: "<M8[" + unit + "]"} }

// Duration returns the kind of differences of times in such a unit.
func Duration(unit string) Kind { return Kind{Type: dtype.Int64, Descr: "<m8[" + unit + "]"} }

// Values are elements of a column: numbers as bytes, in the byte order of the machine, or
// strings.
type Values struct {
	Numbers []byte
	Texts   []string
	// Missing are the positions of elements that no integer or bool stands for; see
	// AppendMissing.
	Missing []int
	// Lists are the numbers of elements of the lists that end here, or missingList; see Lists.
	Lists []int
}

// Len returns the number of elements.
func (k Kind) Len(v *Values) int {
	if k.Type.Valid() {
		return len(v.Numbers) / k.Type.Size()
	}
	return len(v.Texts)
}

// Append appends element i of from, which has more elements.
func (k Kind) Append(v, from *Values, i int) { k.AppendRange(v, from, i, i+1) }

// AppendRange appends the elements of from in [start, end).
func (k Kind) AppendRange(v, from *Values, start, end int) {
	if k.Type.Valid() {
		size := k.Type.Size()
		v.Numbers = append(v.Numbers, from.Numbers[start*size:end*size]...)
	} else {
		v.Texts = append(v.Texts, from.Texts[start:end]...)
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

// exact reports whether all integers are less than 2^53, so that a float64 has their values.
func (k Kind) exact(v *Values) bool {
	if k.Type.Size() < 8 {
		return true
	}
	const limit = 1 << 53
	for b := v.Numbers; len(b) > 0; b = b[8:] {
		x := binary.NativeEndian.Uint64(b)
		if k.Type.IsSigned() && int64(x) < 0 {
			x = -x
		}
		if x >= limit {
			return false
		}
	}
	return true
}

// texts returns v, integers some of which are missing, as decimal numbers and empty strings.
func (k Kind) texts(v *Values) *Values {
	out := &Values{Texts: make([]string, 0, k.Len(v))}
	missing := v.Missing
	for i := range k.Len(v) {
		x := binary.NativeEndian.Uint64(v.Numbers[8*i:])
		switch {
		case len(missing) > 0 && missing[0] == i:
			missing = missing[1:]
			out.Texts = append(out.Texts, "")
		case k.Type.IsSigned():
			out.Texts = append(out.Texts, strconv.FormatInt(int64(x), 10))
		default:
			out.Texts = append(out.Texts, strconv.FormatUint(x, 10))
		}
	}
	return out
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
