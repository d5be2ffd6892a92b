package dtype

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Record is a value of a compound or structured type, whose members are values.
type Record struct {
	Names  []string
	Values []any
}

// MarshalJSON encodes the record as an object with its members in order.
func (r Record) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for k, name := range r.Names {
		b.WriteByte("{,"[min(k, 1)])
		key, _ := json.Marshal(name)
		value, err := json.Marshal(r.Values[k])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Nest arranges values in row-major order as lists of lists, of the given lengths.
func Nest(values []any, dims []int) []any {
	for axis := len(dims) - 1; axis > 0; axis-- {
		var rows []any
		for row := range slices.Chunk(values, max(1, dims[axis])) {
			rows = append(rows, row)
		}
		values = rows
	}
	return values
}

// FormatValue returns a readable form of an element that may be no number: a text, bytes, a
// [Record], or a list of elements.
func FormatValue(value any) string {
	switch v := value.(type) {
	case string:
		return quoteText(v)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case []byte:
		return "0x" + hex.EncodeToString(v)
	case Record:
		parts := make([]string, len(v.Values))
		for k := range parts {
			parts[k] = v.Names[k] + ": " + FormatValue(v.Values[k])
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		parts := make([]string, len(v))
		for k := range parts {
			parts[k] = FormatValue(v[k])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(value)
}

// quoteText quotes a string. Strings that are not UTF-8 are taken as Latin-1, as programs
// wrote before, and marked.
func quoteText(s string) string {
	if utf8.ValidString(s) {
		return strconv.Quote(s)
	}
	runes := make([]rune, len(s))
	for k := range runes {
		runes[k] = rune(s[k])
	}
	return strconv.Quote(string(runes)) + " (not UTF-8; shown as Latin-1)"
}
