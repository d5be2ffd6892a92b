package torch

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/h5dnn/h5dnn/internal/pickle"
)

// maxText bounds the text of a list of scalars.
const maxText = 64 << 20

// keyText returns a key of a dict as part of a name. Objects of classes are their constructor's call.
func (w *walker) keyText(key any) string {
	if text, ok := key.(string); ok {
		return text
	}
	text, err := w.text(key, false, 0)
	if err != nil {
		return pickle.TypeOf(key)
	}
	if o, ok := key.(*pickle.Object); ok && !isScalar(o) && !isEscaped(o) && len(o.Args) > 0 && !slices.ContainsFunc(o.Args, containsMore) {
		if args, err := w.listText(o.Args, 0); err == nil && len(args) <= maxName {
			return text + "(" + args[1:len(args)-1] + ")"
		}
	}
	return text
}

// text returns a scalar, or a list of them, as text: JSON, but for strings that are not in
// a list.
func (w *walker) text(value any, quoted bool, depth int) (string, error) {
	if isContainer(value) {
		if err := w.enter(depth); err != nil {
			return "", err
		}
	}
	switch value := value.(type) {
	case nil:
		return "null", nil
	case string:
		if quoted {
			return quote(value), nil
		}
		return value, nil
	case []byte:
		if quoted || !utf8.Valid(value) {
			return quoteIf(quoted, bytesLiteral(value)), nil
		}
		return quote(string(value)), nil
	case pickle.ByteArray:
		return w.text([]byte(value), quoted, depth)
	case bool:
		return strconv.FormatBool(value), nil
	case int64:
		return strconv.FormatInt(value, 10), nil
	case *big.Int:
		return value.String(), nil
	case float64:
		return formatFloat(value), nil
	case complex128:
		return quoteIf(quoted, strconv.FormatComplex(value, 'g', -1, 128)), nil
	case pickle.Global:
		return quoteIf(quoted, value.String()), nil
	case *pickle.List:
		return w.listText(value.Items, depth)
	case pickle.Tuple:
		return w.listText(value, depth)
	case *pickle.Set:
		return w.listText(value.Items, depth)
	case *pickle.Object:
		return w.objectText(value, quoted, depth)
	case *pickle.Dict:
		if len(value.Keys) == 0 {
			return "{}", nil
		}
	}
	return quoteIf(quoted, pickle.TypeOf(value)), nil
}

// isEscaped reports whether o is a str with surrogates, as package pickle makes it.
func isEscaped(o *pickle.Object) bool {
	_, isText := argument(o.Args, 0).(string)
	return isText && o.Is("builtins.str")
}

func (w *walker) objectText(o *pickle.Object, quoted bool, depth int) (string, error) {
	switch {
	case isEscaped(o):
		return quoteIf(quoted, o.Args[0].(string)), nil
	case o.Is(pathClasses...):
		return quoteIf(quoted, fileName(o)), nil
	case isNumPyScalar(o):
		value, err := numpyScalar(o)
		if err != nil {
			w.opaque[pickle.TypeOf(o)] = true
			return quoteIf(quoted, "not read: "+err.Error()), nil
		}
		return w.text(value, quoted, depth)
	case o.Is(layoutClass):
		name, _ := argument(o.Args, 0).(string)
		return quoteIf(quoted, name), nil
	case o.Is("torch.Size") && len(o.Args) == 1:
		return w.text(o.Args[0], quoted, depth+1)
	case o.Is("torch.device"):
		name, _ := argument(o.Args, 0).(string)
		if number, ok := argument(o.Args, 1).(int64); ok {
			name += ":" + strconv.FormatInt(number, 10)
		}
		return quoteIf(quoted, name), nil
	}
	return quoteIf(quoted, pickle.TypeOf(o)), nil
}

func (w *walker) listText(items []any, depth int) (string, error) {
	var b strings.Builder
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := w.text(item, true, depth+1)
		if err != nil {
			return "", err
		}
		if b.WriteString(text); b.Len() > maxText {
			return "", fmt.Errorf("a list of more than %d bytes as text", maxText)
		}
	}
	b.WriteByte(']')
	return b.String(), w.take("", b.Len())
}

func quote(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func quoteIf(quoted bool, text string) string {
	if quoted {
		return quote(text)
	}
	return text
}

// bytesLiteral returns bytes as Python writes them: b'\x00'.
func bytesLiteral(value []byte) string {
	var b strings.Builder
	b.WriteString("b'")
	for _, c := range value {
		switch {
		case c == '\'' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// formatFloat returns x so that it is read as a float again.
func formatFloat(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	if !math.IsInf(x, 0) && !math.IsNaN(x) && !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
