package arrayfmt

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/dtype"
)

// JSONNumbers returns elements as JSON numbers; a complex number is a list of two.
func JSONNumbers(t dtype.Type, elems []byte) []string {
	cells := Texts(t, elems, JSONNumber)
	if !t.IsComplex() {
		return cells
	}
	pairs := make([]string, 0, len(cells)/2)
	for k := 0; k < len(cells); k += 2 {
		pairs = append(pairs, "["+cells[k]+","+cells[k+1]+"]")
	}
	return pairs
}

// A JSONList writes cells as nested JSON lists.
type JSONList struct {
	w     io.Writer
	shape []int
	count int // of cells written
}

// NewJSONList returns a JSONList that writes the elements of an array of that shape
// to w.
func NewJSONList(w io.Writer, shape []int) *JSONList { return &JSONList{w: w, shape: shape} }

// Add writes the next cells, which are JSON values, in row-major order.
func (l *JSONList) Add(cells []string) error {
	for _, cell := range cells {
		open, close := l.depth(l.count), l.depth(l.count+1)
		separator := ""
		if l.count > 0 && len(l.shape) > 0 {
			separator = ","
		}
		_, err := io.WriteString(l.w, separator+strings.Repeat("[", open)+cell+strings.Repeat("]", close))
		if err != nil {
			return err
		}
		l.count++
	}
	return nil
}

// depth returns how many lists begin, and end, before cell k.
func (l *JSONList) depth(k int) int {
	depth, row := 0, 1
	for axis := len(l.shape) - 1; axis >= 0; axis-- {
		if row *= l.shape[axis]; k%row != 0 {
			break
		}
		depth++
	}
	return depth
}

// JSONString returns s as a JSON string. Invalid UTF-8 is escaped as by Python's
// surrogateescape, which restores the bytes.
func JSONString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\udc%02x`, s[0])
		case r == '"' || r == '\\':
			b.WriteString(`\` + s[:1])
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	b.WriteByte('"')
	return b.String()
}

// JSONValue returns a value of elements that are not numbers, or lists of them, as JSON. A
// complex number is a list of two. form, which may be nil, returns what is written of values
// that have several forms in JSON, such as records, and others as they are.
func JSONValue(value any, form func(value any) any) string {
	if form != nil {
		value = form(value)
	}
	switch v := value.(type) {
	case string:
		return JSONString(v)
	case float32:
		return JSONNumber(dtype.Float32, float64(v))
	case float64:
		return JSONNumber(dtype.Float64, v)
	case complex128:
		return JSONValue([]any{real(v), imag(v)}, nil)
	case []byte:
		return `"0x` + hex.EncodeToString(v) + `"`
	case []any:
		parts := make([]string, len(v))
		for k := range v {
			parts[k] = JSONValue(v[k], form)
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(value) // the other types always encode
	return strings.TrimSuffix(b.String(), "\n")
}
