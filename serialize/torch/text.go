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
	unnoted := func(_, _ string) {}
	_, text, err := w.cleanText(key, 0, unnoted)
	if err != nil {
		return pickle.TypeOf(key)
	}
	if o, ok := key.(*pickle.Object); ok && !isScalar(o) && !isEscaped(o) && len(o.Args) > 0 && !slices.ContainsFunc(o.Args, containsMore) {
		if _, args, err := w.cleanText(pickle.Tuple(o.Args), 0, unnoted); err == nil && len(args) <= maxName {
			return text + "(" + args[1:len(args)-1] + ")"
		}
	}
	return text
}

// cleanText returns a scalar, or a list of them, as torch.load makes it with weights_only=True, and as
// text. Values whose classes are not kept are given to lose.
func (w *walker) cleanText(value any, depth int, lose func(class, as string)) (cleaned any, text string, err error) {
	if cleaned, err = w.clean(value, depth, lose); err == nil {
		text, err = w.text(cleaned, false)
	}
	return cleaned, text, err
}

func (w *walker) clean(value any, depth int, lose func(class, as string)) (any, error) {
	if !isContainer(value) {
		return cleanScalar(value, lose), nil
	}
	if err := w.enter(depth); err != nil {
		return nil, err
	}
	items := func(list []any) ([]any, error) {
		cleaned := make([]any, len(list))
		for i, item := range list {
			var err error
			if cleaned[i], err = w.clean(item, depth+1, lose); err != nil {
				return nil, err
			}
		}
		return cleaned, nil
	}
	switch value := value.(type) {
	case *pickle.List:
		if value.Class != "" {
			lose(value.Class, "list")
		}
		list, err := items(value.Items)
		return &pickle.List{Items: list}, err
	case pickle.Tuple:
		list, err := items(value)
		return pickle.Tuple(list), err
	case *pickle.Set:
		if value.Frozen {
			lose("frozenset", "set")
		}
		list, err := items(value.Items)
		return &pickle.Set{Items: list}, err
	case *pickle.Dict:
		if len(value.Keys) == 0 {
			return &pickle.Dict{Class: keptClass(value)}, nil
		}
	case *pickle.Object:
		return cleanObject(value, lose), nil
	}
	return pickle.TypeOf(value), nil
}

// keptClass returns the class of a dict if it is kept.
func keptClass(d *pickle.Dict) string {
	if d.Class == typeOrdered || d.Class == typeCounter {
		return d.Class
	}
	return ""
}

func cleanScalar(value any, lose func(class, as string)) any {
	switch value := value.(type) {
	case *big.Int:
		if pickle.IsLong(value) {
			lose("int of more than 255 bytes", "str")
			return value.String()
		}
	case pickle.Global:
		if !isDType(value) {
			lose(value.String()+", a class or another name that Python imports", "text")
			return value.String()
		}
	}
	return value
}

func cleanObject(o *pickle.Object, lose func(class, as string)) any {
	switch {
	case isEscaped(o):
		return o.Args[0]
	case o.Is(pathClasses...):
		lose(pickle.TypeOf(o), "str")
		return fileName(o)
	case isNumPyScalar(o):
		if value, err := numpyScalar(o); err == nil {
			lose(numpyClass(o), pickle.TypeOf(value))
			return cleanScalar(value, lose)
		}
	case o.Is("torch.Size"):
		if sizes, ok := ints(o); ok {
			shape := make(pickle.Tuple, len(sizes))
			for i, n := range sizes {
				shape[i] = int64(n)
			}
			return call("torch", "Size", shape)
		}
	case o.Is("torch.device"):
		if kind, ok := argument(o.Args, 0).(string); ok {
			if number, ok := argument(o.Args, 1).(int64); ok {
				return call("torch", "device", kind, number)
			}
			return call("torch", "device", kind)
		}
	case o.Is(layoutClass):
		if name, ok := argument(o.Args, 0).(string); ok {
			return call("torch.serialization", "_get_layout", name)
		}
	}
	return pickle.TypeOf(o)
}

// call returns the object that a call of a class makes.
func call(module, name string, args ...any) *pickle.Object {
	return &pickle.Object{Class: pickle.Global{Module: module, Name: name}, Args: args}
}

// text returns what clean returns as text: JSON, but for strings that are not in a list.
func (w *walker) text(value any, quoted bool) (string, error) {
	switch value := value.(type) {
	case nil:
		return "null", nil
	case []byte:
		if quoted || !utf8.Valid(value) {
			return quoteIf(quoted, bytesLiteral(value)), nil
		}
		return quote(string(value)), nil
	case pickle.ByteArray:
		return w.text([]byte(value), quoted)
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
		return w.listText(value.Items)
	case pickle.Tuple:
		return w.listText(value)
	case *pickle.Set:
		return w.listText(value.Items)
	case *pickle.Dict:
		return "{}", nil
	case *pickle.Object: // a size, a device or a layout
		if shape, ok := value.Args[0].(pickle.Tuple); ok {
			return w.listText(shape)
		}
		name := value.Args[0].(string)
		if len(value.Args) > 1 {
			name = fmt.Sprint(name, ":", value.Args[1])
		}
		return quoteIf(quoted, name), nil
	}
	return quoteIf(quoted, value.(string)), nil
}

// isEscaped reports whether o is a str with surrogates, as package pickle makes it.
func isEscaped(o *pickle.Object) bool {
	_, isText := argument(o.Args, 0).(string)
	return isText && o.Is("builtins.str")
}

func (w *walker) listText(items []any) (string, error) {
	var b strings.Builder
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := w.text(item, true)
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
